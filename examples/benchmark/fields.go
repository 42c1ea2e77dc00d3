package main

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
)

// fields is the receptive fields of all graphs: one record, a row per graph
// in the order of the collection.
type fields struct {
	w       int
	record  arrow.Record
	count   int64 // fields that are not zero fields
	seconds float64
	degree  bool // the only channel is the degree
	recipe  operators.Recipe
}

func (f *fields) release() { f.record.Release() }

// making says how fields are made.
type making struct {
	// count counts these in place of making fields, and the rest means nothing.
	count []count.Counter

	w, k, stride      int // w 0 = average number of nodes
	selecting, normal labeling.Labeling
	edges             bool
}

// makeFields runs select → assemble → normalize over the collection.
func makeFields(ctx context.Context, c *config, d *collection, m making) (*fields, error) {
	f := m.recipe(d)
	var out sinks.Collect
	defer out.Release()
	what := "receptive fields"
	if len(m.count) > 0 {
		what = "counting words"
	}
	start := time.Now()
	if _, err := cli.Run(ctx, f.recipe.Onto(graphsOf(c, d)).To(&out), what, int64(len(d.Nodes)), cli.Last); err != nil {
		return nil, err
	}
	f.seconds = time.Since(start).Seconds()

	if len(m.count) == 0 {
		for _, n := range d.Nodes {
			f.count += int64(min(f.w, (n+m.stride-1)/m.stride))
		}
	}
	var refs []record.Ref
	for i, rec := range out.Records() {
		for row := range int32(rec.NumRows()) {
			refs = append(refs, record.Ref{Record: int32(i), Row: row})
		}
	}
	if len(refs) != len(d.Nodes) {
		return nil, errors.New("fields are missing") // cannot happen: nothing is skipped
	}
	rows, err := record.Take(memory.DefaultAllocator, out.Records(), refs)
	if err != nil {
		return nil, err
	}
	defer rows.Release()
	f.record, err = record.Project(record.Without(rows.Schema(), record.GraphColumns()...), rows, nil)
	return f, err
}

// recipe says how the fields, or counts, are to be made.
func (c making) recipe(d *collection) *fields {
	if len(c.count) > 0 {
		return &fields{recipe: operators.Recipe{operators.Count{Of: c.count}}}
	}
	f := &fields{w: c.w}
	if f.w == 0 {
		f.w = max(1, int(math.Round(d.Average)))
	}
	if len(d.Layout.NodeCat) == 0 && len(d.Layout.NodeAttr) == 0 {
		// As the paper does for social networks.
		f.degree = true
		f.recipe = append(f.recipe, operators.Channel{By: labeling.NormalizedDegree})
	}
	f.recipe = append(f.recipe,
		operators.Select{W: f.w, By: c.selecting, Stride: c.stride},
		operators.Assemble{K: c.k},
		operators.Normalize{By: c.normal, Edges: c.edges},
	)
	return f
}
