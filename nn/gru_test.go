package nn

import (
	"math"
	"testing"

	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// The layer against the four lines of its documentation, in float64.
func TestGRULayer(t *testing.T) {
	for _, c := range []struct{ rows, n, in, units int }{{1, 1, 1, 1}, {3, 5, 4, 7}, {2, 18, 16, 32}} {
		var p layer.Params
		l := layer.NewGRULayer(&p, "gru", c.n, c.in, c.units)
		p.Alloc()
		l.Init(random.New(3, random.Init))
		r := newRand(1)
		copy(l.Bias.W, normal(r, 3*c.units))
		copy(l.Inside.W, normal(r, c.units))
		x := normal(r, c.rows*c.n*c.in)
		l.Forward(x, c.rows)

		u := c.units
		for i := range c.rows {
			h := make([]float64, u)
			for step := range c.n {
				in := x[(i*c.n+step)*c.in:]
				// sums returns x·W + b and h·U of one unit of one gate.
				sums := func(gate, j int) (a, b float64) {
					a = float64(l.Bias.W[gate*u+j])
					for k := range c.in {
						a += float64(in[k]) * float64(l.Input.W[k*3*u+gate*u+j])
					}
					for k, v := range h {
						b += v * float64(l.State.W[k*3*u+gate*u+j])
					}
					return a, b
				}
				sigma := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
				next := make([]float64, u)
				for j := range u {
					ra, rb := sums(0, j)
					za, zb := sums(1, j)
					ca, cb := sums(2, j)
					z := sigma(za + zb)
					cand := math.Tanh(ca + sigma(ra+rb)*(cb+float64(l.Inside.W[j])))
					next[j] = (1-z)*cand + z*h[j]
				}
				h = next
				compare(t, "h", l.Output(i, step), h, 1e-5)
			}
		}
	}
}

// A GRU can tell which of two kinds of fields came first, wherever they are.
func TestGRULearnsOrder(t *testing.T) {
	s := Shape{W: 8, K: 2, Cats: []int{3}, Classes: 2}
	m := &GRU{Seed: 1, optimizer: Adam{Rate: 5e-3}}
	if err := m.Init(s); err != nil {
		t.Fatal(err)
	}
	r := newRand(1)
	correct := 0
	for i := range 400 {
		b := randomBatch(s, 32, uint64(i))
		for j := range b.nodes.Cats {
			b.nodes.Cats[j] = min(b.nodes.Cats[j], 0)
		}
		for row := range b.rows {
			first := r.IntN(7)
			second := first + 1 + r.IntN(7-first)
			graph := b.nodes.Cats[row*16:]
			class := r.Int32N(2)
			graph[2*first], graph[2*second] = 1+class, 2-class
			b.targets[row] = class
		}
		res, err := m.step(b)
		if err != nil {
			t.Fatal(err)
		}
		if i >= 380 {
			correct += res.Correct
		}
	}
	if correct < 19*32 {
		t.Errorf("%d of %d right in the last 20 batches: has not learned", correct, 20*32)
	}
}
