package sinks

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
)

// edgeShape reads the shape of columns edges_cat and edges, if there are
// such: Normalize.Edges adds them, and a model that is fed them reads them.
func edgeShape(s *arrow.Schema, shape *nn.Shape) error {
	channels := func(name string) (int, error) {
		dims, err := dimsOf(s, name, 4)
		if err != nil || dims == nil {
			return 0, err
		}
		if dims[0] != shape.W || dims[1] != shape.K || dims[2] != shape.K {
			return 0, fmt.Errorf("column %q has the shape %v in its metadata, want w = %d, k = %d twice, and channels", name, dims, shape.W, shape.K)
		}
		return dims[3], nil
	}
	cats, err := channels(record.EdgesCat)
	if err != nil {
		return err
	}
	if shape.EdgeAttrs, err = channels(record.Edges); err != nil {
		return err
	}
	shape.EdgeCats, err = cardsOf(s, record.EdgesCat, cats)
	return err
}

// edgesOf sets the edges of b.
func edgesOf(b *nn.Batch, rec arrow.Record, rows int, s nn.Shape) (err error) {
	if d := len(s.EdgeCats); d > 0 {
		if b.EdgeCats, err = dense[int32](rec, record.EdgesCat, rows, s.W, s.K, s.K, d); err != nil {
			return err
		}
	}
	if s.EdgeAttrs > 0 {
		b.EdgeAttrs, err = dense[float32](rec, record.Edges, rows, s.W, s.K, s.K, s.EdgeAttrs)
	}
	return err
}
