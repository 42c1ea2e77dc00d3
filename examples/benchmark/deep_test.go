package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/nn"
)

// topics are contexts of things of which the even ones stand together, and the odd.
func topics(rng *rand.Rand, lists int) (c [][]uint64) {
	for i := range lists {
		var ids []uint64
		for range rng.IntN(8) {
			ids = append(ids, uint64(i%2)+2*rng.Uint64N(10))
		}
		c = append(c, ids)
	}
	return c
}

// learned returns a skip-gram that has learned.
func learned(t *testing.T, contexts [][]uint64, size int, seed uint64, workers int) *skipGram {
	t.Helper()
	s := newSkipGram(contexts, size, seed, workers)
	if err := s.learn(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.centre()
	return s
}

// vector is that of an id, nil if there is none.
func (s *skipGram) vector(id uint64) []float32 {
	at, ok := slices.BinarySearch(s.ids, id)
	if !ok {
		return nil
	}
	return s.rows[at*s.size : (at+1)*s.size]
}

// What stands together has vectors that point the same way, and the same ones at
// any number of workers.
func TestDeepLearnsWhatStandsTogether(t *testing.T) {
	c := topics(rand.New(rand.NewPCG(61, 62)), 400)
	d := learned(t, c, 8, 3, 1)
	cosine := func(a, b uint64) float64 {
		var ab, aa, bb float64
		for i, x := range d.vector(a) {
			y := float64(d.vector(b)[i])
			ab, aa, bb = ab+float64(x)*y, aa+float64(x)*float64(x), bb+y*y
		}
		return ab / math.Sqrt(aa*bb)
	}
	same, other := 1.0, -1.0
	for a := range uint64(20) {
		for b := range a {
			if (a-b)%2 == 0 {
				same = min(same, cosine(a, b))
			} else {
				other = max(other, cosine(a, b))
			}
		}
	}
	if same < other+0.3 {
		t.Errorf("things together have a cosine from %v, others up to %v", same, other)
	}
	for _, workers := range []int{2, 3, 7} {
		if again := learned(t, c, 8, 3, workers); !slices.Equal(again.rows, d.rows) {
			t.Errorf("%d workers give other vectors", workers)
		}
	}
	if another := learned(t, c, 8, 4, 1); slices.Equal(another.rows, d.rows) {
		t.Error("another seed gives the same vectors")
	}
}

// Vectors have unit length, so M is 1 on its diagonal; that they have a direction in
// common is taken off, and what is all of it becomes 0.
func TestDeepVectors(t *testing.T) {
	d := learned(t, topics(rand.New(rand.NewPCG(61, 62)), 400), 8, 3, 1)
	for id := range uint64(20) {
		squares := 0.0
		for _, x := range d.vector(id) {
			squares += float64(x) * float64(x)
		}
		if math.Abs(squares-1) > 1e-5 {
			t.Errorf("the vector of %d has the square %v", id, squares)
		}
	}
	s := &skipGram{size: 2, ids: []uint64{5, 6, 7}, words: []int32{0, 1, 2, 2}, rows: []float32{11, 20, 9, 20, 10, 20}}
	s.centre()
	if want := []float32{1, 0, -1, 0, 0, 0}; !slices.Equal(s.rows, want) {
		t.Errorf("%v, want %v", s.rows, want)
	}
	if one := learned(t, [][]uint64{{9, 9}}, 8, 3, 1).vector(9); !slices.Equal(one, make([]float32, 8)) {
		t.Errorf("%v for the only thing there is", one)
	}
}

// The gradients are those of −log σ(v·c) and −log σ(−v·c), by differences.
func TestDeepGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 64))
	s := &skipGram{size: 5, ids: []uint64{1, 2}, rows: make([]float32, 20)}
	for i := range s.rows {
		s.rows[i] = rng.Float32()*2 - 1
	}
	loss := func(is float32) float64 { // of word 1 and context 0, whose row is 2
		dot := 0.0
		for i := range 5 {
			dot += float64(s.rows[5+i]) * float64(s.rows[10+i])
		}
		if is == 0 {
			dot = -dot
		}
		return math.Log1p(math.Exp(-dot))
	}
	for _, is := range []float32{0, 1} {
		var step deepStep
		mine := step.room(1, 5)
		s.pair(1, 0, is, mine, &step)
		if !slices.Equal(step.rows, []int32{1, 2}) {
			t.Fatal(step.rows)
		}
		for k, row := range step.rows {
			for i := range 5 {
				x := &s.rows[int(row)*5+i]
				was := *x
				*x = was + 1e-2
				up := loss(is)
				*x = was - 1e-2
				down := loss(is)
				*x = was
				if want := (up - down) / 2e-2; math.Abs(float64(step.g[k*5+i])-want) > 1e-3 {
					t.Errorf("row %d: %v, want %v", row, step.g[k*5+i], want)
				}
			}
		}
	}
}

// The kernel is φ·V·Vᵀ·φᵀ, and positive semi-definite.
func TestDeepGram(t *testing.T) {
	rng := rand.New(rand.NewPCG(65, 66))
	contexts := topics(rng, 50)
	d := learned(t, contexts, 4, 0, 1)
	c := new(nn.Counts)
	for range 30 {
		row := map[uint64]float64{1 << 50: 3} // was in no context
		for range rng.IntN(9) {
			row[rng.Uint64N(20)]++
		}
		var ids []uint64
		var values []float64
		for id := range row {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		for _, id := range ids {
			values = append(values, row[id])
		}
		c.Append(ids, values)
	}
	g, err := d.gram(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Len() {
		for j := range c.Len() {
			want := 0.0
			a, x := c.Row(i)
			b, y := c.Row(j)
			for p := range a {
				for q := range b {
					v, u := d.vector(a[p]), d.vector(b[q])
					for f := range min(len(v), len(u)) {
						want += x[p] * y[q] * float64(v[f]) * float64(u[f])
					}
				}
			}
			if math.Abs(g.Row(i)[j]-want) > 1e-9*(1+math.Abs(want)) {
				t.Fatalf("%v, want %v", g.Row(i)[j], want)
			}
		}
	}
	if err := g.Check(); err != nil {
		t.Error(err)
	}
	semidefinite(t, g)
	if again, err := learned(t, contexts, 4, 0, 3).gram(t.Context(), c); err != nil || !slices.Equal(again.K, g.K) {
		t.Errorf("3 workers give another matrix (%v)", err)
	}
}

func TestDeepErrors(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newSkipGram(topics(rand.New(rand.NewPCG(67, 68)), 20), 8, 0, 1).learn(ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// Nothing to learn from: nothing is like anything else.
	for _, c := range [][][]uint64{nil, {{}, {7}}} {
		counts := new(nn.Counts)
		counts.Append([]uint64{7, 9}, []float64{1, 2})
		if g, err := learned(t, c, 32, 0, 1).gram(t.Context(), counts); err != nil || len(g.K) != 1 || math.Abs(g.K[0]) > 0.1 {
			t.Error(g, err)
		}
	}
}
