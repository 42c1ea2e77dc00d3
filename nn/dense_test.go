package nn

import (
	"slices"
	"testing"

	"github.com/sanflow/sanflow/nn/internal/random"
)

func TestDenseGradients(t *testing.T) {
	for _, c := range []struct {
		rows, in, out int
		act           activation
	}{{1, 1, 1, linear}, {3, 5, 4, linear}, {4, 72, 17, relu}, {33, 6, 3, relu}} {
		var p params
		l := newDense(&p, "dense", c.in, c.out, c.act)
		p.alloc()
		l.init(random.New(3, random.Init))
		fixBias(l.bias.w)
		x := normal(newRand(2), c.rows*c.in)
		y, r := make([]float32, c.rows*c.out), normal(newRand(3), c.rows*c.out)
		loss := func() float64 {
			l.forward(y, x, c.rows)
			return weighted(r, y)
		}
		loss()
		dx := slices.Repeat([]float32{99}, len(x))
		l.backward(dx, slices.Clone(r), y, x, c.rows)
		checkGrad(t, "x", x, dx, loss)
		checkGrad(t, "weight", l.weight.w, l.weight.g, loss)
		checkGrad(t, "bias", l.bias.w, l.bias.g, loss)
	}
}

// y = x·weight + bias on numbers small enough to check by hand.
func TestDense(t *testing.T) {
	var p params
	l := newDense(&p, "dense", 2, 3, linear)
	p.alloc()
	copy(l.weight.w, []float32{1, 2, 3, 10, 20, 30})
	copy(l.bias.w, []float32{100, 200, -300})
	y := make([]float32, 6)
	l.forward(y, []float32{1, 0, 2, 1}, 2)
	if want := []float32{101, 202, -297, 112, 224, -264}; !slices.Equal(y, want) {
		t.Errorf("y = %v, want %v", y, want)
	}
	l.act = relu
	l.forward(y, []float32{1, 0, 2, 1}, 2)
	if want := []float32{101, 202, 0, 112, 224, 0}; !slices.Equal(y, want) {
		t.Errorf("with ReLU y = %v, want %v", y, want)
	}
}
