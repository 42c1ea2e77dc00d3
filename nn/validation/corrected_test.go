package validation

import (
	"math"
	"strings"
	"testing"
)

// By hand: differences 1, 2, 3 and 6 have the mean 3 and the variance 14/3; with a
// ninth as many rows to test on as to learn from, se² = 14/3 · (1/4 + 1/9) = 182/108.
func TestCorrected(t *testing.T) {
	mean, se, err := Corrected([]float64{1, 2, 3, 6}, 1./9)
	if err != nil || mean != 3 || math.Abs(se-math.Sqrt(182./108)) > 1e-12 {
		t.Errorf("%v ± %v (%v)", mean, se, err)
	}
	if _, se, err := Corrected([]float64{1, 2, 3, 6}, 0); err != nil || math.Abs(se-math.Sqrt(14./12)) > 1e-12 {
		t.Errorf("independent: %v (%v)", se, err)
	}
	for want, test := range map[string]struct {
		d     []float64
		ratio float64
	}{
		"1 differences, want 2 or more":       {[]float64{1}, 0},
		"-1 times as many rows":               {[]float64{1, 2}, -1},
		"NaN times as many rows":              {[]float64{1, 2}, math.NaN()},
		"a difference is not finite":          {[]float64{1, math.NaN()}, 0},
		"0 differences, want 2 or more":       {nil, 0},
		"+Inf times as many rows to test on ": {[]float64{1, 2}, math.Inf(1)},
	} {
		if _, _, err := Corrected(test.d, test.ratio); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
