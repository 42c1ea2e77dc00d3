package layer

import (
	"math"
	"slices"
	"testing"
)

func TestDropout(t *testing.T) {
	const n = 1 << 16
	for _, p := range []float64{0.1, 0.5, 0.75, 0.999} {
		d := NewDropout(p, 1)
		x, y := slices.Repeat([]float32{3}, n), make([]float32, n)
		d.Forward(y, x, 3, 32)
		kept, pairs := 0, 0
		for i, v := range y {
			if v == 0 {
				continue
			}
			kept++
			if i > 0 && y[i-1] != 0 {
				pairs++
			}
			if want := 3 / (1 - p); math.Abs(float64(v)-want) > 0.02*want {
				t.Fatalf("p=%v: a kept 3 becomes %v, want about %v", p, v, want)
			}
		}
		// Five standard deviations, of a binomial and of neighbours kept.
		keep := 1 - p
		if got, tol := float64(kept)/n, 5*math.Sqrt(keep*p/n); math.Abs(got-keep) > tol {
			t.Errorf("p=%v: kept %v, want %v ± %v", p, got, keep, tol)
		}
		both := keep * keep
		if got, tol := float64(pairs)/n, 10*math.Sqrt(both*(1-both)/n); math.Abs(got-both) > tol {
			t.Errorf("p=%v: %v of neighbours both kept, want %v ± %v", p, got, both, tol)
		}

		// The gradient passes where the value did, and as much.
		dy := slices.Repeat([]float32{3}, n)
		d.Backward(dy)
		if !slices.Equal(dy, y) {
			t.Errorf("p=%v: backward is not the mask of forward", p)
		}
		// The mask is a function of the step and the row.
		first := slices.Clone(y)
		for _, at := range [][2]int{{3, 0}, {4, 32}, {4, 0}, {0, 0}} {
			d.Forward(y, x, at[0], at[1])
			if slices.Equal(first, y) {
				t.Errorf("p=%v: the masks of step 3, row 32 and of step %d, row %d are the same", p, at[0], at[1])
			}
		}
		d.Forward(y, x, 3, 32)
		if !slices.Equal(first, y) {
			t.Errorf("p=%v: step 3, row 32 again has another mask", p)
		}
	}
}

// A negative probability is none, however near to 0: the conversion to a whole
// number must not wrap.
func TestDropoutNegative(t *testing.T) {
	for _, p := range []float64{-1e-9, -0.1, -0.5, -1, -1e9, math.Inf(-1)} {
		if d := NewDropout(p, 1); d != nil {
			t.Errorf("dropout of %v drops %d of 65536", p, d.limit)
		}
	}
}

func TestDropoutOff(t *testing.T) {
	for _, p := range []float64{-1, math.Inf(-1), 0, 1e-6} {
		if NewDropout(p, 1) != nil {
			t.Errorf("p=%v drops", p)
		}
	}
}
