package graphkernel

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
func topics(rng *rand.Rand, lists int) *Contexts {
	c := new(Contexts)
	for i := range lists {
		var ids []uint64
		for range rng.IntN(8) {
			ids = append(ids, uint64(i%2)+2*rng.Uint64N(10))
		}
		c.Append(ids)
	}
	return c
}

// What stands together has vectors that point the same way, and the same ones at
// any number of workers.
func TestDeepLearnsWhatStandsTogether(t *testing.T) {
	ctx := context.Background()
	c := topics(rand.New(rand.NewPCG(61, 62)), 400)
	d := Deep{Size: 8, Seed: 3}
	if err := d.Fit(ctx, c); err != nil {
		t.Fatal(err)
	}
	cosine := func(a, b uint64) float64 {
		var ab, aa, bb float64
		for i, x := range d.Vector(a) {
			y := float64(d.Vector(b)[i])
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
		again := Deep{Size: 8, Seed: 3, Workers: workers}
		if err := again.Fit(ctx, c); err != nil || !slices.Equal(again.vectors, d.vectors) {
			t.Errorf("%d workers give other vectors (%v)", workers, err)
		}
	}
	another := Deep{Size: 8, Seed: 4}
	if err := another.Fit(ctx, c); err != nil || slices.Equal(another.vectors, d.vectors) {
		t.Errorf("another seed gives the same vectors (%v)", err)
	}
}

// Vectors have unit length, so M is 1 on its diagonal; that they have a direction in
// common is taken off, and what is all of it becomes 0.
func TestDeepVectors(t *testing.T) {
	ctx := context.Background()
	d := Deep{Size: 8, Seed: 3}
	if err := d.Fit(ctx, topics(rand.New(rand.NewPCG(61, 62)), 400)); err != nil {
		t.Fatal(err)
	}
	for id := range uint64(20) {
		squares := 0.0
		for _, x := range d.Vector(id) {
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
	one := &Contexts{}
	one.Append([]uint64{9, 9})
	if err := d.Fit(ctx, one); err != nil || !slices.Equal(d.Vector(9), make([]float32, 8)) {
		t.Errorf("%v for the only thing there is (%v)", d.Vector(9), err)
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
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(65, 66))
	d := Deep{Size: 4, Epochs: 1}
	if err := d.Fit(ctx, topics(rng, 50)); err != nil {
		t.Fatal(err)
	}
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
	g, err := d.Gram(ctx, c)
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
					v, u := d.Vector(a[p]), d.Vector(b[q])
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
	d.Workers = 3
	if again, err := d.Gram(ctx, c); err != nil || !slices.Equal(again.K, g.K) {
		t.Errorf("3 workers give another matrix (%v)", err)
	}
}

func TestDeepErrors(t *testing.T) {
	ctx := context.Background()
	some := topics(rand.New(rand.NewPCG(67, 68)), 20)
	for want, d := range map[string]Deep{
		"graphkernel: deep: Size is -1, want 0 to 4096":                             {Size: -1},
		"graphkernel: deep: Window is 5000, want 0 to 4096":                         {Window: 5000},
		"graphkernel: deep: Rate is -1, want a number from 0 that float32 holds":    {Rate: -1},
		"graphkernel: deep: Rate is 1e+39, want a number from 0 that float32 holds": {Rate: 1e39},
		"graphkernel: deep: the vectors are not finite; a lower Rate may help":      {Rate: 1e38},
	} {
		if err := d.Fit(ctx, some); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	var d Deep
	if err := d.Fit(ctx, &Contexts{Offsets: []int{0, 3, 2}, IDs: []uint64{1, 2}}); err == nil {
		t.Error("offsets may fall")
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := d.Fit(ended, some); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// Nothing to learn from: nothing is like anything else.
	for _, c := range []*Contexts{{}, {Offsets: []int{0, 0, 1}, IDs: []uint64{7}}} {
		if err := d.Fit(ctx, c); err != nil {
			t.Fatal(err)
		}
		counts := new(nn.Counts)
		counts.Append([]uint64{7, 9}, []float64{1, 2})
		if g, err := d.Gram(ctx, counts); err != nil || len(g.K) != 1 || math.Abs(g.K[0]) > 0.1 {
			t.Error(g, err)
		}
	}
}

// A changed size between Fit and use changes nothing of what was learned.
func TestDeepSizeAfterFit(t *testing.T) {
	d := &Deep{Size: 4, Epochs: 2, Seed: 3}
	if err := d.Fit(context.Background(), topics(rand.New(rand.NewPCG(71, 72)), 40)); err != nil {
		t.Fatal(err)
	}
	d.Size = 9
	if v := d.Vector(d.ids[0]); len(v) != 4 {
		t.Errorf("a vector of %d numbers", len(v))
	}
}

// Before Fit there is nothing to compare by.
func TestDeepUntrained(t *testing.T) {
	ctx, counts := context.Background(), new(nn.Counts)
	counts.Append([]uint64{7}, []float64{1})
	d := &Deep{Size: 4}
	_, gram := d.Gram(ctx, counts)
	_, compare := d.Compare(ctx, counts, counts)
	for i, err := range []error{gram, compare} {
		if err != nn.ErrUntrained {
			t.Errorf("use %d: %v", i, err)
		}
	}
	if d.Vector(7) != nil {
		t.Error("there is a vector")
	}
}
