package sinks

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/trees"
)

// FitTrees lets trees learn from the rows of train, with counts of operators.Count, numbers of record.RowColumns, or both. The
// records of all rows are in memory. If valid is not nil, its rows choose the number of boosted trees by the loss; an
// AUC of few rows is noise. Rows whose target is not known are left out, and unknown is how
// many.
func FitTrees(ctx context.Context, m *trees.Model, train flow.Pipeline, valid *flow.Pipeline) (unknown int, err error) {
	var now arrow.Record
	rows := func(p *flow.Pipeline) (trees.Rows, func(), error) {
		var all Collect
		if p == nil {
			return nil, all.Release, nil
		}
		if err := p.To(&all).Run(ctx); err != nil {
			return nil, all.Release, err
		}
		for _, rec := range all.Records() {
			shape, err := Shape(rec.Schema())
			if err == nil {
				err = m.Init(shape)
			}
			if err != nil {
				return nil, all.Release, err
			}
		}
		return func(yield func(nn.Batch, error) bool) {
			for _, now = range all.Records() {
				if !yield(batchOf(now, m.Shape(), true)) {
					return
				}
			}
		}, all.Release, nil
	}
	learn, release, err := rows(&train)
	defer release()
	if err != nil {
		return 0, err
	}
	choose, release, err := rows(valid)
	defer release()
	if err != nil {
		return 0, err
	}
	unknown, err = m.Fit(ctx, learn, choose)
	return unknown, rowError("trees", now, err)
}
