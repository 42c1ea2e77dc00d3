package main

import (
	"context"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph/dynamic"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/drift"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/sinks/prequential"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/events"
	"github.com/sanflow/sanflow/sources/parquet"
)

// events opens the stream. The attributes of an event are valid until the next one.
func (c *config) events(ctx context.Context, r *report) (seq iter.Seq2[event.Event, error], end func(), err error) {
	if c.edges == "generated" {
		return events.Generated(c.generated, c.seed), func() {}, nil
	}
	src := events.Source{Columns: c.columns, Table: table(ctx, c.edges)}
	if c.order == "sort" {
		src.Order = events.Sort
	}
	s, err := src.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	return s.All(), func() {
		for _, note := range s.Notes() {
			fmt.Fprintln(os.Stderr, strings.Replace(note, "-spaces one", "-columns spaces=one", 1))
		}
		r.cut = s.Stats().Cut
		s.Close()
	}, nil
}

// table is the table of a file, or of standard input.
func table(ctx context.Context, name string) sources.Table {
	const endless = 1 << 62
	if name == "-" {
		return sources.Text{Path: "standard input", Reader: input.Stdin(ctx), MaxBytes: endless}
	}
	path := sources.Place(name, "temporal")
	if sources.Ending(path) == ".parquet" {
		return parquet.Table{Path: path}
	}
	return sources.Text{Path: path}
}

func (c *config) work(ctx context.Context, r *report) (err error) {
	seq, end, err := c.events(ctx, r)
	if err != nil {
		return err
	}
	defer end()
	bar, seen := cli.NewProgress("events", -1), new(shown)
	defer bar.Done()
	counted := func(yield func(event.Event, error) bool) {
		for e, err := range seq {
			if err == nil {
				err = ctx.Err()
			}
			if err == nil {
				r.Events++
				seen.Add(1)
				bar.Add(1)
			}
			if !yield(e, err) {
				return
			}
		}
	}
	r.begin()
	ended := flow.Announce(ctx, seen)
	defer func() { ended(err) }()
	if c.task == "fields" {
		err = c.fields(counted, r)
	} else {
		err = c.links(ctx, counted, r)
	}
	return cli.Cause(ctx, err)
}

// shown is the number of events, for the page of -live.
type shown struct{ atomic.Int64 }

// Stats implements flow.Observed.
func (s *shown) Stats() flow.Stats {
	n := s.Load()
	return flow.Stats{Done: -1, Read: -1, Stages: []flow.StageStats{{Stage: "events", RecordsOut: n, RowsOut: n}}}
}

// Report implements flow.Observed.
func (*shown) Report() []any { return nil }

func (c *config) links(ctx context.Context, seq iter.Seq2[event.Event, error], r *report) error {
	l := &prequential.Links{
		Net: &nn.Ranker{Seed: c.seed}, Every: c.every, Candidates: c.candidates, Seed: c.seed,
		History: &prequential.History{Last: c.last, Within: c.within},
		Learned: func(n int) error { r.took(n); return nil },
		Drift:   &drift.ADWIN{Rise: true},
		Each:    r.answer,
	}
	var report *prequential.Report
	var err error
	if c.protocol == "prequential" {
		report, err = l.Run(ctx, seq)
	} else {
		var list []event.Event
		edges := 0
		for e, err := range seq {
			if err != nil {
				return err
			}
			if e.Kind == event.AddEdge {
				edges++
			}
			e.Cat, e.Attr = slices.Clone(e.Cat), slices.Clone(e.Attr)
			list = append(list, e)
		}
		if c.protocol == "" && edges < 10 {
			report, err = l.Run(ctx, func(yield func(event.Event, error) bool) {
				for _, e := range list {
					if !yield(e, nil) {
						return
					}
				}
			})
		} else {
			report, err = l.Benchmark(ctx, list)
		}
	}
	if err == nil {
		r.links(report, l.Net)
	}
	return err
}

// fields keeps the fields of all nodes up to date.
func (c *config) fields(seq iter.Seq2[event.Event, error], r *report) error {
	set := dynamic.Settings{Last: c.last, Within: c.within, EdgeAttrs: len(c.columns.Attributes)}
	g, err := dynamic.New(set)
	if err != nil {
		return err
	}
	f := field.NewKept(g, field.Both, &field.Normalizer{K: c.k})
	r.CurveOf, r.curve.Unit = "fields computed again", c.every
	waiting := 0
	refresh := func() error {
		was := f.Stats().Recomputed
		if err := f.Refresh(func(int32, []int32, []uint8) error { return nil }); err != nil {
			return err
		}
		r.recomputed(f.Stats().Recomputed - was)
		n := waiting
		waiting = 0
		r.took(n)
		return nil
	}
	for e, err := range seq {
		if err != nil {
			return err
		}
		if err := f.Apply(&e); err != nil {
			return fmt.Errorf("temporal: %w", err)
		}
		if waiting++; waiting == c.every {
			if err := refresh(); err != nil {
				return err
			}
		}
	}
	if waiting > 0 {
		if err := refresh(); err != nil {
			return err
		}
	}
	stats := f.Stats()
	r.FieldsRecomputed, r.FieldsChanged = stats.Recomputed, stats.Changed
	return nil
}
