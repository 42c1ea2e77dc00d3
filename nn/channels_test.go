package nn

import (
	"errors"
	"math"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// A sparse channel is the many-hot vector that is never built: a network that
// is fed the vector as continuous channels predicts and learns the same.
func TestSparseIsManyHot(t *testing.T) {
	s := Shape{W: 3, K: 2, Sparse: 5, Classes: 3}
	hot := Shape{W: 3, K: 2, Attrs: 5, Classes: 3}
	a := &CNN{Maps1: 4, Hidden: 6, Seed: 1}
	b := &CNN{Maps1: 4, Hidden: 6, Seed: 1}
	if err := errors.Join(a.Init(s), b.Init(hot)); err != nil {
		t.Fatal(err)
	}
	for step := range 10 {
		x := randomBatch(s, 5, uint64(step))
		y := batch{rows: 5, targets: x.targets}
		y.nodes.Attrs = make([]float32, 5*6*5)
		for cell := range 30 {
			for _, v := range x.nodes.Sparse[x.nodes.Offsets[cell]:x.nodes.Offsets[cell+1]] {
				y.nodes.Attrs[cell*5+int(v)] = 1
			}
		}
		r, err := a.step(x)
		if err != nil {
			t.Fatal(err)
		}
		q, err := b.step(y)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(r.Loss-q.Loss) > 1e-4 || r.Correct != q.Correct {
			t.Fatalf("step %d: %+v, many-hot %+v", step, r, q)
		}
	}
}

// An edge is an edge of the place where it lies: the branch of edges is the
// convolution of k² nodes.
func TestEdgesAreFieldsOfPairs(t *testing.T) {
	pairs := Shape{W: 3, K: 4, Cats: []int{2, 3}, Attrs: 2, Classes: 2}
	s := Shape{W: 3, K: 2, Attrs: 1, EdgeCats: pairs.Cats, EdgeAttrs: 2, Classes: 2}
	var p, q layer.Params
	l, want := layer.NewFieldConv(&p, "a", s.edges(), 5, layer.ReLU), layer.NewFieldConv(&q, "b", pairs.nodes(), 5, layer.ReLU)
	p.Alloc()
	q.Alloc()
	l.Init(random.New(1, random.Init))
	want.Init(random.New(1, random.Init))
	b := randomBatch(pairs, 4, 1)
	x, y := make([]float32, 4*15), make([]float32, 4*15)
	if err := errors.Join(l.Grow(b.nodes, 4), want.Grow(b.nodes, 4), l.Forward(x, b.nodes, 0, 4), want.Forward(y, b.nodes, 0, 4)); err != nil {
		t.Fatal(err)
	}
	for i := range x {
		if x[i] != y[i] {
			t.Fatalf("output %d is %v, want %v", i, x[i], y[i])
		}
	}
}

// Bad values in any channel name the row and the place.
func TestChannelErrors(t *testing.T) {
	s := Shape{W: 2, K: 2, Cats: []int{3}, Sparse: 4, EdgeCats: []int{2}, EdgeAttrs: 1, Classes: 2}
	number := Shape{W: 2, K: 2, Attrs: 1}
	for _, test := range []struct {
		s     Shape
		spoil func(b *batch)
		want  string
	}{
		{s, func(b *batch) { b.edges.Cats[2*8+4+3] = 2 }, "nn: row 2: field 1, nodes 1 and 1, discrete edge channel 0: value 2, want -1 to 1"},
		{s, func(b *batch) { b.edges.Attrs[8+1] = float32(math.NaN()) }, "nn: row 1: edge attribute is NaN"},
		{s, func(b *batch) { last(b.nodes.Sparse, b.nodes.Offsets[3*4+3:], 4) }, "nn: row 3: field 1, node 1, sparse channel: value 4, want 0 to 3"},
		{s, func(b *batch) { last(b.nodes.Sparse, b.nodes.Offsets[0:], -1) }, "nn: row 0: field 0, node 0, sparse channel: value -1, want 0 to 3"},
		{s, func(b *batch) { b.nodes.Offsets = []int32{0, 0, 2}; b.nodes.Sparse = []int32{3, 3}; fill(b, 16) },
			"nn: row 0: field 0, node 1, sparse channel: value 3 after 3, want them to ascend"},
		{number, func(b *batch) { b.values[3] = float32(math.Inf(1)) }, "nn: row 3: the value to learn is +Inf"},
	} {
		for _, m := range []Model{&CNN{}, &PSLR{}, &GRU{}} {
			if err := m.Init(test.s); err != nil {
				t.Fatal(err)
			}
			c := learnerOf(m)
			hash := c.Hash()
			b := randomBatch(test.s, 4, 12)
			test.spoil(&b)
			_, err := c.step(b)
			var row *RowError
			if err == nil || err.Error() != test.want || !errors.As(err, &row) {
				t.Errorf("%T: %v, want %q", m, err, test.want)
			}
			if c.Hash() != hash || c.Seen() != 0 {
				t.Errorf("%T: %s: the batch has changed the model", m, test.want)
			}
		}
	}
}

// fill gives the remaining cells no value.
func fill(b *batch, cells int) {
	for len(b.nodes.Offsets) <= cells {
		b.nodes.Offsets = append(b.nodes.Offsets, int32(len(b.nodes.Sparse)))
	}
}

// last changes the last value of the cell whose offsets begin there, which must
// have one.
func last(values, offsets []int32, v int32) {
	if offsets[1] == offsets[0] {
		panic("the cell has no value; take another seed")
	}
	values[offsets[1]-1] = v
}

// Tensors of the wrong kind or shape are told by name.
func TestChannelShapes(t *testing.T) {
	s := Shape{W: 2, K: 2, Cats: []int{3}, Sparse: 4, EdgeCats: []int{2}, EdgeAttrs: 1, Classes: 2}
	of := func(dt tensor.Dtype, shape ...int) *tensor.Dense {
		return tensor.New(tensor.Of(dt), tensor.WithShape(shape...))
	}
	offsets := func(v ...int32) *tensor.Dense { return tensor.New(tensor.WithShape(len(v)), tensor.WithBacking(v)) }
	for _, test := range []struct {
		spoil func(b *Batch)
		want  string
	}{
		{func(b *Batch) { b.EdgeCats = nil }, "EdgeCats is missing"},
		{func(b *Batch) { b.EdgeCats = of(tensor.Int32, 1, 2, 2, 1) }, "EdgeCats is [1 2 2 1], want [1 2 2 2 1]"},
		{func(b *Batch) { b.EdgeAttrs = of(tensor.Float64, 1, 2, 2, 2, 1) }, "EdgeAttrs is of float64, want float32"},
		{func(b *Batch) { b.SparseOffsets = nil }, "SparseOffsets is missing"},
		{func(b *Batch) { b.Sparse = nil }, "Sparse is missing"},
		{func(b *Batch) { b.Sparse = of(tensor.Float32, 3) }, "Sparse is of float32, want int32"},
		{func(b *Batch) { b.SparseOffsets = offsets(0, 1, 2, 3) }, "SparseOffsets is [4], want [5]"},
		{func(b *Batch) { b.SparseOffsets = offsets(0, 1, 0, 1, 1) }, "SparseOffsets[2] is 0, before it is 1"},
		{func(b *Batch) { b.SparseOffsets = offsets(-1, 0, 0, 1, 1) }, "SparseOffsets go from -1 to 1"},
		{func(b *Batch) { b.SparseOffsets = offsets(0, 0, 0, 0, 9999) }, "SparseOffsets go from 0 to 9999"},
		{func(b *Batch) { b.Attrs = of(tensor.Float32, 1, 2, 2, 1) }, "batch has continuous channels, the model has none"},
		{func(b *Batch) { b.Targets = nil }, "Targets is missing"},
	} {
		c := &CNN{}
		if err := c.Init(s); err != nil {
			t.Fatal(err)
		}
		b := tensorsOf(s, randomBatch(s, 1, 1))
		test.spoil(&b)
		if _, err := c.Step(b); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
	number := &PSLR{}
	if err := number.Init(Shape{W: 2, K: 2, Attrs: 1}); err != nil {
		t.Fatal(err)
	}
	b := Batch{Attrs: of(tensor.Float32, 3, 2, 2, 1), Values: of(tensor.Float32, 2)}
	if _, err := number.Step(b); err == nil || !strings.Contains(err.Error(), "Values is [2], want [3]") {
		t.Errorf("%v, want the shape of Values", err)
	}
	plain := &PSLR{}
	if err := plain.Init(Shape{W: 2, K: 2, Attrs: 1, Classes: 2}); err != nil {
		t.Fatal(err)
	}
	for _, b := range []Batch{
		{Attrs: of(tensor.Float32, 3, 2, 2, 1), Sparse: of(tensor.Int32, 3)},
		{Attrs: of(tensor.Float32, 3, 2, 2, 1), EdgeCats: of(tensor.Int32, 3, 2, 2, 2, 1)},
		{Attrs: of(tensor.Float32, 3, 2, 2, 1), EdgeAttrs: of(tensor.Float32, 3, 2, 2, 2, 1)},
	} {
		if _, err := plain.Step(b); err == nil || !strings.Contains(err.Error(), "channels, the model has none") {
			t.Errorf("%v, want channels that the model does not have", err)
		}
	}
}

// A batch in which no node has a value of the sparse channel.
func TestSparseEmpty(t *testing.T) {
	s := Shape{W: 2, K: 2, Sparse: 4, Classes: 2}
	for _, m := range []Model{&CNN{Seed: 1}, &PSLR{}} {
		if err := m.Init(s); err != nil {
			t.Fatal(err)
		}
		b := Batch{
			SparseOffsets: tensor.New(tensor.Of(tensor.Int32), tensor.WithShape(3*4+1)),
			Targets:       tensor.New(tensor.Of(tensor.Int32), tensor.WithShape(3)),
		}
		for _, none := range []*tensor.Dense{
			nil,
			tensor.New(tensor.WithShape(0), tensor.WithBacking([]int32{})),
			tensor.New(tensor.WithShape(1), tensor.WithBacking([]int32{0})),
		} {
			b.Sparse = none
			if r, err := m.Step(b); err != nil || r.Rows != 3 {
				t.Errorf("%T: %+v, %v", m, r, err)
			}
		}
	}
}
