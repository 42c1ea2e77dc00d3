package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"gonum.org/v1/gonum/stat"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// paperGraphs are those of the paper's figure, allGraphs what can be measured.
var (
	paperGraphs = []string{"torus", "random", "power", "polbooks", "preferential", "astro-ph", "email-Enron"}
	allGraphs   = append(slices.Clip(paperGraphs), "cnr-2000", "rmat")
)

// result is a graph, and its rates.
type result struct {
	Graph string `json:"graph"`
	Nodes int    `json:"nodes"`
	Edges int    `json:"edges"`
	Cells []cell `json:"cells"`
}

// cell is the rate at one k and one bound.
type cell struct {
	K          int     `json:"k"`
	Bound      int     `json:"bound"`
	Fields     int64   `json:"fields"`
	Passes     int     `json:"passes"` // times that all nodes were a root; 0 for a sample
	Seconds    float64 `json:"seconds"`
	FieldsPerS float64 `json:"fields_per_s"`
	SE         float64 `json:"fields_per_s_se,omitempty"`    // standard error of the rate, of two passes and more
	Paper      float64 `json:"paper_fields_per_s,omitempty"` // where the paper tells
}

// paperRate is what the paper reports, and 0 where it tells nothing.
func paperRate(graph string, k int) float64 {
	switch {
	case graph == "email-Enron" && k == 5:
		return 600
	case graph == "email-Enron" && k == 10:
		return 320
	case k == 5 || k == 10:
		return 1000
	case k == 50:
		return 100
	}
	return 0
}

// measure goes through all graphs and sizes.
func (c *config) measure(ctx context.Context) ([]result, error) {
	bar := cli.NewProgress("receptive fields", int64(len(c.graphs)*len(c.k)*len(c.bound)*len(c.n)))
	defer bar.Done()
	var results []result
	for _, name := range c.graphs {
		for i, n := range c.n {
			if i > 0 && !slices.Contains(input.Families, name) {
				break // a real graph has the size that it has
			}
			r, err := c.measureGraph(ctx, name, n, bar)
			if errors.Is(err, fs.ErrNotExist) {
				fmt.Fprintf(os.Stderr, "throughput: %s skipped: it is not in $SANFLOW_DATA/graphs\n", name)
				break
			}
			if err != nil {
				return nil, err
			}
			results = append(results, r)
		}
	}
	return results, nil
}

// measureGraph measures one graph, of n nodes where it is a generated one.
func (c *config) measureGraph(ctx context.Context, name string, n int, bar *cli.Progress) (result, error) {
	g, _, err := input.Load(ctx, name, n, c.seed)
	if err != nil {
		return result{}, err
	}
	r := result{Graph: name, Nodes: g.N(), Edges: g.M()}
	for _, bound := range c.bound {
		for _, k := range c.k {
			cell, err := c.rate(ctx, g, k, bound)
			if err != nil {
				return result{}, err
			}
			if bound == 0 {
				cell.Paper = paperRate(name, k)
			}
			r.Cells = append(r.Cells, cell)
			bar.Add(1)
		}
	}
	return r, nil
}

// rate makes the fields of all nodes, and of small graphs several times over, so
// that a cell is never a measurement of microseconds, until the time is used up.
// Each pass is a run of the pipeline, which indexes the graph and remembers
// nothing of the last pass.
func (c *config) rate(ctx context.Context, g *graph.Graph, k, bound int) (cell, error) {
	roots := make([]int32, g.N())
	for i, v := range generate.NewRand(c.seed).Perm(g.N()) {
		roots[i] = int32(v)
	}
	rec, err := recordOf(g)
	if err != nil {
		return cell{}, err
	}
	defer rec.Release()
	chunk := max(1, min(1024, len(roots), 1<<19/(k*k))) // a chunk costs next to nothing, and has at most two megabytes of edges
	out := cell{K: k, Bound: bound}
	mem := &record.Recycler{}
	least := min(c.seconds, 0.2) // seconds to measure even if all roots are done
	var rates []float64          // of whole passes
	for out.Seconds < least {
		watch := &stopwatch{now: c.now(), limit: time.Duration((c.seconds - out.Seconds) * float64(time.Second))}
		err := fields(rec, roots, k, bound, chunk).To(watch).With(flow.Options{Workers: c.workers, Allocator: mem}).Run(ctx)
		out.Fields += watch.fields
		out.Seconds += watch.took.Seconds()
		if errors.Is(err, errTimeIsUp) {
			if out.Passes == 0 && watch.fields > watch.first {
				out.Fields -= watch.first
				out.Seconds -= watch.ready.Seconds()
			}
			break
		}
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return out, err
		}
		out.Passes++
		if watch.took > 0 { // some clocks of processor time tick slowly
			rates = append(rates, float64(watch.fields)/watch.took.Seconds())
		}
	}
	if n := float64(len(rates)); n > 1 {
		out.SE = stat.StdDev(rates, nil) / math.Sqrt(n)
	}
	out.FieldsPerS = float64(out.Fields) / out.Seconds
	return out, nil
}

// fields is the pipeline that is measured: what a program would write for one
// large graph. The edges of the fields are part of them.
func fields(g arrow.Record, roots []int32, k, bound, chunk int) flow.Pipeline {
	return flow.From(sources.Records{Records: []arrow.Record{g}}).
		Via(operators.Roots{Nodes: roots}).
		Via(operators.Chunk{Size: chunk}).
		Via(operators.Normalize{K: k, Bound: bound, Edges: true})
}

// recordOf puts a graph into a record of one row, which the caller owns.
func recordOf(g *graph.Graph) (arrow.Record, error) {
	b := record.NewBuilder(memory.DefaultAllocator, record.Layout{})
	defer b.Release()
	if err := b.Append(g, record.Row{}); err != nil {
		return nil, err
	}
	return b.Record(), nil
}

// now returns the clock that rates are measured by.
func (c *config) now() func() time.Duration {
	if c.cpu {
		return cli.CPU
	}
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// stopwatch is a sink that counts fields, from when it is opened, before the first
// graph flows, and ends the run when the time since the first of them is up.
type stopwatch struct {
	now    func() time.Duration
	limit  time.Duration
	start  time.Duration
	ready  time.Duration // until the first fields
	took   time.Duration // until the last ones
	first  int64         // fields that were there first
	fields int64
}

var errTimeIsUp = errors.New("the time is up")

func (s *stopwatch) Open(*arrow.Schema) (flow.Writer, error) {
	s.start = s.now()
	return s, nil
}

func (s *stopwatch) Write(_ context.Context, rec arrow.Record) error {
	roots, err := record.ListsOf[int32](rec, record.Roots)
	if err != nil {
		return err
	}
	for row := range roots.Len() {
		for _, v := range roots.Row(row) {
			if v >= 0 {
				s.fields++
			}
		}
	}
	s.took = s.now() - s.start
	if s.first == 0 {
		s.first, s.ready = s.fields, s.took
	}
	// A small graph is ready in no time, and then this is the time in all.
	if s.took-s.ready > s.limit {
		return errTimeIsUp
	}
	return nil
}

func (s *stopwatch) Close(error) error { return nil }
