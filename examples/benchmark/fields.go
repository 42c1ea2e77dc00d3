package main

import (
	"context"
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

// fields is the receptive fields, or the counts, of all graphs: a record with a row per graph, in the
// order of the collection.
type fields struct {
	record arrow.Record
	degree bool // the degree is the only channel

	recipe  operators.Recipe
	w       int     // fields of a graph
	count   int64   // without zero fields
	seconds float64 // of making them
}

func (f *fields) release() { f.record.Release() }

// making is the settings of fields.
type making struct {
	// count is the words to count in place of fields. The other settings are then unused.
	count []count.Counter

	w, k, stride      int // w 0 = average number of nodes; stride 0 = 1
	selecting, normal labeling.Labeling
	edges             bool
}

// makeFields runs the recipe over the collection.
func makeFields(ctx context.Context, c *config, d *collection, m making) (*fields, error) {
	f := m.fields(d)
	var out sinks.Collect
	defer out.Release()
	what := "receptive fields"
	if len(m.count) > 0 {
		what = "counting words"
	}
	start := time.Now()
	if _, err := cli.Run(ctx, f.recipe.Onto(graphsOf(c, d)).To(&out), what, int64(len(d.Sizes)), cli.Last); err != nil {
		return nil, err
	}
	rows, err := joined(out.Records())
	if err != nil {
		return nil, err
	}
	defer rows.Release()
	if f.seconds = time.Since(start).Seconds(); len(m.count) == 0 {
		for _, n := range d.Sizes {
			f.count += int64(min(f.w, (n+max(m.stride, 1)-1)/max(m.stride, 1)))
		}
	}
	f.record, err = record.Project(record.Without(rows.Schema(), record.GraphColumns()...), rows, nil)
	return f, err
}

// fields returns fields that are not made yet, with their recipe.
func (m making) fields(d *collection) *fields {
	if len(m.count) > 0 {
		return &fields{recipe: operators.Recipe{operators.Count{Of: m.count}}}
	}
	f := &fields{w: m.w, degree: len(d.Layout.NodeCat) == 0 && len(d.Layout.NodeAttr) == 0}
	if f.w == 0 {
		f.w = max(1, int(math.Round(d.Nodes)))
	}
	if f.degree { // as in the paper, for social networks
		f.recipe = append(f.recipe, operators.Channel{By: labeling.NormalizedDegree})
	}
	f.recipe = append(f.recipe,
		operators.Select{W: f.w, By: m.selecting, Stride: m.stride},
		operators.Assemble{K: m.k},
		operators.Normalize{By: m.normal, Edges: m.edges},
	)
	return f
}

// joined returns a record with the rows of all records. The caller owns it.
func joined(records []arrow.Record) (arrow.Record, error) {
	var refs []record.Ref
	for i, rec := range records {
		for row := range int32(rec.NumRows()) {
			refs = append(refs, record.Ref{Record: int32(i), Row: row})
		}
	}
	return record.Take(memory.DefaultAllocator, records, refs)
}
