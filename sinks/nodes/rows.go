package nodes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// distances is the number of values of the distance of a node from its root: 0, 1, and
// more.
const distances = 3

// Fields adds the stages that make one receptive field for each of some nodes of a graph, in
// order. The networks of a Fit read such rows. K and Bound are those of f.
func (f Fit) Fields(p flow.Pipeline, nodes []int32) flow.Pipeline {
	return p.Via(operators.Roots{Nodes: nodes}).
		Via(operators.Chunk{Size: 256}).
		Via(operators.Assemble{K: f.K, Bound: f.Bound}).
		// Attributes take no part in the order: that keeps the number of a node,
		// where it is one, out of it, and lets finished fields be remembered.
		Via(operators.Normalize{By: f.By, Distances: distances, IgnoreAttributes: true}).
		Via(operators.PerRoot{}).
		With(flow.Options{Workers: f.Workers})
}

// view is rows that networks may read, one for each node.
type view struct {
	rows       arrow.Record
	train, val arrow.Record // of the nodes of those parts
	known      bool         // fields with known classes
	propagate  bool         // propagated features, not fields
	words      bool         // counts, of the parts alone
}

func (v *view) release() {
	for _, rec := range []arrow.Record{v.rows, v.train, v.val} {
		if rec != nil {
			rec.Release()
		}
	}
}

// mostPropagated is how many values propagated features may have: they are dense, where a
// field has the few features of its nodes.
const mostPropagated = 1 << 24

// views makes the rows to choose from, fields first. The caller releases them, also
// those that come with an error.
func (t *fitting) views(ctx context.Context) (all []*view, err error) {
	add := func(v *view, rows arrow.Record, err error) error {
		if err != nil {
			return err
		}
		v.rows, all = rows, append(all, v)
		if v.train, err = take(rows, t.train); err == nil {
			v.val, err = take(rows, t.val)
		}
		return err
	}
	g := t.set.Graph
	width := g.SparseCard + g.NodeAttrs
	fits := width > 0 && g.N() <= mostPropagated/width
	switch {
	case t.Propagate == On && t.Known == On:
		return nil, errors.New("nodes: Propagate and Known are both on, want one: propagated features are no fields")
	case t.Propagate == On && width == 0:
		return nil, errors.New("nodes: Propagate is on, and the nodes have no features")
	case t.Propagate == On && !fits:
		return nil, fmt.Errorf("nodes: Propagate is on, and %d features of %d nodes are more than %d numbers, which is the most", width, g.N(), mostPropagated)
	}
	if t.Propagate != On {
		fields, err := t.fields(ctx)
		if err != nil {
			return nil, err
		}
		defer fields.Release()
		if t.Known != On {
			fields.Retain()
			if err := add(&view{}, fields, nil); err != nil {
				return all, err
			}
		}
		if t.Known == On || t.Known == Auto && !t.few() {
			rows, err := t.withClasses(ctx, fields)
			if err := add(&view{known: true}, rows, err); err != nil {
				return all, err
			}
		}
	}
	if t.Propagate == On || t.Propagate == Auto && t.Known != On && t.pooled && t.few() && fits {
		rows, err := t.propagate(ctx)
		if err := add(&view{propagate: true}, rows, err); err != nil {
			return all, err
		}
	}
	return all, nil
}

// fields makes the fields of all nodes.
func (t *fitting) fields(ctx context.Context) (arrow.Record, error) {
	start := time.Now()
	rec, err := t.inOne(ctx, t.Fields(flow.From(t.set), t.all()), "receptive fields")
	t.out.Fields, t.out.Took = len(t.set.Class), time.Since(start)
	return rec, err
}

// withClasses is the fields with the classes of training nodes in them.
func (t *fitting) withClasses(ctx context.Context, fields arrow.Record) (arrow.Record, error) {
	p := flow.From(sources.Records{Records: []arrow.Record{fields}}).With(flow.Options{Workers: 1})
	return t.inOne(ctx, p.Via(operators.KnownClasses{Class: t.known(), Names: t.set.Classes}), "known classes")
}

// known is the class of each training node, -1 of the others.
func (t *fitting) known() []int32 {
	class := make([]int32, len(t.set.Class))
	for v := range class {
		class[v] = -1
	}
	for _, v := range t.train {
		class[v] = t.set.Class[v]
	}
	return class
}

// propagate is a row for each node with its features and those of the nodes around it, as
// random walks meet them, at unit length: what is left of a field of a whole
// neighbourhood after the first layer of a network, which is linear. A row is a field
// of the root alone.
func (t *fitting) propagate(ctx context.Context) (arrow.Record, error) {
	const stage = "propagating features"
	ctx = labeling.WithProgress(ctx, func(done, total int) { t.Progress(stage, done, total) })
	one := t.Fit
	one.K, one.Bound = 1, 0
	propagate := operators.Propagate{Sparse: t.set.Graph.SparseCard > 0, Symmetric: true, Unit: true, Workers: t.Workers}
	return t.inOne(ctx, one.Fields(flow.From(t.set).Via(propagate), t.all()), stage)
}

// inOne makes one record of all rows.
func (t *fitting) inOne(ctx context.Context, p flow.Pipeline, stage string) (arrow.Record, error) {
	t.Progress(stage, 0, -1)
	var out sinks.Collect
	defer out.Release()
	if err := p.Via(operators.Batch{Size: len(t.set.Class)}).To(&out).Run(ctx); err != nil {
		return nil, err
	}
	rec := out.Records()[0]
	rec.Retain()
	return rec, nil
}

// take returns the rows of some nodes.
func take(rec arrow.Record, nodes []int32) (arrow.Record, error) {
	refs := make([]record.Ref, len(nodes))
	for i, v := range nodes {
		refs[i].Row = v
	}
	return record.Take(memory.DefaultAllocator, []arrow.Record{rec}, refs)
}

// inMemory is a pipeline of the rows of a record.
func inMemory(rec arrow.Record) flow.Pipeline {
	return flow.From(sources.Records{Records: []arrow.Record{rec}}).
		Via(operators.Batch{Size: 1024}).
		With(flow.Options{Workers: 1})
}
