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
	Learner   *point   `json:"learner,omitempty"`   // the figures of the model as serve -learn lets it learn from each class when it becomes known
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
	said, positive, err := c.learned(ctx, h, rows)
	if err != nil {
		return nil, err
	}
	for i := range c.curve {
		from, to := i*len(rows)/c.curve, (i+1)*len(rows)/c.curve
		part := rows[from:to]
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
		if said != nil {
			a, l := &validation.Answers{Classes: len(h.Set.Classes)}, new(point)
			for j, r := range part {
				a.Class, a.Probs = append(a.Class, h.Set.Class[r]), append(a.Probs, said[from+j].Probs...)
			}
			for _, m := range []struct {
				of validation.Measure
				to **float64
			}{{validation.ROC, &l.AUC}, {validation.Precision, &l.AP}} {
				if x, err := m.of.About(positive).Of(a); err == nil { // else the part has one class
					*m.to = &x
				}
			}
			one.Learner = l
		}
		curve = append(curve, *one)
	}
	return curve, nil
}

// learned returns the answers about rows by the model as serve -learn lets it learn: from each class that becomes known from the first of the rows on,
// before the next row is asked about. It returns nil where the model is one that does not learn, or not all classes are known to later rows.
func (c *asking) learned(ctx context.Context, h *choose.History, rows []int32) (said []sinks.Answer, positive int, err error) {
	if h.Train != nil || h.Future {
		return nil, 0, nil
	}
	p, err := sinks.NewPredictor(c.p.Net(), c.p.Recipe())
	if err != nil {
		return nil, 0, err
	}
	defer p.Close()
	o, err := h.OpenRows(p, c.ofRows())
	if err != nil {
		return nil, 0, err
	}
	defer o.Close()
	l, err := o.Learner(c.learnRate)
	if errors.Is(err, sinks.ErrSteps) {
		return nil, 0, nil
	} else if err != nil {
		return nil, 0, err
	}
	defer l.Close()
	ask := func(r int32) (*choose.Question, error) {
		asked, _, err := o.Ask([]string{h.Set.IDs.Name(r)}, nil)
		if err != nil {
			return nil, err
		}
		return asked[0], nil
	}
	isKnown := func(r, at int32) bool { return h.Set.Time[r]+h.Delay < h.Set.Time[at] }
	known := slices.DeleteFunc(learnable(h.Set), func(r int32) bool { return int(r) >= h.Set.Known() || isKnown(r, rows[0]) })
	for _, r := range rows {
		for len(known) > 0 && isKnown(known[0], r) {
			q, err := ask(known[0])
			if err == nil {
				_, _, err = o.Learn(ctx, l, &choose.Lesson{Question: q, Class: h.Set.Class[known[0]]})
			}
			if err != nil {
				return nil, 0, err
			}
			known = known[1:]
		}
		q, err := ask(r)
		if err != nil {
			return nil, 0, err
		}
		a, err := o.Predict(ctx, q)
		if err != nil {
			return nil, 0, err
		}
		said = append(said, a)
	}
	return said, o.Positive(), nil
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
	fmt.Fprint(w, "\ntime from\tuntil\trows\tAUC\tAP\tof trees that learn anew: AUC\tAP\tthat learns on the way: AUC\tAP\t\n")
	for _, p := range curve {
		fmt.Fprintf(w, "%g\t%g\t%d\t", p.From, p.Until, p.Rows)
		for _, of := range []*point{&p, cmp.Or(p.Retrained, &point{}), cmp.Or(p.Learner, &point{})} {
			fmt.Fprintf(w, "%s\t%s\t", scoreText(validation.ROC, of.AUC), scoreText(validation.Precision, of.AP))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
