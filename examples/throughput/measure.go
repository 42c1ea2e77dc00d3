package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/fieldjob"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// allGraphs are those of the paper's figure.
var allGraphs = []string{"torus", "random", "power", "polbooks", "preferential", "astro-ph", "email-Enron"}

// result is a graph, and its rates.
type result struct {
	Graph string `json:"graph"`
	Nodes int    `json:"nodes"`
	Edges int    `json:"edges"`
	Cells []cell `json:"cells"`
}

// cell is the rate at one k.
type cell struct {
	K          int     `json:"k"`
	Fields     int64   `json:"fields"`
	Passes     int     `json:"passes"` // times that all nodes were a root; 0 for a sample
	Seconds    float64 `json:"seconds"`
	FieldsPerS float64 `json:"fields_per_s"`
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
	bar := cli.NewProgress("receptive fields", int64(len(c.graphs)*len(c.k)))
	defer bar.Done()
	var results []result
	for _, name := range c.graphs {
		var g *graph.Graph
		err := cli.Await(ctx, func() (err error) {
			g, err = c.load(ctx, name)
			return err
		})
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(os.Stderr, "throughput: %s skipped: %v\n", name, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		r := result{Graph: name, Nodes: g.N(), Edges: g.M()}
		for _, k := range c.k {
			cell, err := c.rate(ctx, g, k)
			if err != nil {
				return nil, err
			}
			cell.Paper = paperRate(name, k)
			r.Cells = append(r.Cells, cell)
			bar.Add(1)
		}
		results = append(results, r)
	}
	return results, nil
}

func (c *config) load(ctx context.Context, name string) (*graph.Graph, error) {
	if g, ok, err := fieldjob.Generate(name, c.n, c.seed); ok {
		return g, err
	}
	dir := os.Getenv("SANFLOW_DATA")
	if dir == "" {
		dir = filepath.Join("..", "shared", "data")
	}
	net, err := sources.EdgeList{Path: filepath.Join(dir, "graphs", name+".edges.gz")}.Read(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	return net.Graph, nil
}

// rate makes fields for some time: in growing portions until the time is used
// up, and of small graphs several times over, so that a cell is never a
// measurement of microseconds. The index is made once, within that time.
func (c *config) rate(ctx context.Context, g *graph.Graph, k int) (cell, error) {
	roots := make([]int32, g.N())
	for i, v := range generate.NewRand(c.seed).Perm(g.N()) {
		roots[i] = int32(v)
	}
	run := &fieldjob.Runner{K: k, Workers: c.workers}
	job := &fieldjob.Job{Graph: g}
	out := cell{K: k}
	least := min(c.seconds, 0.2) // seconds to measure even if all roots are done
	for at, portion := 0, 32*c.workers; run.Seconds < c.seconds; {
		job.Roots = roots[at:min(at+portion, len(roots))]
		before := run.Seconds
		if err := run.Run(ctx, []*fieldjob.Job{job}); err != nil {
			return out, err
		}
		if at += len(job.Roots); at == len(roots) {
			at = 0
			run.Forget() // each pass pays for its own fields
			if out.Passes++; run.Seconds >= least {
				break
			}
		}
		// The next portion is twice this one, if there is time for it.
		took := run.Seconds - before
		portion = min(2*portion, len(roots))
		if left := c.seconds - run.Seconds; left < 2*took {
			portion = max(1, int(float64(len(job.Roots))*left/took))
		}
	}
	out.Fields, out.Seconds = run.Stats.Fields, run.Seconds
	out.FieldsPerS = float64(out.Fields) / out.Seconds
	return out, nil
}
