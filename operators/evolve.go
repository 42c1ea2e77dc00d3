package operators

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/graph/dynamic"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
)

// Evolve is the source of the receptive fields of a changing graph. It reads events and emits
// the fields that they change, in rows as Normalize makes them:
//
//	events: add 0–1, add 1–2 | remove 0–1
//	rows:   {[roots 0, 1, 2]}  {[roots 0, 1, 2]}
//
//	flow.From(operators.Evolve{Events: stream.All(), Normalize: operators.Normalize{K: 10}, Every: 100, Last: 100_000}).
//		To(&sinks.Train{Net: net})
//
// Evolve owns the graph and an index of it. Each event changes both in place. After Every events
// Evolve computes those fields again that the events can have changed, and emits the ones that
// differ: other members, other attributes of members, other edges among them, or another class of
// the root. New nodes have new fields. Roots ascend, Size of them in a row; zero fields fill the
// last row. Positions of rows rise by one from 0. The graph_id of a row is the position of the
// last event before it.
//
// At each such time the fields of all nodes equal those that Normalize makes of the graph as it
// is. Labels of the whole graph (Global) may change with any event for any node: Evolve refuses
// them, and sparse attributes as well.
//
// Roots and members are numbers of nodes. events.Stream.Name gives the ids of the nodes.
//
// An event ends the run with an error that has its position if it breaks the rules of package
// event, names a node from dynamic.MaxNodes on, or has an attribute or a class that Layout lacks.
// Other effects of events, such as the removal of an edge that is absent, are counted in the
// statistics of the source.
type Evolve struct {
	// Normalize has the settings of the fields. K must be set; Bound, Global, KeepGraph and Suffix
	// must not.
	Normalize
	// Events are the events: those of an events.Stream, or any others. They are read once. An
	// iterator that waits must end with the context of the run.
	Events iter.Seq2[event.Event, error]
	// Layout has the direction, the attributes and the classes of the graph. It has no ids of
	// nodes.
	Layout record.Layout
	// Size is w, the number of roots of a row. The default is 256.
	Size int
	// Every is the number of events between two computations. The default is 100. At the end of
	// the stream fields are computed once more.
	Every int
	// Last and Within are those of dynamic.Settings.
	Last   int
	Within int64
}

var _ flow.Source = Evolve{}

// Open checks the settings.
func (v Evolve) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	v.Size, v.Every = cmp.Or(v.Size, 256), cmp.Or(v.Every, 100)
	if v.By == nil {
		v.By = labeling.WL
	}
	l := v.Layout
	switch err := cmp.Or(checkK(v.K), checkDirection(v.Direction), l.Check()); {
	case err != nil:
		return nil, err
	case v.Events == nil:
		return nil, errors.New("Events is nil, want the events of a graph")
	case v.Global:
		return nil, errors.New("Global is set: labels of the whole graph may change with any event; want labels of neighbourhoods")
	case v.Bound != 0:
		return nil, errors.New("Bound is set: an event near a hub changes most bounded fields; want none, or Normalize")
	case v.KeepGraph || v.Suffix != "":
		return nil, errors.New("KeepGraph or Suffix is set: there is no column of the graph, and no other of fields")
	case v.Distances < 0 || v.Distances > 256:
		return nil, fmt.Errorf("Distances is %d, want 0 to 256", v.Distances)
	case v.Size < 1 || v.Size > maxWidth:
		return nil, fmt.Errorf("Size is %d, want the number of roots of a row, 1 to %d", v.Size, maxWidth)
	case v.Every < 1:
		return nil, fmt.Errorf("Every is %d, want a number of events from 1", v.Every)
	case l.NodeSparse.Card > 0:
		return nil, errors.New("Layout has sparse attributes, want none")
	case l.NodeIDs != graph.NoIDs || v.MemberIDs:
		return nil, errors.New("Layout has NodeIDs, or MemberIDs is set: rows have numbers of nodes, and the stream of events has their ids")
	}
	e := &evolver{Evolve: v, norm: normalizer{Normalize: v.Normalize, w: v.Size, layout: l, cache: field.NewCache(cacheBytes)}}
	base := arrow.NewSchema([]arrow.Field{
		{Name: record.GraphID, Type: arrow.PrimitiveTypes.Int64}, {Name: record.Pos, Type: arrow.PrimitiveTypes.Int64},
		record.ListField[int32](record.Roots, []int{v.Size}),
	}, nil)
	var err error
	if e.schema, err = e.norm.schema(base); err != nil {
		return nil, err
	}
	g, err := dynamic.New(dynamic.Settings{
		Directed: l.Directed, NodeCats: len(l.NodeCat), NodeAttrs: len(l.NodeAttr),
		EdgeCats: len(l.EdgeCat), EdgeAttrs: len(l.EdgeAttr),
		Last: v.Last, Within: v.Within,
	})
	if err != nil {
		return nil, err
	}
	e.norm.start(mem)
	e.norm.norm.Context, e.norm.class = ctx, g.Class
	e.ids = addColumn(&e.norm.columns, record.GraphID, record.NewColumn[int64](mem))
	e.positions = addColumn(&e.norm.columns, record.Pos, record.NewColumn[int64](mem))
	e.rootList = addColumn(&e.norm.columns, record.Roots, record.NewLists[int32](mem))
	e.fields = field.NewKept(g, v.Direction, &e.norm.norm)
	e.next, e.stop = iter.Pull2(e.rows(ctx))
	return e, nil
}

// evolver is an open Evolve.
type evolver struct {
	Evolve
	schema *arrow.Schema
	norm   normalizer // writes the columns of the fields
	fields *field.Kept
	next   func() (arrow.Record, error, bool)
	stop   func()

	roots   []int32 // roots of the row under construction
	members []int32 // nodes of the fields of roots, (roots, K)
	last    int64   // position of the last event
	pos     int64   // position of the next row

	ids, positions *record.Column[int64]
	rootList       *record.Lists[int32]

	mu    sync.Mutex
	notes map[string]int64
}

var _ flow.Noter = (*evolver)(nil)

func (v *evolver) Schema() *arrow.Schema { return v.schema }

func (v *evolver) Next(context.Context) (arrow.Record, error) {
	rec, err, ok := v.next()
	if !ok {
		return nil, io.EOF
	}
	return rec, err
}

// rows applies the events and yields a record of one row for each Size changed fields.
func (v *evolver) rows(ctx context.Context) iter.Seq2[arrow.Record, error] {
	return func(yield func(arrow.Record, error) bool) {
		pending := 0 // events since the last computation
		for e, err := range v.Events {
			if err == nil {
				err = cmp.Or(context.Cause(ctx), v.apply(&e))
			}
			if err != nil {
				yield(nil, err)
				return
			}
			v.last = e.Pos
			if pending++; pending == v.Every {
				pending = 0
				if !v.refresh(ctx, yield) {
					return
				}
			}
		}
		if pending > 0 {
			v.refresh(ctx, yield)
		}
	}
}

// apply checks the attributes and the class, whose ranges dynamic.Graph does not know, and
// applies e.
func (v *evolver) apply(e *event.Event) error {
	channels := v.Layout.NodeCat
	if e.OfEdge() {
		channels = v.Layout.EdgeCat
	}
	for i, c := range e.Cat {
		if i < len(channels) && int(c) >= channels[i].Card {
			return fmt.Errorf("event %d: %v: attribute %q is %d, want 0 to %d", e.Pos, e.Kind, channels[i].Name, c, channels[i].Card-1)
		}
	}
	if classes := len(v.Layout.NodeClasses); e.Kind == event.SetClass && int(e.Class) >= classes {
		return fmt.Errorf("event %d: %v: the class of node %d is %d, want -1 to %d", e.Pos, e.Kind, e.Source, e.Class, classes-1)
	}
	return v.fields.Apply(e)
}

// errStopped ends a refresh whose rows nobody takes any more.
var errStopped = errors.New("stopped")

// refresh computes the stale fields and yields their rows. It returns false at the end of the
// iteration.
func (v *evolver) refresh(ctx context.Context, yield func(arrow.Record, error) bool) bool {
	z, k := &v.norm, v.K
	z.ix = v.fields.Index()
	emit := func() error {
		rec, err := v.row()
		if err == nil && !yield(rec, nil) {
			err = errStopped
		}
		return err
	}
	err := v.fields.Refresh(func(root int32, members []int32, dist []uint8) error {
		if len(v.roots)%16 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		i := len(v.roots)
		v.roots, v.members = append(v.roots, root), append(v.members, members...)
		if z.hops != nil {
			copy(z.hops[i*k:(i+1)*k], dist)
		}
		if len(v.roots) == v.Size {
			return emit()
		}
		return nil
	})
	v.count()
	if err == nil && len(v.roots) > 0 {
		err = emit()
	}
	if err != nil && err != errStopped {
		yield(nil, err)
	}
	return err == nil
}

// row returns a record of one row with the fields of v.roots, which it empties.
func (v *evolver) row() (arrow.Record, error) {
	z, k, kk := &v.norm, v.K, v.K*v.K
	z.used = len(v.roots)
	z.hoods.root = v.rootList.Grow(v.Size)
	fill(z.hoods.root, v.roots, -1)
	z.field = z.members.Extend(1)
	fill(z.field, v.members, -1)
	if z.adjacent != nil {
		edges := z.adjacent.Extend(1)
		clear(edges)
		for i := range z.used {
			field.Adjacency(z.entries(i), edges[i*kk:(i+1)*kk])
		}
	}
	if z.twice() {
		for i := range z.used {
			z.finder.EdgesOf(z.ix, z.field[i*k:(i+1)*k], z.entry[i*kk:(i+1)*kk])
		}
	}
	z.append(z.ix.Graph(), 0)
	v.ids.Append(v.last)
	v.positions.Append(v.pos)
	v.pos++
	v.roots, v.members = v.roots[:0], v.members[:0]
	cols := z.Finish()
	empty := array.NewRecord(arrow.NewSchema(nil, nil), nil, 1)
	defer empty.Release()
	return record.Project(v.schema, empty, cols)
}

// count stores the counts that Notes returns.
func (v *evolver) count() {
	g, k := v.fields.Graph().Stats(), v.fields.Stats()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.notes = map[string]int64{
		"fields recomputed": k.Recomputed, "fields changed": k.Changed,
		"edges added": g.Added, "edges repeated": g.Repeated,
		"occurrences removed": g.Removed, "occurrences expired": g.Expired,
		"absent": g.Absent, "self-loops": g.Loops, "late": g.Late,
	}
	maps.DeleteFunc(v.notes, func(_ string, n int64) bool { return n == 0 })
}

// Notes returns the numbers of recomputed fields, of changes and of events without effect, by name.
func (v *evolver) Notes() map[string]int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.notes)
}

func (v *evolver) Close() error {
	v.stop()
	v.norm.Release()
	return nil
}
