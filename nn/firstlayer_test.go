package nn

import (
	"math"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/nn/internal/layer"
)

// After UseCode the first layer computes of a field what the encoder does, up to
// the activation, the biases, and a factor that brings weights to the variance of
// initial ones.
func TestUseCode(t *testing.T) {
	s := Shape{W: 2, K: 3, Cats: []int{2, 3}, Attrs: 2, EdgeCats: []int{2}, Classes: 2}
	const maps = 4
	c := &CNN{Maps1: maps}
	if err := c.Init(s); err != nil {
		t.Fatal(err)
	}
	nodes := randomRBM(t, &RBM{Hidden: maps, Units: Gaussian}, 3*7)
	pairs := randomRBM(t, &RBM{Hidden: maps}, 9*2)
	if err := c.UseCode(nodes); err != nil {
		t.Fatal(err)
	}
	if err := c.UseEdgeCode(pairs); err != nil {
		t.Fatal(err)
	}
	b := randomBatch(s, 5, 1)
	rng := newRand(2)
	b.edges = layer.Inputs{Cats: make([]int32, 5*2*9)}
	for i := range b.edges.Cats {
		b.edges.Cats[i] = int32(rng.IntN(3)) - 1
	}
	l := c.work.body.(*cnnLayers)
	for _, layer := range []struct {
		l       *layer.FieldConv
		in      layer.Inputs
		encoder *RBM
	}{{l.fields.Nodes.Conv1, b.nodes, nodes}, {l.fields.Edges.Conv1, b.edges, pairs}} {
		if err := layer.l.Grow(layer.in, 5); err != nil {
			t.Fatal(err)
		}
		// Uniform numbers in ±√(6/(in+out)) have the variance 2/(in+out).
		square, each := 0.0, len(layer.encoder.weight.W)/maps
		for _, w := range layer.encoder.weight.W {
			square += float64(w) * float64(w)
		}
		factor := math.Sqrt(2/float64(each+layer.l.N*maps)) / math.Sqrt(square/float64(each*maps))
		n, d, a := layer.l.N, len(layer.l.Cats), layer.l.Attrs
		for i := range 5 {
			y := make([]float32, layer.l.W*layer.l.Maps)
			if err := layer.l.Forward(y, layer.in, i, 1); err != nil {
				t.Fatal(err)
			}
			for f := range s.W {
				var units []float32
				for cell := range n {
					at := (i*s.W+f)*n + cell
					for j, card := range layer.l.Cats {
						one := make([]float32, card)
						if v := layer.in.Cats[at*d+j]; v >= 0 {
							one[v] = 1
						}
						units = append(units, one...)
					}
					units = append(units, layer.in.Attrs[at*a:(at+1)*a]...)
				}
				var want []float64
				for j := range maps {
					sum := 0.0
					for u, x := range units {
						sum += float64(x) * float64(layer.encoder.weight.W[u*maps+j])
					}
					want = append(want, max(0, sum*factor))
				}
				compare(t, "field", y[f*maps:(f+1)*maps], want, 1e-5)
			}
		}
	}
}

func TestUseCodeErrors(t *testing.T) {
	s := Shape{W: 2, K: 3, Cats: []int{2}, Classes: 2}
	fits := randomRBM(t, &RBM{Hidden: 16}, 6)
	c := new(CNN)
	if err := c.UseCode(fits); err != ErrNotReady {
		t.Errorf("before Init: %v", err)
	}
	if err := c.Init(s); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		err  error
		want string
	}{
		{c.UseCode(new(RBM)), ErrNotReady.Error()},
		{c.UseCode(randomRBM(t, &RBM{Hidden: 16}, 7)), "nn: conv1 has 6 inputs and 16 maps, the encoder 7 and 16"},
		{c.UseCode(randomRBM(t, &RBM{Hidden: 15}, 6)), "the encoder 6 and 15"},
		{c.UseEdgeCode(fits), "nn: the network reads no edges"},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.want) {
			t.Errorf("%v, want %q", test.err, test.want)
		}
	}
	if err := c.UseCode(fits); err != nil {
		t.Error(err)
	}
	if _, err := c.step(randomBatch(s, 4, 1)); err != nil {
		t.Fatal(err)
	}
	if err := c.UseCode(fits); err == nil || !strings.Contains(err.Error(), "before the first step") {
		t.Errorf("after a step: %v", err)
	}
}
