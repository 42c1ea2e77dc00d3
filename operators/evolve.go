package operators

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/graph/dynamic"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
)

// Evolve turns events of a graph into the receptive fields that they change. It reads
// records of events (record.EventSchema) and emits rows as Normalize does:
//
//	in:  {[add 0–1] [add 1–2]} {[remove 0–1]}
//	out: {[roots 0, 1, 2]} {[roots 0, 1, 2]}
//
//	flow.From(events).
//		Via(operators.Evolve{Normalize: operators.Normalize{K: 10}, Every: 100, Last: 100_000}).
//		To(&sinks.Train{Net: net})
//
// It owns the graph and an index of it, which each event changes where it has to; neither
// is ever made anew. After Every events it computes those fields again that the events
// can have changed, and emits those that they have: other members, other attributes of
// members, other edges among them, or another class of the root. New nodes have new
// fields. Roots ascend, Size of them in a row; zero fields fill the last row. All
// rows have graph_id 0 and the position of the last of the events, and the events are
// complete when the rows are.
//
// The fields of all nodes are, at each such time, those that Normalize makes of the graph
// as it is. Labels of the whole
// graph (Global) may change with any event for any node: Evolve refuses them, and sparse
// attributes as well.
//
// Where nodes have ids, which the events bring along (record.EventIDs), rows have those of the
// roots in root_ids, as those of Normalize, and with MemberIDs those of the members in
// member_ids. A node that no event has named yet has the id 0, or the empty string; when one
// does, the field of the node is emitted again, but not those that it is a member of. An
// event with another id for a node is refused as a row.
//
// An event that breaks the rules of package event, names a node from dynamic.MaxNodes on, or has an
// attribute or a class that the layout lacks, is refused as a row. What events do otherwise,
// such as the removal of an edge that is absent, is in the statistics of the stage.
type Evolve struct {
	// Normalize says how fields are made. K must be set; Global, KeepGraph and Suffix must
	// not. With a Bound each computation makes the fields of all nodes.
	Normalize
	// Size is w, the number of roots of a row. The default is 256.
	Size int
	// Every is how many events come between two computations. The default is 100. At the
	// end of the stream fields are computed once more.
	Every int
	// Last, Within and Sum are those of dynamic.Settings.
	Last   int
	Within int64
	Sum    bool
}

var _ flow.Operator = Evolve{}

// Open checks the settings.
func (v Evolve) Open(in *arrow.Schema) (flow.Stage, error) {
	layout, err := record.EventLayout(in)
	if err != nil {
		return nil, err
	}
	v.Size, v.Every = cmp.Or(v.Size, 256), cmp.Or(v.Every, 100)
	if v.By == nil {
		v.By = labeling.WL
	}
	z := v.Normalize
	switch err := cmp.Or(checkK(v.K), checkDirection(v.Direction), checkBound(v.Bound, v.K)); {
	case err != nil:
		return nil, err
	case v.Global:
		return nil, errors.New("Global is set: labels of the whole graph may change with any event; want labels of neighbourhoods")
	case v.KeepGraph || v.Suffix != "":
		return nil, errors.New("KeepGraph or Suffix is set: there is no column of the graph, and no other of fields")
	case v.Distances < 0 || v.Distances > 256:
		return nil, fmt.Errorf("Distances is %d, want 0 to 256", v.Distances)
	case v.Size < 1 || v.Size > maxWidth:
		return nil, fmt.Errorf("Size is %d, want the number of roots of a row, 1 to %d", v.Size, maxWidth)
	case v.Every < 1:
		return nil, fmt.Errorf("Every is %d, want a number of events from 1", v.Every)
	case layout.NodeSparse.Card > 0:
		return nil, errors.New("the events have a layout with sparse attributes: want none")
	}
	e := &evolver{names: &names{kind: layout.NodeIDs}, Evolve: v, layout: layout, norm: normalizer{Normalize: z, w: v.Size, layout: layout, cache: field.NewCache(cacheBytes)}}
	base := arrow.NewSchema([]arrow.Field{
		{Name: record.GraphID, Type: arrow.PrimitiveTypes.Int64}, {Name: record.Pos, Type: arrow.PrimitiveTypes.Int64},
		record.ListField[int32](record.Roots, []int{v.Size}),
	}, nil)
	if e.schema, err = e.norm.schema(base); err != nil {
		return nil, err
	}
	e.norm.order()
	settings := dynamic.Settings{
		Directed: layout.Directed, NodeCats: len(layout.NodeCat), NodeAttrs: len(layout.NodeAttr),
		EdgeCats: len(layout.EdgeCat), EdgeAttrs: len(layout.EdgeAttr),
		Last: v.Last, Within: v.Within, Sum: v.Sum,
	}
	g, err := dynamic.New(settings)
	if err != nil {
		return nil, err
	}
	e.fields = field.NewKept(g, v.Direction, &e.norm.norm)
	e.fields.SetBound(v.Bound)
	e.done, e.kept = e.fields.Graph().Stats(), e.fields.Stats()
	return e, nil
}

// evolver is a running Evolve.
type evolver struct {
	Evolve
	layout record.Layout
	schema *arrow.Schema
	norm   normalizer // makes the columns
	fields *field.Kept
	names  *names

	held   []arrow.Record // events since the last computation
	events int            // their number
	roots  []int32        // of the row under construction, members at members
	done   dynamic.Stats  // of which the statistics know
	kept   field.KeptStats
	begun  bool

	ids      *record.Column[int64]
	rootList *record.Lists[int32]
	members  []int32
}

var _ flow.Flusher = (*evolver)(nil)

func (v *evolver) Schema() *arrow.Schema { return v.schema }

func (v *evolver) start(out *flow.Out) {
	if v.begun {
		return
	}
	v.begun = true
	mem, z := out.Allocator(), &v.norm
	z.start(mem)
	z.class = v.fields.Graph().Class
	z.named = v.names.of
	v.ids, v.rootList = record.NewColumn[int64](mem), record.NewLists[int32](mem)
}

func (v *evolver) Process(rec arrow.Record, out *flow.Out) error {
	v.start(out)
	events, err := record.EventsOf(rec)
	if err != nil {
		return err
	}
	var e event.Event
	from := 0 // the first row that is not held
	hold := func(to int) {
		if to > from {
			v.held = append(v.held, rec.NewSlice(int64(from), int64(to)))
		}
		from = to
	}
	for row := range events.Len() {
		out.Row(row)
		events.At(row, &e)
		if err := v.apply(&e, events.IDs(row)); err != nil {
			hold(row)
			from = row + 1
			if err := out.Refuse(rec, row, err); err != nil {
				return err
			}
			continue
		}
		if v.events++; v.events == v.Every {
			hold(row + 1)
			if err := v.refresh(out); err != nil {
				return err
			}
		}
	}
	hold(events.Len())
	return nil
}

// apply checks what dynamic.Graph does not know, and applies e.
func (v *evolver) apply(e *event.Event, ids graph.IDs) error {
	channels := v.layout.NodeCat
	if e.OfEdge() {
		channels = v.layout.EdgeCat
	}
	for i, c := range e.Cat {
		if i < len(channels) && int(c) >= channels[i].Card {
			return fmt.Errorf("attribute %q is %d, want 0 to %d", channels[i].Name, c, channels[i].Card-1)
		}
	}
	if e.Kind == event.SetClass && int(e.Class) >= len(v.layout.NodeClasses) {
		return fmt.Errorf("the class of node %d is %d, want -1 to %d", e.Source, e.Class, len(v.layout.NodeClasses)-1)
	}
	if err := v.names.check(e, ids); err != nil {
		return err
	}
	if err := v.fields.Apply(e); err != nil {
		return err
	}
	v.names.learn(e, ids, func(node int32) {
		if int(node) < v.fields.Graph().N() {
			v.fields.Touch(node)
		}
	})
	return nil
}

// refresh computes what is stale and emits it.
func (v *evolver) refresh(out *flow.Out) error {
	defer v.drop()
	if v.events == 0 {
		return nil
	}
	out.Row(-1)
	ctx, z, k := out.Context(), &v.norm, v.K
	z.norm.Context = ctx
	z.ix = v.fields.Index()
	last := v.held[len(v.held)-1]
	last = last.NewSlice(last.NumRows()-1, last.NumRows())
	defer last.Release()
	for i, r := range v.held {
		if i == len(v.held)-1 {
			r = r.NewSlice(0, r.NumRows()-1)
			out.Drop(r)
			r.Release()
		} else {
			out.Drop(r)
		}
	}
	var row arrow.Record // complete, and not emitted yet
	defer func() {
		if row != nil {
			row.Release()
		}
	}()
	next := func() error { // ends the row under construction
		if done := row; done != nil {
			row = nil
			if err := out.Repeat(done); err != nil {
				return err
			}
		}
		var err error
		row, err = v.row(last)
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
			return next()
		}
		return nil
	})
	if err == nil && len(v.roots) > 0 {
		err = next()
	}
	if err != nil {
		return err
	}
	v.note(out)
	if row == nil {
		out.Drop(last)
		return nil
	}
	emit := row
	row = nil
	return out.Emit(emit)
}

// row makes a record of one row of the roots in hand, at the position of the last event.
func (v *evolver) row(last arrow.Record) (arrow.Record, error) {
	if err := v.names.fit(v.roots); err != nil {
		return nil, err
	}
	if v.MemberIDs {
		if err := v.names.fit(v.members); err != nil {
			return nil, err
		}
	}
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
	for _, c := range z.columns {
		if c.append != nil {
			c.append(z.ix.Graph(), 0)
		}
	}
	v.ids.Append(0)
	cols := z.Finish(1)
	cols[record.GraphID], cols[record.Roots] = v.ids.Finish(), v.rootList.Finish()
	v.roots, v.members = v.roots[:0], v.members[:0]
	return record.Project(v.schema, last, cols)
}

// note tells the statistics of the stage what events did.
func (v *evolver) note(out *flow.Out) {
	g, k := v.fields.Graph().Stats(), v.fields.Stats()
	for _, n := range []struct {
		name     string
		now, was int64
	}{
		{"fields recomputed", k.Recomputed, v.kept.Recomputed}, {"fields changed", k.Changed, v.kept.Changed},
		{"edges added", g.Added, v.done.Added}, {"edges repeated", g.Repeated, v.done.Repeated},
		{"occurrences removed", g.Removed, v.done.Removed}, {"occurrences expired", g.Expired, v.done.Expired},
		{"absent", g.Absent, v.done.Absent}, {"self-loops", g.Loops, v.done.Loops}, {"late", g.Late, v.done.Late},
	} {
		if n.now > n.was {
			out.Note(n.name, n.now-n.was)
		}
	}
	v.done, v.kept = g, k
}

// Flush computes stale fields at the end of the stream.
func (v *evolver) Flush(out *flow.Out) error { return v.refresh(out) }

// drop releases the events that are held.
func (v *evolver) drop() { v.held, v.events = releaseAll(v.held), 0 }

// Close releases all memory.
func (v *evolver) Close() error {
	v.drop()
	if v.begun {
		v.norm.Release()
		v.ids.Release()
		v.rootList.Release()
	}
	return nil
}
