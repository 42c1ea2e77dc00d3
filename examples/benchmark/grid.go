package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow/file/store"
)

// cell is one system on one collection; accuracies are in percent.
type cell struct {
	Dataset  string   `json:"dataset"`
	System   string   `json:"system"`
	Nested   *float64 `json:"nested"` // means over the folds; null if there is no result
	Std      *float64 `json:"nested_std"`
	Paper    *float64 `json:"paper_style"`
	PaperStd *float64 `json:"paper_style_std"`
	Seconds  float64  `json:"seconds"`
	CPU      float64  `json:"cpu_seconds"`
	Chosen   string   `json:"chosen"` // most often by nested, and of how many folds
	Figure   *float64 `json:"paper_value"`
	Spread   *float64 `json:"paper_std"`

	Note      string    `json:"paper_note,omitempty"` // why the paper has no figure
	Bounded   string    `json:"bounded,omitempty"`    // searches of machines that were ended by their bound of steps
	Missing   []string  `json:"missing,omitempty"`    // variants that do not exist, and why
	Status    string    `json:"status"`               // "done", or why there is no result
	Folds     []float64 `json:"nested_folds,omitempty"`
	PaperFold []float64 `json:"paper_style_folds,omitempty"`
	// Behind is how far the cell is behind the best of its collection by the
	// protocol of the command line, as the mean over the folds, and its standard
	// error; none if there is none.
	Behind   *float64 `json:"behind,omitempty"`
	BehindSE *float64 `json:"behind_se,omitempty"`

	// Of splits that were given: the score on test, as the mean over the splits of means
	// over runs, its deviation over the splits, of one split over the runs, and the mean on
	// validation of systems that are tested there as they learn.
	Mean      *float64  `json:"mean,omitempty"`
	StdDev    *float64  `json:"std"` // null where there is one split and one run
	Runs      int       `json:"runs,omitempty"`
	MeanValid *float64  `json:"mean_valid,omitempty"`
	BySplit   []float64 `json:"splits,omitempty"` // means over the runs
	ByRun     []float64 `json:"run_means,omitempty"`
}

const done = "done"

// runGrid fills in all cells, collection by collection.
func runGrid(ctx context.Context, c *config, keep results) (*report, error) {
	r := &report{Protocol: c.protocol, Repeats: c.repeats, Seed: c.seed, Inner: c.inner, Score: c.score, Refit: c.refit}
	if err := c.checkData(ctx); err != nil {
		return nil, err
	}
	bar := cli.NewProgress("trials", -1)
	defer bar.Done()
	for _, data := range c.data {
		d, err := c.load(ctx, data)
		if err != nil {
			return nil, err
		}
		if err = c.deal(d); err == nil {
			bar.Total(c.trials())
			r.Folds, r.Given = c.folds, c.onGiven()
			err = c.runRow(ctx, d, r, keep, bar)
		}
		d.Graphs.Release()
		if err != nil {
			return nil, err
		}
	}
	if c.one != nil {
		r.oneReport = c.one.report
	}
	if r.Given {
		return r, nil
	}
	return r, r.compare()
}

// trials is how many all cells have.
func (c *config) trials() (total int64) {
	for _, s := range c.list {
		total += s.trials(c)
	}
	return total * int64(len(c.data))
}

// checkData reads all collections once if there are several, so that one that
// cannot be read is found before the work on those before it, which may take a
// night, and not after it.
func (c *config) checkData(ctx context.Context) error {
	if len(c.data) < 2 {
		return nil
	}
	r := new(report)
	for _, name := range c.data {
		d, err := c.load(ctx, name)
		if err != nil {
			return err
		}
		err = c.checkRow(d, r)
		d.Graphs.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// trials is how many a cell has.
func (s *system) trials(c *config) int64 {
	n := int64(c.folds * s.runs(c) * s.variants)
	if s.fixed || s.heldOut && c.byHeld() || c.strict() && s.seeded {
		return n
	}
	return 2 * n
}

// checkRow adds a collection to the report.
func (c *config) checkRow(d *collection, r *report) error {
	for _, other := range r.Collections {
		if other.Name == d.Name {
			return fmt.Errorf("-data names two collections %s", d.Name)
		}
	}
	r.Collections = append(r.Collections, collectionOf(d))
	if c.onGiven() {
		return nil
	}
	if c.folds > len(d.Class) {
		return fmt.Errorf("%s: %d folds of %d graphs leave some empty; want -folds of at most the number of graphs", d.Name, c.folds, len(d.Class))
	}
	least := len(d.Class) - (len(d.Class)+c.folds-1)/c.folds
	if c.inner { // the largest part of what is left is tested on
		parts := max(2, min(c.folds-1, least))
		least -= (least + parts - 1) / parts
	}
	for _, s := range c.list {
		if least < 2 && !s.fixed {
			return fmt.Errorf("%s: %d folds of %d graphs leave %d to learn from, and %s chooses on a part of those; want 2 or more", d.Name, c.folds, len(d.Class), least, s.name)
		}
	}
	return nil
}

// runRow fills in the cells of one collection.
func (c *config) runRow(ctx context.Context, d *collection, r *report, keep results, bar *cli.Progress) error {
	if err := errors.Join(c.checkRow(d, r), keep.same(d)); err != nil {
		return err
	}
	for _, s := range c.list {
		one, err := keep.finished(c, d, s)
		if err != nil {
			return err
		}
		kept := ""
		if one == nil {
			if one, err = c.runCell(ctx, d, s, keep, bar); err != nil {
				return err
			}
			if err := keep.finish(c, d, s, one); err != nil {
				return err
			}
		} else {
			bar.Add(s.trials(c))
			kept = " (kept in " + c.checkpoint + ")"
		}
		r.Cells = append(r.Cells, one)
		if c.one == nil {
			one.figures(r)
			fmt.Println(one.String() + kept)
		}
	}
	return nil
}

// whole reports whether a cell that is done has all results.
func (one *cell) whole(c *config, s *system) bool {
	if c.onGiven() {
		return one.Mean != nil && len(one.BySplit) == len(c.given) && len(one.ByRun) == s.runs(c)
	}
	folds := c.folds * c.repeats
	return one.Nested != nil && one.Std != nil && one.Paper != nil && one.PaperStd != nil && len(one.Folds) == folds && len(one.PaperFold) == folds
}

// String is the cell in one line.
func (one *cell) String() string {
	if one.Status != done {
		return fmt.Sprintf("%s %s: %s", one.Dataset, one.System, one.Status)
	}
	if one.Mean != nil {
		return fmt.Sprintf("%s %s: %s, %.1f s; %s", one.Dataset, one.System, one.summary(), one.Seconds, one.Chosen)
	}
	text := fmt.Sprintf("%s %s: nested %.2f, paper-style %.2f, %.1f s", one.Dataset, one.System, *one.Nested, *one.Paper, one.Seconds)
	if one.Chosen != "" {
		text += "; " + one.Chosen
	}
	return text
}

// runCell cross-validates a system. What goes wrong in it is its status; an error
// is the end of the context.
func (c *config) runCell(ctx context.Context, d *collection, s *system, keep results, bar *cli.Progress) (*cell, error) {
	one := &cell{Dataset: d.Name, System: s.name}
	start, cpu := time.Now(), cli.CPU()
	p, all, err := c.validate(ctx, d, s, keep, bar)
	one.Seconds, one.CPU = time.Since(start).Seconds(), (cli.CPU() - cpu).Seconds()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && c.one != nil:
		return nil, err
	case err != nil:
		one.Status = "error: " + err.Error()
	default:
		one.Status = done
		one.result(c, p, all)
	}
	return one, nil
}

func (c *config) validate(ctx context.Context, d *collection, s *system, keep results, bar *cli.Progress) (*plan, *validated, error) {
	p, err := s.plan(ctx, c, d)
	if err != nil {
		return nil, nil, err
	}
	if p.release != nil {
		defer p.release()
	}
	workers := c.workers
	if p.atOnce > 0 {
		workers = min(workers, p.atOnce)
	}
	v := crossValidation{
		folds: c.folds, repeats: s.runs(c), seed: c.seed, variants: s.variants, fixed: s.fixed, byLoss: p.byLoss, heldOut: p.heldOut, inner: c.inner, workers: workers,
		given: c.given, refit: c.refit, measure: c.score,
		prepare: p.prepare,
		learn: func(ctx context.Context, t trial) ([]score, error) {
			defer bar.Add(1)
			return p.learn(ctx, t)
		},
	}
	if c.one != nil || c.onGiven() && s.seeded { // trials are long
		v.keepAs, v.keep = trialName(d, s), keep.Store
	}
	all, err := v.run(ctx, d.Class)
	if errors.Is(err, store.ErrDamaged) {
		err = fmt.Errorf("-resume: %w", err)
	}
	if err != nil {
		return nil, nil, err
	}
	bar.Add(s.trials(c) / int64(s.variants) * int64(len(all.missing)))
	if p.finish != nil {
		err = p.finish(ctx, all)
	}
	return p, all, err
}
