package validation

import (
	"fmt"
	"math"
	"testing"
)

// The bounds solve the equation of the interval: |right/n - p| = z·√(p(1-p)/n).
func TestWilson(t *testing.T) {
	for n := range 60 {
		for right := 0; right <= n; right++ {
			for _, z := range []float64{1, Z95} {
				low, high := Wilson(right, n, z)
				p := float64(right) / float64(n)
				if n == 0 {
					p = 0.5
				}
				if low < 0 || high > 1 || low > p+1e-12 || high < p-1e-12 || high-low < 1e-3 {
					t.Fatalf("%d of %d: %v to %v", right, n, low, high)
				}
				for _, bound := range []float64{low, high} {
					if miss := math.Abs(p-bound) - z*math.Sqrt(bound*(1-bound)/float64(n)); n > 0 && math.Abs(miss) > 1e-7 {
						t.Errorf("%d of %d: the bound %v misses by %v", right, n, bound, miss)
					}
				}
				other, another := Wilson(n-right, n, z)
				if math.Abs(low+another-1)+math.Abs(high+other-1) > 1e-12 {
					t.Errorf("%d of %d: no mirror image", right, n)
				}
			}
		}
	}
	// Newcombe 1998, Two-sided confidence intervals for the single proportion, table I.
	for _, test := range []struct {
		right, n int
		want     string
	}{{81, 263, "0.2553 0.3662"}, {15, 148, "0.0624 0.1605"}, {0, 20, "0.0000 0.1611"}, {1, 29, "0.0061 0.1718"}} {
		low, high := Wilson(test.right, test.n, Z95)
		if got := fmt.Sprintf("%.4f %.4f", low, high); got != test.want {
			t.Errorf("%d of %d: %s, want %s", test.right, test.n, got, test.want)
		}
	}
}

// The measure about a class is that of the class against all others.
func TestAbout(t *testing.T) {
	a := Answers{Classes: 3, Class: []int32{0, 1, 2, 0}, Probs: []float32{.5, .3, .2, .2, .6, .2, .6, .1, .3, .1, .1, .8}}
	var score [3][]float64
	var is [3][]bool
	for i, class := range a.Class {
		for c := range 3 {
			score[c], is[c] = append(score[c], float64(a.row(i)[c])), append(is[c], int(class) == c)
		}
	}
	for c := range 3 {
		for m, of := range map[Measure]func([]float64, []bool) float64{ROC: AUC, Precision: AveragePrecision} {
			got, err := m.About(c).Of(&a)
			if want := of(score[c], is[c]); err != nil || got != want {
				t.Errorf("%s: %v, %v, want %v", m.About(c), got, err, want)
			}
		}
	}
	for _, m := range []Measure{"", Accuracy, RMSE, Precision.About(1)} {
		if m.About(2) != m {
			t.Errorf("%s becomes %s", m, m.About(2))
		}
	}
	for class, want := range map[int]string{3: "ap of class 3: there are 3 classes", -1: "ap of class -1: there are 3 classes"} {
		if _, err := Precision.About(class).Of(&a); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	a.Class = []int32{0, 0, 2, 0}
	if _, err := ROC.About(1).Of(&a); err == nil || err.Error() != "auc of class 1: none of 4 rows is of it" {
		t.Error(err)
	}
}
