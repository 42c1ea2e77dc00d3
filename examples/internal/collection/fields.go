package collection

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// Fields is the receptive fields of all graphs: one record, a row per graph
// in the order of the collection.
type Fields struct {
	W       int
	Record  arrow.Record
	Count   int64 // fields that are not zero fields
	Seconds float64
	Degree  bool // the only channel is the degree
	Recipe  operators.Recipe
	Plan    string
}

// Release gives the memory back.
func (f *Fields) Release() { f.Record.Release() }

// Making says how fields are made.
type Making struct {
	// Count counts these in place of making fields, and the rest means nothing.
	Count []count.Counter

	W, K, Stride      int // W 0 = average number of nodes
	Select, Normalize labeling.Labeling
	Edges             bool
	Workers           int
}

// MakeFields runs select → assemble → normalize over the collection.
func (d *Data) MakeFields(ctx context.Context, c Making) (*Fields, error) {
	f := d.recipe(c)
	var out sinks.Collect
	defer out.Release()
	p := f.Recipe.Onto(flow.From(sources.Records{Records: d.Graphs.Records()})).
		With(flow.Options{Workers: c.Workers})
	f.Plan = p.String()

	what := "receptive fields"
	if len(c.Count) > 0 {
		what = "counting words"
	}
	start := time.Now()
	if _, err := cli.Run(ctx, p.To(&out), what, int64(len(d.Nodes)), cli.Last); err != nil {
		return nil, err
	}
	f.Seconds = time.Since(start).Seconds()

	if len(c.Count) == 0 {
		for _, n := range d.Nodes {
			f.Count += int64(min(f.W, (n+c.Stride-1)/c.Stride))
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
	f.Record, err = record.Project(record.Without(rows.Schema(), record.GraphColumns()...), rows, nil)
	return f, err
}

// recipe says how the fields, or counts, are to be made.
func (d *Data) recipe(c Making) *Fields {
	if len(c.Count) > 0 {
		return &Fields{Recipe: operators.Recipe{operators.Count{Of: c.Count}}}
	}
	f := &Fields{W: c.W}
	if f.W == 0 {
		f.W = max(1, int(math.Round(d.Average)))
	}
	if len(d.Layout.NodeCat) == 0 && len(d.Layout.NodeAttr) == 0 {
		// As the paper does for social networks.
		f.Degree = true
		f.Recipe = append(f.Recipe, operators.Channel{By: labeling.NormalizedDegree})
	}
	f.Recipe = append(f.Recipe,
		operators.Select{W: f.W, By: c.Select, Stride: c.Stride},
		operators.Assemble{K: c.K},
		operators.Normalize{By: c.Normalize, Edges: c.Edges},
	)
	return f
}
