package sinks

import (
	"context"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/trees"
)

// FitTrees lets trees learn from the rows of train, with counts of operators.Count, numbers of record.RowColumns, or both, all of
// which are in memory. If valid is not nil, its rows choose the number of trees. Rows of unknown classes are left out.
func FitTrees(ctx context.Context, m *trees.Model, train flow.Pipeline, valid *flow.Pipeline) error {
	rows := trees.Rows{Counts: &nn.Counts{}}
	n := 0
	add := func(p flow.Pipeline) error {
		var all Collect
		defer all.Release()
		if err := p.To(&all).Run(ctx); err != nil {
			return err
		}
		for _, rec := range all.Records() {
			shape, err := Shape(rec.Schema())
			if err != nil {
				return err
			}
			if err := m.Init(shape); err != nil {
				return err
			}
			b, err := batchOf(rec, m.Shape(), true)
			if err != nil {
				return err
			}
			for i := range int(rec.NumRows()) {
				switch {
				case shape.Classes == 0:
					rows.Values = append(rows.Values, float64(b.Values.Float32s()[i]))
				case b.Targets.Int32s()[i] < 0:
					continue
				default:
					rows.Class = append(rows.Class, b.Targets.Int32s()[i])
				}
				if b.Counts != nil {
					rows.Counts.Append(b.Counts.Row(i))
				}
				d := len(shape.Columns)
				rows.Columns = append(rows.Columns, b.Columns[i*d:(i+1)*d]...)
				n++
			}
		}
		return nil
	}
	if err := add(train); err != nil {
		return err
	}
	learned := n
	if valid != nil {
		if err := add(*valid); err != nil {
			return err
		}
	}
	return m.Fit(ctx, rows, learned)
}
