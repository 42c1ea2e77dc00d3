package layer

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sanflow/sanflow/nn/internal/random"
)

func TestGlorot(t *testing.T) {
	const n = 1 << 16
	w := make([]float32, n)
	Glorot(w, 20, 30, random.New(1, random.Init))
	limit := math.Sqrt(6.0 / 50)
	var sum, squares, top float64
	for _, v := range w {
		x := float64(v)
		sum += x
		squares += x * x
		top = max(top, math.Abs(x))
	}
	if top > limit || top < 0.99*limit {
		t.Errorf("the largest weight is %v, want just below %v", top, limit)
	}
	if mean := sum / n; math.Abs(mean) > 5*limit/math.Sqrt(3*n) {
		t.Errorf("the mean is %v, want about 0", mean)
	}
	// The point of the rule: a variance of 2/(in+out).
	if v := squares / n; math.Abs(v*25-1) > 0.03 {
		t.Errorf("the variance is %v, want about %v", v, 1.0/25)
	}
}

// Seeds mean the same numbers in every release: the first draw is fixed here,
// and is what testdata/losses.py computes from PCG's definition.
func TestRandom(t *testing.T) {
	r := random.New(1, random.Init)
	if got, want := r.Uint64(), rand.NewPCG(1, 1).Uint64(); got != want {
		t.Errorf("first draw %#x, want %#x", got, want)
	}
	for range 1000 {
		if f := r.Float(); f < 0 || f >= 1 || f*(1<<24) != float32(int(f*(1<<24))) {
			t.Fatalf("float() = %v", f)
		}
	}
}
