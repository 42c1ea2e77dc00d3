package nodes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
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

// Fields adds the stages that make one receptive field for each of some nodes of a graph, in order.
// The networks of a Fit read such rows. K and Bound are taken from f.
func (f Fit) Fields(p flow.Pipeline, nodes []int32) flow.Pipeline {
	return f.fields(nodes).Onto(p).With(flow.Options{Workers: f.Workers})
}

// fields is what Fields adds. Without nodes it is for one.
func (f Fit) fields(nodes []int32) operators.Recipe {
	if nodes == nil {
		nodes = []int32{-1}
	}
	return operators.Recipe{
		operators.Roots{Nodes: nodes},
		operators.Chunk{Size: 256},
		operators.Assemble{K: f.K, Bound: f.Bound},
		// Attributes break ties, so that answers do not depend on the numbers of nodes.
		operators.Normalize{By: f.By, Distances: distances},
		operators.PerRoot{},
	}
}

// view is rows that networks may read, one for each node.
type view struct {
	recipe     operators.Recipe // that makes them, with operators.Roots
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
	add := func(v *view, make func(*view) error) error {
		all = append(all, v)
		return make(v)
	}
	if t.Propagate != On {
		start := time.Now()
		fields := &view{recipe: t.recipe(t.K, t.Bound)}
		defer fields.release()
		if err := t.make(ctx, fields, "receptive fields"); err != nil {
			return nil, err
		}
		t.out.Fields, t.out.Took = len(t.set.Class), time.Since(start)
		if t.Known != On {
			_ = add(&view{recipe: fields.recipe}, func(v *view) error { return v.as(fields, retained) })
		}
		if t.Known == On || t.Known == Auto && !t.few() && !t.Portable {
			known := operators.KnownClasses{Class: t.known(), Names: t.set.Classes}
			v := &view{recipe: append(fields.recipe[:len(fields.recipe):len(fields.recipe)], known), known: true}
			err := add(v, func(v *view) error {
				return v.as(fields, func(rec arrow.Record) (arrow.Record, error) {
					return t.inOne(ctx, direct(rec).Via(known), "known classes")
				})
			})
			if err != nil {
				return all, err
			}
		}
	}
	if t.Propagate == On || t.Propagate == Auto && t.Known != On && t.pooled && t.few() && fits && !g.Directed {
		const stage = "propagating features"
		ctx := labeling.WithProgress(ctx, func(done, total int) { t.Progress(stage, done, total) })
		// What is left of a field of a whole neighbourhood after the first layer of a
		// network, which is linear: the features of a node and of those around it, as
		// random walks meet them, at unit length. A row is a field of the root alone.
		propagate := operators.Propagate{Sparse: g.SparseCard > 0, Symmetric: true, Unit: true}
		v := &view{recipe: t.recipe(1, 0, propagate), propagate: true}
		if err := add(v, func(v *view) error { return t.make(ctx, v, stage) }); err != nil {
			return all, err
		}
	}
	return all, nil
}

// recipe makes a receptive field for each of some nodes, of scaled attributes. more
// stands in front of the roots.
func (t *fitting) recipe(k, bound int, more ...flow.Operator) operators.Recipe {
	one := t.Fit
	one.K, one.Bound = k, bound
	r := append(operators.Recipe{operators.Expect{Layout: t.set.Layout()}}, t.scale()...)
	return append(append(r, more...), one.fields(nil)...)
}

// scale gives continuous features mean 0 and deviation 1 over all nodes. It looks at no
// class.
func (t *fitting) scale() operators.Recipe {
	x, c := t.set.Graph.NodeAttr, t.set.Graph.NodeAttrs
	if c == 0 {
		return nil
	}
	s := operators.Standardize{Mean: make([]float32, c), Std: make([]float32, c)}
	for a := range c {
		n, sum, squares := float64(t.set.Graph.N()), 0., 0.
		for i := a; i < len(x); i += c {
			sum += float64(x[i])
		}
		for i := a; i < len(x); i += c {
			d := float64(x[i]) - sum/n
			squares += d * d
		}
		s.Mean[a], s.Std[a] = float32(sum/n), float32(math.Sqrt(squares/n))
	}
	return operators.Recipe{s}
}

// make makes the rows of a view by its recipe. Words of the training rows are masked.
func (t *fitting) make(ctx context.Context, v *view, stage string) (err error) {
	rows := func(nodes []int32, mask bool) (arrow.Record, error) {
		p := flow.From(t.set)
		if mask {
			p = p.Via(t.Mask)
		}
		r := slices.Clone(v.recipe)
		r[slices.IndexFunc(r, func(op flow.Operator) bool { _, ok := op.(operators.Roots); return ok })] = operators.Roots{Nodes: nodes}
		return t.inOne(ctx, r.Onto(p).With(flow.Options{Workers: t.Workers}), stage)
	}
	if v.rows, err = rows(t.all(), false); err != nil {
		return err
	}
	if v.val, err = take(v.rows, t.val); err != nil {
		return err
	}
	if t.Mask.Rate > 0 {
		v.train, err = rows(t.train, true)
	} else {
		v.train, err = take(v.rows, t.train)
	}
	return err
}

// as makes the rows of v of those of another view.
func (v *view) as(of *view, f func(arrow.Record) (arrow.Record, error)) (err error) {
	for _, rec := range [][2]*arrow.Record{{&v.rows, &of.rows}, {&v.train, &of.train}, {&v.val, &of.val}} {
		if *rec[0], err = f(*rec[1]); err != nil {
			return err
		}
	}
	return nil
}

// retained is a record that its new owner releases too.
func retained(rec arrow.Record) (arrow.Record, error) {
	rec.Retain()
	return rec, nil
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

// direct is a pipeline of a record.
func direct(rec arrow.Record) flow.Pipeline {
	return flow.From(sources.Records{Records: []arrow.Record{rec}}).With(flow.Options{Workers: 1})
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
	return direct(rec).Via(operators.Batch{Size: 1024})
}
