package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
)

// point is the figures of the rows of an interval of time.
type point struct {
	From      float64  `json:"from"` // the time of the first row
	Until     float64  `json:"until"`
	Rows      int      `json:"rows"`
	AUC       *float64 `json:"auc"`
	AP        *float64 `json:"ap"`
	Retrained *point   `json:"retrained,omitempty"` // of trees that learned from the rows whose class was known at From
}

// measureCurve measures the answers in parts of equal sizes, in the order of time.
func (c *asking) measureCurve(ctx context.Context) (curve []point, err error) {
	h := c.past
	rows := slices.DeleteFunc(slices.Sorted(slices.Values(c.tests)), func(r int32) bool { return h.Set.Class[r] < 0 || int(r) >= h.Set.Known() })
	if len(rows) < c.curve {
		return nil, fmt.Errorf("-curve %d: %d rows to test on have a class and a time, want as many", c.curve, len(rows))
	}
	measure := func(p *sinks.Predictor, h *choose.History, rows []int32) (*point, error) {
		m, err := choose.Test(ctx, p, nil, h.Set.IDs, h.Rows(rows), c.positive, c.workers)
		if err != nil {
			return nil, err
		}
		q := qualityOf(m)
		return &point{From: h.Set.Time[rows[0]], Until: h.Set.Time[rows[len(rows)-1]], Rows: len(rows), AUC: q.AUC, AP: q.AP}, nil
	}
	for i := range c.curve {
		part := rows[i*len(rows)/c.curve : (i+1)*len(rows)/c.curve]
		one, err := measure(c.p, h, part)
		if err != nil {
			return nil, err
		}
		p, of, err := c.retrain(ctx, h, part[0])
		if err == nil && p != nil {
			one.Retrained, err = measure(p, of, part)
			err = errors.Join(err, p.Close())
		}
		if err != nil {
			return nil, err
		}
		curve = append(curve, *one)
	}
	return curve, nil
}

// retrain trains trees on the rows whose class is known at a row: on four fifths, the rest chooses. It
// returns nil where one of the two has a single class.
func (c *asking) retrain(ctx context.Context, h *choose.History, at int32) (*sinks.Predictor, *choose.History, error) {
	known := slices.DeleteFunc(learnable(h.Set), func(r int32) bool {
		return r >= at || h.Delay > 0 && !(h.Set.Time[r]+h.Delay < h.Set.Time[at])
	})
	train, valid := known[:len(known)*4/5], known[len(known)*4/5:]
	for _, part := range [][]int32{train, valid} {
		if !slices.ContainsFunc(part, func(r int32) bool { return h.Set.Class[r] != h.Set.Class[part[0]] }) {
			return nil, nil, nil
		}
	}
	of := &choose.History{Set: h.Set, Class: h.Class, Windows: h.Windows, Delay: h.Delay, Future: h.Future}
	if h.Train != nil {
		of.Train = known
	}
	systems, err := of.Systems()
	if err != nil {
		return nil, nil, err
	}
	made, err := choose.Choice{
		Systems: systems[:1], Classes: h.Set.Classes, Measure: validation.Precision, Positive: c.positive,
		Train: of.Rows(train), Valid: of.Rows(valid), Seed: 1, Workers: c.workers,
	}.Run(ctx)
	if err != nil {
		return nil, nil, err
	}
	p, err := sinks.NewPredictor(made.Net, made.Recipe)
	return p, of, err
}

// printCurve writes a table with a line for each part.
func printCurve(out io.Writer, curve []point) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\ntime from\tuntil\trows\tAUC\tAP\tof trees that learn anew: AUC\tAP\t\n")
	for _, p := range curve {
		again := cmp.Or(p.Retrained, &point{})
		fmt.Fprintf(w, "%g\t%g\t%d\t%s\t%s\t%s\t%s\t\n", p.From, p.Until, p.Rows, scoreText(validation.ROC, p.AUC), scoreText(validation.Precision, p.AP), scoreText(validation.ROC, again.AUC), scoreText(validation.Precision, again.AP))
	}
	return w.Flush()
}
