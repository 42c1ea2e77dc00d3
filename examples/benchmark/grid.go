package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow/file/store"
)

// cell is the result of a system on a collection. Accuracies are in percent.
type cell struct {
	Dataset  string   `json:"dataset"`
	System   string   `json:"system"`
	Nested   *float64 `json:"nested"` // means over the folds; null without a result
	Std      *float64 `json:"nested_std"`
	Paper    *float64 `json:"paper_style"`
	PaperStd *float64 `json:"paper_style_std"`
	Seconds  float64  `json:"seconds"`
	CPU      float64  `json:"cpu_seconds"`
	Chosen   string   `json:"chosen"` // the most frequent choice of nested, and in how many folds
	Figure   *float64 `json:"paper_value"`
	Spread   *float64 `json:"paper_std"`

	Note      string    `json:"paper_note,omitempty"` // why the paper has no figure
	Bounded   string    `json:"bounded,omitempty"`    // searches of a support vector machine that ended at the bound of steps
	Missing   []string  `json:"missing,omitempty"`    // variants that do not exist, and why
	Status    string    `json:"status"`               // "done", or why there is no result
	Folds     []float64 `json:"nested_folds,omitempty"`
	PaperFold []float64 `json:"paper_style_folds,omitempty"`
	// Behind is the mean over the folds of the difference to the best system of the collection, by the
	// protocol of -protocol, and BehindSE its standard error.
	Behind   *float64 `json:"behind,omitempty"`
	BehindSE *float64 `json:"behind_se,omitempty"`

	// Figures of given splits. Mean is the score on test, a mean over the splits of means over the runs.
	// StdDev is its deviation over the splits, of a single split over the runs. MeanValid is the mean on
	// validation, of systems that measure it.
	Mean      *float64  `json:"mean,omitempty"`
	StdDev    *float64  `json:"std"` // null with one split and one run
	Runs      int       `json:"runs,omitempty"`
	MeanValid *float64  `json:"mean_valid,omitempty"`
	BySplit   []float64 `json:"splits,omitempty"` // means over the runs
	ByRun     []float64 `json:"run_means,omitempty"`
}

const done = "done"

// runGrid runs all cells, collection by collection.
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
		d.Release()
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

// trials is the number of trials of all cells.
func (c *config) trials() (total int64) {
	for _, s := range c.list {
		total += s.trials(c)
	}
	return total * int64(len(c.data))
}

// checkData reads several collections once before the work. A collection that cannot be read is then an
// error at the start, and not after hours of work on the others.
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
		d.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// trials is the number of trials of a cell.
func (s *system) trials(c *config) int64 {
	n := int64(c.folds * s.runs(c) * s.variants)
	if s.fixed || c.heldOut(s) {
		return n
	}
	return 2 * n
}

// checkRow adds a collection to the report, and refuses folds that it is too small for.
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
	if c.inner { // the largest part of the training rows is tested on
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

// runRow runs the cells of a collection.
func (c *config) runRow(ctx context.Context, d *collection, r *report, keep results, bar *cli.Progress) error {
	if err := errors.Join(c.checkRow(d, r), keep.same(ctx, d)); err != nil {
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
			if c.one == nil { // a report and a model are made of all trials
				err = keep.finish(d, s, one)
			}
			if err != nil {
				return err
			}
		} else {
			bar.Add(s.trials(c))
			kept = " (kept in " + c.checkpoint + ")"
		}
		r.Cells = append(r.Cells, one)
		one.figures(r)
		fmt.Println(one.String() + kept)
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

// runCell cross-validates a system. An error of the system is the status of the cell; the returned error
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
		one.result(c, s, p, all)
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
		folds: c.folds, repeats: s.runs(c), seed: c.seed, variants: s.variants, fixed: s.fixed, byLoss: s.byLoss && c.score == "", heldOut: c.heldOut(s), inner: c.inner, workers: workers,
		given: c.given, refit: c.refit, measure: c.score,
		prepare: p.prepare,
		learn: func(ctx context.Context, t trial) ([]score, error) {
			defer bar.Add(1)
			return p.learn(ctx, t)
		},
	}
	if s.seeded { // a trial takes long
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
