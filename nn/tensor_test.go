package nn

import (
	"strings"
	"testing"

	"gorgonia.org/tensor"
)

// tensorsOf wraps the slices of b, without a copy.
func tensorsOf(s Shape, b batch) Batch {
	of := func(x any, have bool, shape ...int) *tensor.Dense {
		if !have {
			return nil
		}
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(x))
	}
	w, k := s.W, s.K
	return Batch{
		Cats:          of(b.nodes.Cats, len(s.Cats) > 0, b.rows, w, k, len(s.Cats)),
		Attrs:         of(b.nodes.Attrs, s.Attrs > 0, b.rows, w, k, s.Attrs),
		Sparse:        of(b.nodes.Sparse, s.Sparse > 0, len(b.nodes.Sparse)),
		SparseOffsets: of(b.nodes.Offsets, s.Sparse > 0, len(b.nodes.Offsets)),
		EdgeCats:      of(b.edges.Cats, len(s.EdgeCats) > 0, b.rows, w, k, k, len(s.EdgeCats)),
		EdgeAttrs:     of(b.edges.Attrs, s.EdgeAttrs > 0, b.rows, w, k, k, s.EdgeAttrs),
		Counts:        b.counts,
		Targets:       of(b.targets, b.targets != nil, b.rows),
		Values:        of(b.values, b.values != nil, b.rows),
	}
}

func TestBatchErrors(t *testing.T) {
	of := func(dt tensor.Dtype, shape ...int) *tensor.Dense {
		return tensor.New(tensor.Of(dt), tensor.WithShape(shape...))
	}
	sliced := func(d *tensor.Dense, s ...tensor.Slice) *tensor.Dense {
		v, err := d.Slice(s...)
		if err != nil {
			t.Fatal(err)
		}
		return v.(*tensor.Dense)
	}
	for _, test := range []struct {
		name  string
		spoil func(b *Batch)
		want  string
	}{
		{"no Cats", func(b *Batch) { b.Cats = nil }, "Cats is missing"},
		{"no Attrs", func(b *Batch) { b.Attrs = nil }, "Attrs is missing"},
		{"no Targets", func(b *Batch) { b.Targets = nil }, "Targets is missing"},
		{"scalar", func(b *Batch) { b.Cats = tensor.New(tensor.FromScalar(int32(1))) }, "Cats is a scalar"},
		{"other k", func(b *Batch) { b.Cats = of(tensor.Int32, 5, 4, 3, 2) }, "Cats is [5 4 3 2], want [5 4 2 2]"},
		{"flat", func(b *Batch) { b.Attrs = of(tensor.Float32, 5, 16) }, "Attrs is [5 16], want [5 4 2 2]"},
		{"other rows", func(b *Batch) { b.Targets = of(tensor.Int32, 4) }, "Targets is [4], want [5]"},
		{"int64", func(b *Batch) { b.Targets = of(tensor.Int64, 5) }, "Targets is of int64, want int32"},
		{"float64", func(b *Batch) { b.Attrs = of(tensor.Float64, 5, 4, 2, 2) }, "Attrs is of float64, want float32"},
		{"a view", func(b *Batch) {
			b.Cats = sliced(of(tensor.Int32, 5, 4, 2, 3), nil, nil, nil, tensor.S(0, 2))
		}, "Cats is a view"},
		{"column-major", func(b *Batch) {
			b.Cats = tensor.New(tensor.WithShape(5, 4, 2, 2), tensor.AsFortran(make([]int32, 80)))
		}, "Cats is a view or not row-major"},
	} {
		c := smallCNN(t)
		b := tensorsOf(small, smallBatch(5))
		test.spoil(&b)
		if _, err := c.Step(b); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
		if c.Seen() != 0 {
			t.Errorf("%s: the batch was learned from", test.name)
		}
	}

	var c CNN
	if err := c.Init(Shape{W: 4, K: 2, Attrs: 2, Classes: 3}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Step(tensorsOf(small, smallBatch(5))); err == nil || !strings.Contains(err.Error(), "has discrete channels, the model has none") {
		t.Errorf("unexpected Cats: %v", err)
	}
}

// Rows of a larger tensor are a contiguous view, and as good as a copy.
func TestBatchOfRows(t *testing.T) {
	b := smallBatch(6)
	whole := tensorsOf(small, b)
	rows := func(d *tensor.Dense) *tensor.Dense {
		v, err := d.Slice(tensor.S(2, 5))
		if err != nil {
			t.Fatal(err)
		}
		return v.(*tensor.Dense)
	}
	c, d := smallCNN(t), smallCNN(t)
	if _, err := c.Step(Batch{Cats: rows(whole.Cats), Attrs: rows(whole.Attrs), Targets: rows(whole.Targets)}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.step(b.cut(small, 2, 5)); err != nil {
		t.Fatal(err)
	}
	if c.Hash() != d.Hash() {
		t.Error("a view of rows and the rows give different weights")
	}
}

// No rows are no error and no step.
func TestEmptyBatch(t *testing.T) {
	c := smallCNN(t)
	hash := c.Hash()
	b := Batch{
		Cats:  tensor.New(tensor.WithShape(0, 4, 2, 2), tensor.WithBacking([]int32{})),
		Attrs: tensor.New(tensor.WithShape(0, 4, 2, 2), tensor.WithBacking([]float32{})),
	}
	if r, err := c.Step(b); err != nil || r != (Result{}) {
		t.Errorf("Step: %+v, %v", r, err)
	}
	if p, err := c.Predict(b, nil); err != nil || p.Shape()[0] != 0 {
		t.Errorf("Predict: %v", err)
	}
	if c.Seen() != 0 || c.Hash() != hash {
		t.Error("an empty batch has changed the network")
	}
}
