package sinks

import (
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
)

// Shape returns the shape of records with that schema, as operators.Normalize, PerRoot or Count
// emit them. Classes is 0 if the schema has no column of classes.
func Shape(s *arrow.Schema) (nn.Shape, error) {
	var shape nn.Shape
	if s.HasField(operators.WordIDs) && s.HasField(operators.WordCounts) {
		shape.Counts = []string{"words"}
	}
	// channels returns the channels of a column of tensors (w, k, …), 0 without the column.
	channels := func(name string, numbers int) (int, error) {
		dims, err := dimsOf(s, name, numbers)
		if err != nil || dims == nil {
			return 0, err
		}
		if (shape.W != 0 || numbers == 4) && (dims[0] != shape.W || dims[1] != shape.K) || numbers == 4 && dims[2] != shape.K {
			return 0, fmt.Errorf("column %q has the shape %v in its metadata, want w = %d and k = %d, as the others have", name, dims, shape.W, shape.K)
		}
		shape.W, shape.K = dims[0], dims[1]
		return dims[numbers-1], nil
	}
	cats, err := channels(record.NodesCat, 3)
	if err != nil {
		return shape, err
	}
	if shape.Attrs, err = channels(record.Nodes, 3); err != nil {
		return shape, err
	}
	if s.HasField(record.NodesSparse) {
		c, err := record.SparseChannel(s, record.NodesSparse)
		if err == nil {
			_, err = channels(record.NodesSparse, 2)
		}
		if err != nil {
			return shape, err
		}
		shape.Sparse = c.Card
	}
	if shape.Columns, err = record.ColumnNames(s); err != nil {
		return shape, err
	}
	if cats == 0 && shape.Attrs == 0 && shape.Sparse == 0 && len(shape.Counts)+len(shape.Columns) == 0 {
		return shape, errors.New("there are no node channels: neither column nodes_cat nor nodes nor nodes_sparse, nor columns of numbers; graphs without attributes can be given one by operators.Channel, and a model of counts learns from what an operators.Count adds")
	}
	if shape.Cats, err = cardsOf(s, record.NodesCat, cats); err != nil {
		return shape, err
	}
	if cats, err = channels(record.EdgesCat, 4); err != nil {
		return shape, err
	}
	if shape.EdgeAttrs, err = channels(record.Edges, 4); err != nil {
		return shape, err
	}
	if shape.EdgeCats, err = cardsOf(s, record.EdgesCat, cats); err != nil {
		return shape, err
	}
	var classes []string
	if err := record.Meta(s, record.Target, record.MetaClasses, &classes); err != nil {
		return shape, err
	}
	shape.Classes = len(classes)
	return shape, nil
}

// dimsOf returns the shape of a row in a column of tensors with the given number of dimensions, or nil if
// there is no such column. It checks the type of the column once for all records. Package nn compares the
// shapes of batches with that of a model.
func dimsOf(s *arrow.Schema, name string, numbers int) (dims []int, err error) {
	f, ok, err := record.Field(s, name)
	if err != nil || !ok {
		return nil, err
	}
	if err := record.Meta(s, name, record.MetaShape, &dims); err != nil {
		return nil, err
	}
	if len(dims) != numbers {
		return nil, fmt.Errorf("column %q has the shape %v in its metadata, want %d numbers", name, dims, numbers)
	}
	want := 1
	for _, d := range dims {
		want *= d
	}
	if t, ok := f.Type.(*arrow.FixedSizeListType); ok && int(t.Len()) != want {
		return nil, fmt.Errorf("column %q has %d values a row, want %d for %v", name, t.Len(), want, dims)
	}
	return dims, nil
}

// cardsOf returns the number of values of each discrete channel of a column.
func cardsOf(s *arrow.Schema, name string, channels int) (cards []int, err error) {
	var named []record.Channel
	if err := record.Meta(s, name, record.MetaChannels, &named); err != nil {
		return nil, err
	}
	if len(named) != channels {
		return nil, fmt.Errorf("column %q has %d channels and names %d of them", name, channels, len(named))
	}
	for _, c := range named {
		cards = append(cards, c.Card)
	}
	return cards, nil
}

// batchOf returns the rows of rec as tensors that share its buffers.
func batchOf(rec arrow.Record, s nn.Shape, targets bool) (b nn.Batch, err error) {
	rows := int(rec.NumRows())
	if len(s.Counts) > 0 {
		if b.Counts, err = CountsOf(rec); err != nil {
			return b, err
		}
	}
	if d := len(s.Columns); d > 0 {
		v, _, err := record.FixedValues[float32](rec, record.RowColumns)
		if err != nil {
			return b, err
		}
		b.Columns = make([]float64, len(v))
		for i, x := range v {
			b.Columns[i] = float64(x)
		}
	}
	if d := len(s.Cats); d > 0 {
		if b.Cats, err = dense[int32](rec, record.NodesCat, rows, s.W, s.K, d); err != nil {
			return b, err
		}
	}
	if s.Attrs > 0 {
		if b.Attrs, err = dense[float32](rec, record.Nodes, rows, s.W, s.K, s.Attrs); err != nil {
			return b, err
		}
	}
	if s.Sparse > 0 {
		if err := sparseOf(&b, rec, rows*s.W*s.K); err != nil {
			return b, err
		}
	}
	if d := len(s.EdgeCats); d > 0 {
		if b.EdgeCats, err = dense[int32](rec, record.EdgesCat, rows, s.W, s.K, s.K, d); err != nil {
			return b, err
		}
	}
	if s.EdgeAttrs > 0 {
		if b.EdgeAttrs, err = dense[float32](rec, record.Edges, rows, s.W, s.K, s.K, s.EdgeAttrs); err != nil {
			return b, err
		}
	}
	switch {
	case !targets:
	case s.Classes == 0:
		b.Values, err = targetOf[float32](rec, rows)
	default:
		b.Targets, err = targetOf[int32](rec, rows)
	}
	return b, err
}

func targetOf[T record.Value](rec arrow.Record, rows int) (*tensor.Dense, error) {
	v, err := record.Values[T](rec, record.Target)
	if err != nil {
		return nil, err
	}
	return tensor.New(tensor.WithShape(rows), tensor.WithBacking(v)), nil
}

// sparseOf sets the sparse channel of b, a list for each cell.
func sparseOf(b *nn.Batch, rec arrow.Record, cells int) error {
	lists, err := record.NestedOf[int32](rec, record.NodesSparse)
	if err != nil {
		return err
	}
	ends, values := lists.All()
	if len(ends) != cells+1 {
		return fmt.Errorf("column %q has %d lists, want %d", record.NodesSparse, len(ends)-1, cells)
	}
	if len(values) == 0 {
		values = []int32{0} // a tensor needs a value; no list refers to it
	}
	b.Sparse = tensor.New(tensor.WithShape(len(values)), tensor.WithBacking(values))
	b.SparseOffsets = tensor.New(tensor.WithShape(len(ends)), tensor.WithBacking(ends))
	return nil
}

func dense[T record.Value](rec arrow.Record, name string, shape ...int) (*tensor.Dense, error) {
	v, _, err := record.FixedValues[T](rec, name)
	if err != nil {
		return nil, err
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v)), nil
}

// rowError adds the graph of the row to an nn.RowError.
func rowError(stage string, rec arrow.Record, err error) error {
	var r *nn.RowError
	if !errors.As(err, &r) {
		return err
	}
	ids, _ := record.Values[int64](rec, record.GraphID)
	if r.Row >= len(ids) {
		return err
	}
	return &flow.Error{Stage: stage, Graph: ids[r.Row], Err: r.Err}
}
