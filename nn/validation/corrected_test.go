package validation

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
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

// If two ways to learn are as good as each other, whatever rows they see, the
// corrected error is as large as what they differ by from one sample to the next; that
// of independent numbers is too small by far once there are many repeats.
func TestCorrectedCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	const samples, rows = 200, 60
	inside, naive := 0, 0
	for range samples {
		class := make([]int32, rows)
		x := make([][2]float64, rows)
		for i := range class {
			class[i] = int32(rng.IntN(2))
			for f := range x[i] {
				x[i][f] = 0.5*float64(class[i]) + rng.NormFloat64()
			}
		}
		// Each tells classes apart at the middle of the means of one of two features,
		// which are worth the same.
		by := func(feature int) *Validated {
			all, err := CrossValidation{Folds: 5, Repeats: 8, Fixed: true, Learn: func(_ context.Context, t Trial) ([]Score, error) {
				var sum, n [2]float64
				for _, row := range t.Train {
					sum[class[row]] += x[row][feature]
					n[class[row]]++
				}
				middle, right := (sum[0]/max(n[0], 1)+sum[1]/max(n[1], 1))/2, 0
				for _, row := range t.Test {
					if (x[row][feature] > middle) == (class[row] == 1) {
						right++
					}
				}
				return []Score{{Correct: right}}, nil
			}}.Run(context.Background(), class)
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		a, b := by(0), by(1)
		differences := make([]float64, len(a.Splits))
		for i := range differences {
			differences[i] = a.Nested[i].Accuracy() - b.Nested[i].Accuracy()
		}
		points, se, err := Corrected(differences, 1./4)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(points) < 2*se {
			inside++
		}
		// n = 40 differences, ratio 1/4.
		if math.Abs(points) < 2*se*math.Sqrt(1./40/(1./40+1./4)) {
			naive++
		}
	}
	t.Logf("%d of %d within two corrected errors, %d within two others", inside, samples, naive)
	if inside < samples*85/100 || naive > samples*60/100 {
		t.Errorf("%d of %d are within two corrected errors, %d within two others", inside, samples, naive)
	}
}

// The largest class is that of the training rows, the lowest of equals.
func TestMajority(t *testing.T) {
	rng := rand.New(rand.NewPCG(83, 84))
	for range 500 {
		n := 1 + rng.IntN(12)
		class := make([]int32, n)
		var s Split
		count := make([]int, 4)
		for i := range class {
			class[i] = rng.Int32N(4)
			if rng.IntN(3) > 0 {
				s.Train = append(s.Train, int32(i))
				count[class[i]]++
			} else {
				s.Test = append(s.Test, int32(i))
			}
		}
		want := 0
		for _, row := range s.Test {
			if len(s.Train) > 0 && int(class[row]) == slices.Index(count, slices.Max(count)) {
				want++
			}
		}
		if got := Majority(class, s); got != want {
			t.Fatalf("%d of %v, %v are right, want %d", got, class, s, want)
		}
	}
}
