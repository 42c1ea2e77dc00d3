package nn

// Only this file of the package converts tensors. Everything else computes on slices.

import (
	"fmt"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/tensors"
)

// Batch is B graphs, or rows, with their targets. Tensors are row-major and contiguous. A call
// reads them and keeps none; Step writes Predicted only. A tensor without channels in the Shape
// is nil.
type Batch struct {
	Cats      *tensor.Dense // (B, w, k, d_v) int32: discrete channels of nodes; -1 for a dummy node or no value
	Attrs     *tensor.Dense // (B, w, k, c_v) float32: continuous channels of nodes; 0 for a dummy node
	Targets   *tensor.Dense // (B) int32: classes; Predict ignores it
	Values    *tensor.Dense // (B) float32: numbers, in any unit, for a shape without classes; Predict ignores it
	Predicted *tensor.Dense // (B, classes) or (B, 1) float32: receives the predictions of Step, made before it learns; may be nil

	// Sparse and SparseOffsets, of int32, are the sparse channel. With j = (i·w+f)·k+p and o =
	// SparseOffsets, (B·w·k+1), node p of field f of row i has the ascending values
	// Sparse[o[j]:o[j+1]]. Sparse may be nil if there are no values.
	Sparse, SparseOffsets *tensor.Dense

	Counts    *Counts       // B rows, for a model of counts
	Columns   []float64     // (B, columns), row-major: numbers for a trees.Model; NaN = missing
	EdgeCats  *tensor.Dense // (B, w, k, k, d_e) int32: discrete channels of the edge of each pair of nodes; -1 for no edge or no value
	EdgeAttrs *tensor.Dense // (B, w, k, k, c_e) float32: continuous channels of these edges; 0 for no edge
}

// batch is a Batch as slices, with checked shapes.
type batch struct {
	rows      int
	nodes     layer.Inputs
	edges     layer.Inputs
	counts    *Counts
	targets   []int32
	values    []float32
	unit      unit      // unit of predictions
	learned   unit      // unit of the outputs to learn
	predicted []float32 // (rows, columns): receives the predictions; may be nil
}

// open checks the shapes of b against s and returns it as slices. It does not check values except offsets and
// counts.
func (b Batch) open(s Shape, targets bool) (o batch, err error) {
	if o.rows, err = b.rows(s); err != nil || o.rows == 0 {
		return o, err
	}
	rows := o.rows
	if len(s.Counts) > 0 {
		o.counts, err = b.Counts, b.Counts.Check()
	} else {
		err = b.openFields(&o, s)
	}
	if err != nil || !targets {
		return o, err
	}
	if s.Classes == 0 {
		o.values, err = openFloats("Values", "", b.Values, rows)
	} else {
		o.targets, err = openInts("Targets", "", b.Targets, rows)
	}
	if err == nil && b.Predicted != nil {
		_, o.predicted, err = tensors.Result(b.Predicted, rows, max(1, s.Classes))
	}
	return o, err
}

// openFields sets the nodes and edges of o, the tensors of fields, after it has checked their types and shapes.
func (b Batch) openFields(o *batch, s Shape) (err error) {
	rows, w, k := o.rows, s.W, s.K
	if o.nodes.Cats, err = openInts("Cats", "discrete", b.Cats, rows, w, k, len(s.Cats)); err != nil {
		return err
	}
	if o.nodes.Attrs, err = openFloats("Attrs", "continuous", b.Attrs, rows, w, k, s.Attrs); err != nil {
		return err
	}
	if err = b.openSparse(o, s); err != nil {
		return err
	}
	if o.edges.Cats, err = openInts("EdgeCats", "discrete edge", b.EdgeCats, rows, w, k, k, len(s.EdgeCats)); err != nil {
		return err
	}
	if o.edges.Attrs, err = openFloats("EdgeAttrs", "continuous edge", b.EdgeAttrs, rows, w, k, k, s.EdgeAttrs); err != nil {
		return err
	}
	return nil
}

// openInts returns a tensor of int32 as a slice, or nil if it has no channels, which is a last dimension of
// 0.
func openInts(name, kind string, d *tensor.Dense, shape ...int) ([]int32, error) {
	if shape[len(shape)-1] == 0 {
		return nil, refuse(kind, d)
	}
	if err := tensors.Check(name, d, tensor.Int32, shape...); err != nil {
		return nil, err
	}
	return d.Int32s(), nil
}

// openFloats is openInts for float32.
func openFloats(name, kind string, d *tensor.Dense, shape ...int) ([]float32, error) {
	if shape[len(shape)-1] == 0 {
		return nil, refuse(kind, d)
	}
	if err := tensors.Check(name, d, tensor.Float32, shape...); err != nil {
		return nil, err
	}
	return d.Float32s(), nil
}

// refuse returns an error for channels that the model does not read.
func refuse(kind string, d *tensor.Dense) error {
	if d != nil {
		return fmt.Errorf("nn: batch has %s channels, the model has none", kind)
	}
	return nil
}

func (b Batch) openSparse(o *batch, s Shape) error {
	if s.Sparse == 0 {
		return refuse("sparse", b.Sparse)
	}
	cells := o.rows * s.W * s.K
	offsets, err := openInts("SparseOffsets", "", b.SparseOffsets, cells+1)
	if err != nil {
		return err
	}
	var values []int32
	if offsets[cells] != 0 {
		if b.Sparse == nil {
			return fmt.Errorf("nn: batch: Sparse is missing")
		}
		if err := tensors.Check("Sparse", b.Sparse, tensor.Int32, b.Sparse.Shape().TotalSize()); err != nil {
			return err
		}
		values = b.Sparse.Int32s()
	}
	if offsets[0] < 0 || int(offsets[cells]) > len(values) {
		return fmt.Errorf("nn: batch: SparseOffsets go from %d to %d, Sparse has %d values", offsets[0], offsets[cells], len(values))
	}
	for i, at := range offsets[1:] {
		if at < offsets[i] {
			return fmt.Errorf("nn: batch: SparseOffsets[%d] is %d, before it is %d", i+1, at, offsets[i])
		}
	}
	o.nodes.Sparse, o.nodes.Offsets = values, offsets
	return nil
}

// rows returns B by the first tensor that the model reads.
func (b Batch) rows(s Shape) (int, error) {
	if len(s.Counts) > 0 {
		if b.Counts == nil {
			return 0, fmt.Errorf("nn: batch: Counts is missing")
		}
		return b.Counts.Len(), nil
	}
	d, name := b.Attrs, "Attrs"
	switch {
	case len(s.Cats) > 0:
		d, name = b.Cats, "Cats"
	case s.Attrs == 0:
		d, name = b.SparseOffsets, "SparseOffsets"
	}
	if d == nil {
		return 0, fmt.Errorf("nn: batch: %s is missing", name)
	}
	if d.Dims() == 0 {
		return 0, fmt.Errorf("nn: batch: %s is a scalar", name)
	}
	rows := d.Shape()[0]
	if name == "SparseOffsets" {
		rows = (rows - 1) / (s.W * s.K) // openSparse compares it with B·w·k+1
	}
	return rows, nil
}
