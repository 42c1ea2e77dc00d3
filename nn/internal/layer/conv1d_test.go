package layer

import (
	"slices"
	"testing"

	"github.com/sanflow/sanflow/nn/internal/random"
)

type convCase struct{ n, in, size, maps int }

var convCases = []convCase{{1, 1, 1, 1}, {5, 3, 2, 4}, {18, 16, 10, 8}, {10, 16, 10, 8}, {7, 2, 7, 3}, {12, 5, 1, 9}}

func convLayer(c convCase) *conv1D {
	var p Params
	l := newConv1D(&p, "conv", c.n, c.in, c.size, c.maps, ReLU)
	p.Alloc()
	l.init(random.New(3, random.Init))
	return l
}

func TestConv1D(t *testing.T) {
	for _, c := range convCases {
		l, r := convLayer(c), newRand(1)
		copy(l.bias.W, normal(r, c.maps))
		const graphs = 3
		x := normal(r, graphs*c.n*c.in)
		y := make([]float32, graphs*l.steps()*c.maps)
		l.forward(y, x, graphs)

		want := make([]float64, len(y))
		for i := range want {
			g, step, m := i/c.maps/l.steps(), i/c.maps%l.steps(), i%c.maps
			sum := float64(l.bias.W[m])
			for j := range c.size {
				for ch := range c.in {
					sum += float64(x[(g*c.n+step+j)*c.in+ch]) * float64(l.weight.W[(j*c.in+ch)*c.maps+m])
				}
			}
			want[i] = max(sum, 0)
		}
		compare(t, "y", y, want, 1e-5)
	}
}

func TestConv1DGradients(t *testing.T) {
	for _, c := range convCases {
		l := convLayer(c)
		fixBias(l.bias.W)
		const graphs = 2
		x := normal(newRand(2), graphs*c.n*c.in)
		y, r := make([]float32, graphs*l.steps()*c.maps), normal(newRand(3), graphs*l.steps()*c.maps)
		loss := func() float64 {
			l.forward(y, x, graphs)
			return weighted(r, y)
		}
		loss()
		dx := slices.Repeat([]float32{99}, len(x)) // backward sets, it does not add
		l.startGrad()
		l.backward(dx, slices.Clone(r), y, x, graphs)
		checkGrad(t, "x", x, dx, loss)
		checkGrad(t, "weight", l.weight.W, l.weight.G, loss)
		checkGrad(t, "bias", l.bias.W, l.bias.G, loss)
	}
}
