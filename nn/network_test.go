package nn

import (
	"math"
	"slices"
	"testing"
)

// networkCases are whole networks, small enough for a difference per weight.
var networkCases = []struct {
	name string
	s    Shape
	c    CNN
}{
	{"all channels", small, CNN{Maps1: 5, Maps2: 3, Size2: 3, Hidden: 6, Seed: 7}},
	{"one field", Shape{W: 1, K: 3, Cats: []int{4}, Classes: 2}, CNN{Maps1: 6, Maps2: 4, Hidden: 8, Seed: 5}},
	{"continuous", Shape{W: 6, K: 2, Attrs: 3, Classes: 4}, CNN{Maps1: 3, Maps2: 4, Size2: 2, Hidden: 9, Seed: 2}},
	{"no dropout", Shape{W: 3, K: 2, Cats: []int{5}, Classes: 2}, CNN{Maps1: 3, Maps2: 2, Size2: 10, Hidden: 4, Dropout: -1, Seed: 3}},
}

func networkOf(t *testing.T, set CNN, s Shape) *CNN {
	t.Helper()
	c := set
	if err := c.Init(s); err != nil {
		t.Fatal(err)
	}
	// Biases begin at 0, on the kink of ReLU where no derivative exists.
	r := newRand(11)
	for _, l := range c.work.List {
		if len(l.Shape) > 1 {
			continue
		}
		for i := range l.W {
			l.W[i] = float32(0.2 * r.NormFloat64())
		}
	}
	return &c
}

func layersOf(c *CNN) *cnnLayers { return c.work.body.(*cnnLayers) }

func TestForward(t *testing.T) {
	for _, test := range networkCases {
		t.Run(test.name, func(t *testing.T) {
			c := networkOf(t, test.c, test.s)
			b := randomBatch(test.s, 5, 3)
			y, err := c.work.forward(b)
			if err != nil {
				t.Fatal(err)
			}
			ref := newReference(c)
			for i := range b.rows {
				n := test.s.Classes
				compare(t, "logits", y[i*n:i*n+n], ref.logits(b, i), 1e-5)
			}
		})
	}
}

// Every weight's gradient against a central difference of the float64
// reference, under the dropout mask that the step drew.
func TestGradients(t *testing.T) {
	for _, test := range networkCases {
		t.Run(test.name, func(t *testing.T) {
			c := networkOf(t, test.c, test.s)
			b := randomBatch(test.s, 5, 3)
			seen, learned, err := c.work.learn(b, 3, 32, b.rows)
			if err != nil {
				t.Fatal(err)
			}
			ref := newReference(c)
			n := float64(b.rows)
			if want := ref.loss(b); math.Abs(seen.loss/n-want) > 1e-5 {
				t.Errorf("loss %v, want %v", seen.loss/n, want)
			}
			if c.work.drop != nil {
				for _, m := range maskOf(c.work.drop, b.rows*c.work.out.In) {
					ref.mask = append(ref.mask, float64(m))
				}
				if want := ref.loss(b); math.Abs(learned/n-want) > 1e-5 {
					t.Errorf("loss under dropout %v, want %v", learned/n, want)
				}
			}
			const h = 1e-6
			moved := 0
			for _, l := range c.work.List {
				for i := range l.G {
					x := ref.w[l.Name]
					v := x[i]
					x[i] = v + h
					up := ref.loss(b)
					x[i] = v - h
					down := ref.loss(b)
					x[i] = v
					want := (up - down) / (2 * h)
					if math.Abs(float64(l.G[i])-want) > 2e-5*(1+math.Abs(want)) {
						t.Fatalf("d loss / d %s[%d] = %v, want %v", l.Name, i, l.G[i], want)
					}
					if want != 0 {
						moved++
					}
				}
			}
			if moved < len(c.work.W)/4 {
				t.Errorf("only %d of %d gradients are not 0: the test shows little", moved, len(c.work.W))
			}
		})
	}
}

// Rows do not see each other: a batch is its rows, whatever buffers held
// before, and its gradient is their mean.
func TestBatchIsItsRows(t *testing.T) {
	s := small
	c := networkOf(t, CNN{Dropout: -1, Seed: 4}, s)
	whole := randomBatch(s, 7, 5)
	gradient := func(b batch) (logit, g []float32) {
		if _, _, err := c.work.learn(b, 0, 0, b.rows); err != nil {
			t.Fatal(err)
		}
		return slices.Clone(c.work.y[:b.rows*s.Classes]), slices.Clone(c.work.G)
	}
	logit, g := gradient(whole)
	var logits []float32
	sum := make([]float64, len(g))
	for _, cut := range [][2]int{{0, 1}, {1, 4}, {4, 7}} {
		l, g := gradient(whole.cut(s, cut[0], cut[1]))
		logits = append(logits, l...)
		for i, v := range g {
			sum[i] += float64(v) * float64(cut[1]-cut[0]) / 7
		}
	}
	compare(t, "gradient", g, sum, 1e-6)
	want := make([]float64, len(logits))
	for i, v := range logits {
		want[i] = float64(v)
	}
	compare(t, "logits", logit, want, 1e-6)
}

// The settings' zero is the paper's architecture.
func TestPaperArchitecture(t *testing.T) {
	var c CNN
	if err := c.Init(Shape{W: 18, K: 10, Cats: []int{7}, Classes: 2}); err != nil {
		t.Fatal(err)
	}
	want := map[string][]int{
		"conv1.table":   {10, 7, 16},
		"conv1.bias":    {16},
		"conv2.weight":  {10, 16, 8},
		"conv2.bias":    {8},
		"hidden.weight": {9 * 8, 128},
		"hidden.bias":   {128},
		"out.weight":    {128, 2},
		"out.bias":      {2},
	}
	for _, l := range c.work.List {
		if !slices.Equal(l.Shape, want[l.Name]) {
			t.Errorf("%s is %v, want %v", l.Name, l.Shape, want[l.Name])
		}
		delete(want, l.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	if got := c.String(); got != "CNN{W: 18, K: 10, Maps1: 16, Maps2: 8, Size2: 10, Hidden: 128, Activation: relu, Merge: concat, Dropout: 0.5, Loss: cross-entropy, Optimizer: {Rate:0.001 Rho:0.9}, Seed: 0}" {
		t.Error(got)
	}
}
