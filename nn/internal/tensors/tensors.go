// Package tensors checks the tensors that enter and leave a model.
package tensors

import (
	"fmt"
	"slices"

	"gorgonia.org/tensor"
)

// Check returns an error unless d is a contiguous row-major tensor of that type and shape.
func Check(name string, d *tensor.Dense, t tensor.Dtype, shape ...int) error {
	switch {
	case d == nil:
		return fmt.Errorf("nn: batch: %s is missing", name)
	case d.Dtype() != t:
		return fmt.Errorf("nn: batch: %s is of %v, want %v", name, d.Dtype(), t)
	case !slices.Equal(d.Shape(), shape):
		// The clone keeps shape off the heap in every other call.
		return fmt.Errorf("nn: batch: %s is %v, want %v", name, []int(d.Shape()), slices.Clone(shape))
	case !d.DataOrder().IsRowMajor() || d.RequiresIterator() || !d.IsNativelyAccessible():
		return fmt.Errorf("nn: batch: %s is a view or not row-major, want a contiguous row-major tensor", name)
	case d.DataSize() != Size(shape):
		return fmt.Errorf("nn: batch: %s holds %d values, want %d", name, d.DataSize(), Size(shape))
	}
	return nil
}

// Result returns dst as a slice of (rows, c), or a new tensor when dst is nil.
func Result(dst *tensor.Dense, rows, c int) (*tensor.Dense, []float32, error) {
	if dst == nil {
		p := make([]float32, rows*c)
		return tensor.New(tensor.WithShape(rows, c), tensor.WithBacking(p)), p, nil
	}
	if err := Check("dst", dst, tensor.Float32, rows, c); err != nil {
		return nil, nil, err
	}
	return dst, dst.Float32s(), nil
}

// Size returns the number of values of a shape.
func Size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
