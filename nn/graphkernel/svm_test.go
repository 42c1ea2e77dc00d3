package graphkernel

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/nn"
)

// randomCounts is n rows of which those of a class have more of the same ids.
func randomCounts(rng *rand.Rand, n, classes int) (c *nn.Counts, class []int32) {
	c = new(nn.Counts)
	for i := range n {
		k := i % classes
		class = append(class, int32(k))
		var ids []uint64
		var values []float64
		for id := range uint64(4) {
			p := .3
			if int(id)%classes == k {
				p = .5
			}
			if rng.Float64() < p {
				ids, values = append(ids, id*id), append(values, float64(1+rng.IntN(4)))
			}
		}
		c.Append(ids, values)
	}
	return c, class
}

func all(n int) (rows []int32) {
	for i := range int32(n) {
		rows = append(rows, i)
	}
	return rows
}

// The similarities are those of dense vectors, whatever the workers.
func TestGramOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	c, _ := randomCounts(rng, 60, 2)
	dense := func(i int) []float64 {
		x := make([]float64, 200)
		ids, values := c.Row(i)
		for j, id := range ids {
			x[id] = values[j]
		}
		return x
	}
	for _, s := range []nn.Similarity{nn.Linear, nn.Cosine, nn.Min} {
		g, err := GramOf(context.Background(), c, s, 1)
		if err != nil {
			t.Fatal(err)
		}
		again, err := GramOf(context.Background(), c, s, 3)
		if err != nil || !slices.Equal(again.K, g.K) {
			t.Errorf("%s: 3 workers give another matrix (%v)", s, err)
		}
		for i := range c.Len() {
			for j := range c.Len() {
				var dot, least, a, b float64
				x, y := dense(i), dense(j)
				for d := range x {
					dot += x[d] * y[d]
					least += min(x[d], y[d])
					a += x[d] * x[d]
					b += y[d] * y[d]
				}
				want := map[nn.Similarity]float64{
					nn.Linear: dot, nn.Min: least,
					nn.Cosine: dot / math.Max(math.Sqrt(a)*math.Sqrt(b), 1e-300),
				}[s]
				if got := g.Row(i)[j]; math.Abs(got-want) > 1e-12*(1+want) {
					t.Fatalf("%s of %d and %d is %v, want %v", s, i, j, got, want)
				}
			}
		}
		if err := g.Check(); err != nil {
			t.Error(err)
		}
		// Positive semi-definite: no vector has a negative square.
		for range 200 {
			v, sum := make([]float64, g.N), 0.0
			for i := range v {
				v[i] = rng.NormFloat64()
			}
			for i := range v {
				for j := range v {
					sum += v[i] * v[j] * g.Row(i)[j]
				}
			}
			if sum < -1e-9 {
				t.Fatalf("%s: a vector has the square %v", s, sum)
			}
		}
	}
}

// optimal checks the conditions of an optimum (Karush, Kuhn and Tucker) of a pair
// of classes from the decisions alone.
func optimal(t *testing.T, m *SVM, g *Gram, class []int32, tolerance float64) {
	t.Helper()
	for at, p := range m.pairs {
		alpha := map[int32]float64{}
		sum := 0.0
		for _, v := range p.support {
			alpha[v.row] = v.coef
			sum += v.coef
			if a := math.Abs(v.coef); a > m.C*(1+1e-12) {
				t.Errorf("α of %d is %v, beyond C = %v", v.row, a, m.C)
			}
		}
		if math.Abs(sum) > 1e-6*m.C {
			t.Errorf("Σ yα is %v, want 0", sum)
		}
		for i, c := range class {
			y := 0.0
			switch c {
			case m.classes[p.a]:
				y = 1
			case m.classes[p.b]:
				y = -1
			default:
				continue
			}
			a := y * alpha[int32(i)]
			margin := y * m.Decide(g.Row(i), nil)[at]
			switch {
			case a < 0:
				t.Errorf("row %d: α is %v, below 0", i, a)
			case a == 0 && margin < 1-tolerance, a == m.C && margin > 1+tolerance,
				a > 0 && a < m.C && math.Abs(margin-1) > tolerance:
				t.Errorf("row %d: α is %v of %v with a margin of %v", i, a, m.C, margin)
			}
		}
	}
}

func TestSVMOptimum(t *testing.T) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 3))
		c, class := randomCounts(rng, 30+rng.IntN(70), 2+rng.IntN(3))
		for _, s := range []nn.Similarity{nn.Linear, nn.Cosine, nn.Min} {
			g, err := GramOf(context.Background(), c, s, 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, price := range []float64{.1, 1, 30} {
				m := &SVM{C: price, Tolerance: 1e-4}
				if err := m.Fit(context.Background(), g, all(g.N), class); err != nil {
					t.Fatal(err)
				}
				optimal(t, m, g, class, 3e-4)
			}
		}
	}
}

// Two points are told apart by the line in the middle, which is known.
func TestSVMTwo(t *testing.T) {
	g := &Gram{N: 2, K: []float64{1, -1, -1, 1}} // the points 1 and -1
	m := &SVM{C: 10}
	if err := m.Fit(context.Background(), g, []int32{0, 1}, []int32{7, 9}); err != nil {
		t.Fatal(err)
	}
	if d := m.Decide([]float64{.5, -.5}, nil); math.Abs(d[0]-.5) > 1e-3 {
		t.Errorf("the decision at ½ is %v, want ½", d[0])
	}
	if m.Class(g.Row(0)) != 7 || m.Class(g.Row(1)) != 9 {
		t.Error("the two are not told apart")
	}
	if s := m.Support(); !slices.Equal(s, []int32{0, 1}) {
		t.Errorf("support %v", s)
	}
}

func TestSVMErrors(t *testing.T) {
	good := &Gram{N: 3, K: []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		m     SVM
		g     *Gram
		rows  []int32
		class []int32
		want  string
	}{
		{SVM{C: -1}, good, []int32{0, 1}, []int32{0, 1}, "C is -1"},
		{SVM{C: math.NaN()}, good, []int32{0, 1}, []int32{0, 1}, "C is NaN"},
		{SVM{}, good, []int32{0, 1}, []int32{1, 1}, "fewer than two classes"},
		{SVM{}, good, nil, nil, "fewer than two classes"},
		{SVM{}, good, []int32{0, 3}, []int32{0, 1}, "row 3 of a matrix of 3"},
		{SVM{}, good, []int32{0, 1}, []int32{0}, "2 rows and 1 classes"},
		{SVM{}, &Gram{N: 2, K: []float64{1, 2, 3, 1}}, []int32{0, 1}, []int32{0, 1}, "not symmetric"},
		{SVM{}, &Gram{N: 2, K: []float64{1, math.NaN(), math.NaN(), 1}}, []int32{0, 1}, []int32{0, 1}, "NaN"},
		{SVM{}, &Gram{N: 2, K: []float64{1, math.NaN(), 0, 1}}, []int32{0, 1}, []int32{0, 1}, "the value of 0 and 1 is NaN"},
		{SVM{}, &Gram{N: 2, K: []float64{1}}, []int32{0, 1}, []int32{0, 1}, "1 values, want 2 × 2"},
		{SVM{MaxSteps: 1, Tolerance: 1e-9}, good, []int32{0, 1, 2}, []int32{0, 1, 0}, "no end after 1 steps"},
		{SVM{Tolerance: -1}, good, []int32{0, 1}, []int32{0, 1}, "Tolerance"},
	} {
		if err := c.m.Fit(context.Background(), c.g, c.rows, c.class); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	c, _ := randomCounts(rand.New(rand.NewPCG(1, 1)), 100, 2)
	if _, err := GramOf(ctx, c, nn.Linear, 2); err == nil {
		t.Error("a matrix after its context has ended")
	}
	if _, err := GramOf(context.Background(), c, "euclid", 2); err == nil || !strings.Contains(err.Error(), "euclid") {
		t.Errorf("%v for a similarity that there is not", err)
	}
	c.Values[0] = -1
	if _, err := GramOf(context.Background(), c, nn.Min, 2); err == nil {
		t.Error("min of counts below 0")
	}
}
