package nn

// The one file that knows the tensor library: tensors are what enters and
// leaves, slices are what is computed on.

import (
	"fmt"
	"slices"

	"gorgonia.org/tensor"
)

// Batch is B graphs with their targets. The tensors are row-major and
// contiguous; they are read during the call, never written, never kept.
type Batch struct {
	// Cats is (B, w, k, d_v) of int32: the value of each discrete channel of
	// each vertex, -1 for a dummy vertex or no value. Nil when d_v is 0.
	Cats *tensor.Dense

	// Attrs is (B, w, k, c_v) of float32: the continuous channels, 0 for a
	// dummy vertex. Nil when c_v is 0.
	Attrs *tensor.Dense

	// Targets is (B) of int32: the class of each graph. Predict ignores it.
	Targets *tensor.Dense
}

// batch is a Batch as slices, its shapes checked.
type batch struct {
	rows    int
	cats    []int32
	attrs   []float32
	targets []int32
}

// open checks the shapes of b against s and returns it as slices. The values
// are not looked at.
func (b Batch) open(s Shape, targets bool) (batch, error) {
	rows, err := b.rows(s)
	if err != nil {
		return batch{}, err
	}
	o := batch{rows: rows}
	if rows == 0 {
		return o, nil
	}
	if d := len(s.Cats); d > 0 {
		if err := checkDense("Cats", b.Cats, tensor.Int32, rows, s.W, s.K, d); err != nil {
			return o, err
		}
		o.cats = b.Cats.Int32s()
	} else if b.Cats != nil {
		return o, fmt.Errorf("nn: batch has discrete channels, the model has none")
	}
	if s.Attrs > 0 {
		if err := checkDense("Attrs", b.Attrs, tensor.Float32, rows, s.W, s.K, s.Attrs); err != nil {
			return o, err
		}
		o.attrs = b.Attrs.Float32s()
	} else if b.Attrs != nil {
		return o, fmt.Errorf("nn: batch has continuous channels, the model has none")
	}
	if targets {
		if err := checkDense("Targets", b.Targets, tensor.Int32, rows); err != nil {
			return o, err
		}
		o.targets = b.Targets.Int32s()
	}
	return o, nil
}

// rows returns B, which the first tensor that the model reads decides.
func (b Batch) rows(s Shape) (int, error) {
	d, name := b.Attrs, "Attrs"
	if len(s.Cats) > 0 {
		d, name = b.Cats, "Cats"
	}
	if d == nil {
		return 0, fmt.Errorf("nn: batch: %s is missing", name)
	}
	if d.Dims() == 0 {
		return 0, fmt.Errorf("nn: batch: %s is a scalar", name)
	}
	return d.Shape()[0], nil
}

// checkDense returns an error unless d is a plain row-major tensor of that
// type and shape.
func checkDense(name string, d *tensor.Dense, t tensor.Dtype, shape ...int) error {
	switch {
	case d == nil:
		return fmt.Errorf("nn: batch: %s is missing", name)
	case d.Dtype() != t:
		return fmt.Errorf("nn: batch: %s is of %v, want %v", name, d.Dtype(), t)
	case !slices.Equal(d.Shape(), shape):
		// The copy keeps shape, and with it every call, off the heap.
		return fmt.Errorf("nn: batch: %s is %v, want %v", name, []int(d.Shape()), slices.Clone(shape))
	case !d.DataOrder().IsRowMajor() || d.RequiresIterator() || !d.IsNativelyAccessible():
		return fmt.Errorf("nn: batch: %s is a view or not row-major, want a contiguous row-major tensor", name)
	case d.DataSize() != product(shape):
		return fmt.Errorf("nn: batch: %s holds %d values, want %d", name, d.DataSize(), product(shape))
	}
	return nil
}

// result returns dst as a slice of (rows, c), or a new tensor when dst is nil.
func result(dst *tensor.Dense, rows, c int) (*tensor.Dense, []float32, error) {
	if dst == nil {
		p := make([]float32, rows*c)
		return tensor.New(tensor.WithShape(rows, c), tensor.WithBacking(p)), p, nil
	}
	if err := checkDense("dst", dst, tensor.Float32, rows, c); err != nil {
		return nil, nil, err
	}
	return dst, dst.Float32s(), nil
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
