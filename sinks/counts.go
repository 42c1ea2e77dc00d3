package sinks

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
)

// CountsOf returns the counts of operators.Count, one row for each row of rec.
func CountsOf(rec arrow.Record) (*nn.Counts, error) {
	ids, err := record.ListsOf[uint64](rec, operators.WordIDs)
	if err != nil {
		return nil, err
	}
	counts, err := record.ListsOf[float32](rec, operators.WordCounts)
	if err != nil {
		return nil, err
	}
	rows, values := int(rec.NumRows()), 0
	for i := range rows {
		n := len(ids.Row(i))
		if other := len(counts.Row(i)); other != n {
			return nil, fmt.Errorf("row %d has %d ids and %d counts", i, n, other)
		}
		values += n
	}
	c := &nn.Counts{Offsets: make([]int, 1, rows+1), IDs: make([]uint64, 0, values), Values: make([]float64, 0, values)}
	for i := range rows {
		c.IDs = append(c.IDs, ids.Row(i)...)
		for _, x := range counts.Row(i) {
			c.Values = append(c.Values, float64(x))
		}
		c.Offsets = append(c.Offsets, len(c.IDs))
	}
	return c, nil
}
