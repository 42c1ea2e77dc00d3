package layer

import (
	"slices"
	"testing"

	"github.com/sanflow/sanflow/nn/internal/random"
)

func TestDenseGradients(t *testing.T) {
	for _, c := range []struct {
		rows, in, out int
		act           Activation
	}{{1, 1, 1, Linear}, {3, 5, 4, Linear}, {4, 72, 17, ReLU}, {33, 6, 3, ReLU}} {
		var p Params
		l := NewDense(&p, "dense", c.in, c.out, c.act)
		p.Alloc()
		l.Init(random.New(3, random.Init))
		fixBias(l.Bias.W)
		x := normal(newRand(2), c.rows*c.in)
		y, r := make([]float32, c.rows*c.out), normal(newRand(3), c.rows*c.out)
		loss := func() float64 {
			l.Forward(y, x, c.rows)
			return weighted(r, y)
		}
		loss()
		dx := slices.Repeat([]float32{99}, len(x))
		l.Backward(dx, slices.Clone(r), y, x, c.rows)
		checkGrad(t, "x", x, dx, loss)
		checkGrad(t, "weight", l.weight.W, l.weight.G, loss)
		checkGrad(t, "bias", l.Bias.W, l.Bias.G, loss)
	}
}

// y = x·weight + bias on numbers small enough to check by hand.
func TestDense(t *testing.T) {
	var p Params
	l := NewDense(&p, "dense", 2, 3, Linear)
	p.Alloc()
	copy(l.weight.W, []float32{1, 2, 3, 10, 20, 30})
	copy(l.Bias.W, []float32{100, 200, -300})
	y := make([]float32, 6)
	l.Forward(y, []float32{1, 0, 2, 1}, 2)
	if want := []float32{101, 202, -297, 112, 224, -264}; !slices.Equal(y, want) {
		t.Errorf("y = %v, want %v", y, want)
	}
	l.act = ReLU
	l.Forward(y, []float32{1, 0, 2, 1}, 2)
	if want := []float32{101, 202, 0, 112, 224, 0}; !slices.Equal(y, want) {
		t.Errorf("with ReLU y = %v, want %v", y, want)
	}
}
