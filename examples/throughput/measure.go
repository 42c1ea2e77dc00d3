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
	"github.com/sanflow/sanflow/sources/generate"
)

// paperGraphs are those of the figure of the paper, allGraphs what can be measured.
var (
	paperGraphs = []string{"torus", "random", "power", "polbooks", "preferential", "astro-ph", "email-Enron"}
	allGraphs   = append(slices.Clip(paperGraphs), "cnr-2000", "rmat")
)

// result is the rates of a graph.
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
	Passes     int     `json:"passes"` // over all nodes; 0 for a sample of the nodes
	Seconds    float64 `json:"seconds"`
	FieldsPerS float64 `json:"fields_per_s"`
	SE         float64 `json:"fields_per_s_se,omitempty"`    // standard error over the passes, of two and more
	Paper      float64 `json:"paper_fields_per_s,omitempty"` // of the paper, if it reports a rate
}

// paperRate is the rate of the paper, 0 if it reports none.
func paperRate(graph string, k int) float64 {
	if rate, ok := map[int]float64{5: 600, 10: 320}[k]; ok && graph == "email-Enron" {
		return rate
	}
	return map[int]float64{5: 1000, 10: 1000, 50: 100}[k]
}

// measure measures all graphs and sizes. A real graph that is not there is left out.
func (c *config) measure(ctx context.Context) (results []result, err error) {
	bar := cli.NewProgress("receptive fields", int64(len(c.graphs)*len(c.k)*len(c.bound)*len(c.n)))
	defer bar.Done()
	for _, name := range c.graphs {
		for i, n := range c.n {
			if i > 0 && !slices.Contains(input.Families, name) {
				break // a real graph has one size
			}
			g, _, err := input.Load(ctx, name, n, c.seed)
			if errors.Is(err, fs.ErrNotExist) {
				fmt.Fprintf(os.Stderr, "left out: %s is not in $SANFLOW_DATA/graphs\n", name)
				break
			}
			if err != nil {
				return nil, err
			}
			r := result{Graph: name, Nodes: g.N(), Edges: g.M()}
			for _, bound := range c.bound {
				for _, k := range c.k {
					cell, err := c.rate(ctx, g, k, bound)
					if err != nil {
						return nil, cli.Cause(ctx, err)
					}
					if bound == 0 {
						cell.Paper = paperRate(name, k)
					}
					r.Cells = append(r.Cells, cell)
					bar.Add(1)
				}
			}
			results = append(results, r)
		}
	}
	return results, nil
}

// rate makes the fields of the nodes in random order, in runs of the pipeline, until all nodes were roots or the
// time is used up. A small graph is measured for at least 0.2 s. The runs keep the index of the graph,
// which the first of them makes and which is not measured.
func (c *config) rate(ctx context.Context, g *graph.Graph, k, bound int) (cell, error) {
	rec, err := recordOf(g)
	if err != nil {
		return cell{}, err
	}
	defer rec.Release()
	roots := make([]int32, g.N())
	for i, v := range generate.NewRand(c.seed).Perm(g.N()) {
		roots[i] = int32(v)
	}
	var index operators.Graphs
	defer index.Close()
	normalize, mem := index.Normalize(operators.Normalize{K: k, Bound: bound, Edges: true}), &record.Recycler{}
	chunk := max(1, min(1024, len(roots), 1<<19/(k*k))) // the edges of a chunk take at most two megabytes
	run := func(roots []int32) (float64, error) {
		start, clock := time.Now(), cli.CPU()
		err := fields(rec, roots, chunk, normalize).With(flow.Options{Workers: c.workers, Allocator: mem}).Run(ctx)
		if c.cpu {
			return (cli.CPU() - clock).Seconds(), err
		}
		return time.Since(start).Seconds(), err
	}
	if _, err := run(roots[:1]); err != nil {
		return cell{}, err
	}
	out, size := cell{K: k, Bound: bound}, chunk
	var rates []float64 // of passes
	for pass, next := 0., 0; out.Passes == 0 && out.Seconds < c.seconds || out.Seconds < min(c.seconds, 0.2); {
		some := roots[next:min(next+size, len(roots))]
		took, err := run(some)
		if err != nil {
			return out, err
		}
		if took < c.seconds/8 {
			size = min(2*size, len(roots)) // the start of a run takes 60 µs
		}
		out.Fields, out.Seconds, pass = out.Fields+int64(len(some)), out.Seconds+took, pass+took
		if next += len(some); next == len(roots) {
			rates = append(rates, float64(len(roots))/max(pass, 1e-9))
			out.Passes, pass, next = out.Passes+1, 0, 0
		}
	}
	if len(rates) > 1 {
		out.SE = stat.StdErr(stat.StdDev(rates, nil), float64(len(rates)))
	}
	out.FieldsPerS = float64(out.Fields) / math.Max(out.Seconds, 1e-9)
	return out, nil
}

// fields is the pipeline that is measured: that of a program for one large graph.
func fields(g arrow.Record, roots []int32, chunk int, normalize flow.Operator) flow.Pipeline {
	return flow.From(flow.Records{Records: []arrow.Record{g}}).
		Via(operators.Roots{Nodes: roots}).Via(operators.Chunk{Size: chunk}).Via(normalize)
}

// recordOf returns a record with one graph. The caller owns it.
func recordOf(g *graph.Graph) (arrow.Record, error) {
	b := record.NewBuilder(memory.DefaultAllocator, record.Layout{})
	defer b.Release()
	if err := b.Append(g, record.Row{}); err != nil {
		return nil, err
	}
	return b.Record(), nil
}
