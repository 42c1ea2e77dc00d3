package sinks

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/operators"
)

// OpenRows answers about rows that come as records, one row each, with columns that a graph does not have, such as
// record.RowColumns. Any number of goroutines may call its methods.
type OpenRows struct {
	p       *Predictor
	behind  operators.Recipe
	fields  *flow.Direct // open operators of behind, which workers fork
	workers workers
}

// OpenRows opens the last operators of the recipe, those that the records of a schema have not passed.
func (p *Predictor) OpenRows(schema *arrow.Schema, behind operators.Recipe) (*OpenRows, error) {
	fields, err := flow.OpenDirect(schema, flow.Options{}, behind...)
	if err != nil {
		return nil, explained(err)
	}
	o := &OpenRows{p: p, behind: behind, fields: fields}
	o.workers.open = func() (*worker, error) { return p.fork(fields, p.as) }
	o.workers.free = fields.Close
	return o, nil
}

// Predict returns the answer for a row.
func (o *OpenRows) Predict(ctx context.Context, row arrow.Record) (a Answer, err error) {
	err = o.p.work(ctx, &o.workers, func(w *worker) error {
		all, err := w.predict(ctx, o.p, row)
		if err == nil && len(all) != 1 {
			err = errors.New("sinks: predictor: the operators do not make one row of a row")
		}
		if err == nil {
			a = all[0]
		}
		return err
	})
	return a, err
}

// Explain explains the answer for a row with one root, as Predictor.ExplainRoots does. A model that is not nn.Additive is an error.
func (o *OpenRows) Explain(ctx context.Context, row arrow.Record, options ExplainOptions) (e *Explanation, err error) {
	err = o.p.work(ctx, &o.workers, func(w *worker) error {
		e, err = w.explain(ctx, o.p, row, o.behind, true, options)
		if err == nil && e.Method == "" {
			err = fmt.Errorf("a %T has no weights that explain the answer for a row", o.p.net)
		}
		return err
	})
	return options.named(e, err)
}

// Close frees the operators. Running calls finish; later calls are errors.
func (o *OpenRows) Close() error { return o.workers.close() }
