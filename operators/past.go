package operators

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/past"
)

// Past makes of each root, a row of a table such as a payment, the graph of its past: the row, its keys,
// the latest rows before it that have one of these, and so on. Package past has the rules, and the form
// of a graph of rows and keys. No later row has an influence on it:
//
//	in:  {[graph of all rows and keys, root 17]} {[the same, root 18]}
//	out: {[past of row 17]} {[past of row 18]}
//
//	flow.From(set.Rooted(rows)).
//		Via(operators.Past{Rows: past.Rows{N: n, Timed: timed, Time: times}}).
//		Via(operators.Roots{Nodes: []int32{0}}). // the row itself
//		Via(operators.Normalize{K: 10})
//
// Each output graph is small and has its own memory, so stages that copy rows may follow. The root of a
// row is node 0 of its graph, so a recipe for these graphs begins with an Expect of Layout and Roots{0},
// and sinks.Predictor.Predict and Explain answer about a graph of past.Cutter.
//
// A row with several roots, as of Chunk, gives a row for each, without those of zero fields; the class of
// the root, column node_target, is then the column target. Other columns of rows with one root stay, and
// nodes keep their ids. A root that is no row is refused.
type Past struct {
	past.Settings
	// Rows says which nodes are rows. It belongs to one graph, and is not written with a recipe.
	Rows past.Rows
}

var _ flow.Operator = Past{}

// KnownClass, TimeBefore and Turn are the channels that Past adds to node_cat, node_attr and edge_cat.
const KnownClass, TimeBefore, Turn = "known class", "log(1 + time before)", "turn"

// String returns the number of rows, for the plan of a pipeline.
func (p Past) String() string { return fmt.Sprintf("Past(%d rows)", p.Rows.N) }

// Layout returns the layout of the graphs that Past makes of the rows of a graph of layout l.
func (p Past) Layout(l record.Layout) record.Layout {
	if len(l.NodeClasses) > 0 {
		l.Classes, l.NodeClasses, l.Real = l.NodeClasses, nil, false
	}
	if len(p.Classes) > 0 {
		words := slices.Sorted(slices.Values(p.Classes))
		l.NodeCat = append(slices.Clone(l.NodeCat), record.Channel{Name: KnownClass, Card: len(words) + 1, Words: words})
	}
	l.NodeAttr = append(slices.Clone(l.NodeAttr), record.Channel{Name: TimeBefore})
	l.EdgeCat = append(slices.Clone(l.EdgeCat), record.Channel{Name: Turn, Card: 4, Words: []string{"earlier", "later", "latest"}})
	return l
}

// Open checks the settings.
func (p Past) Open(in *arrow.Schema) (flow.Stage, error) {
	bound, err := record.Bind(in)
	if err != nil {
		return nil, err
	}
	l := bound.Layout
	var shape []int
	if err := record.Meta(in, record.Roots, record.MetaShape, &shape); err != nil {
		return nil, err
	}
	switch {
	case len(shape) != 1:
		return nil, fmt.Errorf("there is no column %q of a fixed length: a source of rows with roots, or Roots and Chunk, come before Past", record.Roots)
	case l.Directed:
		return nil, errors.New("the graph is directed, want rows and keys without directions")
	}
	for _, c := range slices.Concat(l.NodeCat, l.NodeAttr, l.EdgeCat) {
		if c.Name == KnownClass || c.Name == TimeBefore || c.Name == Turn {
			return nil, fmt.Errorf("the graph has a channel %q already, which Past adds", c.Name)
		}
	}
	s := &pastStage{Past: p, bound: bound, layout: p.Layout(l), classes: len(l.NodeClasses) > 0}
	s.cut.Settings = p.Settings
	var rest []arrow.Field
	for _, f := range in.Fields() {
		if f.Name == record.Roots || f.Name == record.Target || slices.Contains(graphColumns, f.Name) || f.Name == record.GraphID || f.Name == record.Pos {
			continue
		}
		if rest = append(rest, f); shape[0] != 1 {
			return nil, fmt.Errorf("column %q belongs to rows of %d roots, and Past makes a row of each: want one root a row, or Past before that column", f.Name, shape[0])
		}
	}
	m := in.Metadata()
	s.schema, s.rest = arrow.NewSchema(append(s.layout.Schema().Fields(), rest...), &m), arrow.NewSchema(rest, nil)
	return s, nil
}

// pastStage is a running Past.
type pastStage struct {
	Past
	bound   *record.Binding
	layout  record.Layout // of the pasts
	classes bool          // of the roots are their targets
	rest    *arrow.Schema // the columns that stay
	schema  *arrow.Schema

	cut    past.Cutter
	graphs record.Graphs
	build  *record.Builder // without ids
	ids    *record.IDs     // or nil
	refs   []record.Ref
}

func (s *pastStage) Schema() *arrow.Schema { return s.schema }

func (s *pastStage) Fork() flow.Stage {
	return &pastStage{Past: s.Past, bound: s.bound, layout: s.layout, classes: s.classes, rest: s.rest, schema: s.schema, cut: past.Cutter{Settings: s.Settings}}
}

// start makes the columns under construction.
func (s *pastStage) start(out *flow.Out) {
	if s.build != nil {
		return
	}
	mem, l := out.Allocator(), s.layout
	if l.NodeIDs != graph.NoIDs {
		s.ids = record.NewIDs(mem, l.NodeIDs)
	}
	l.NodeIDs = graph.NoIDs
	s.build = record.NewBuilder(mem, l)
}

func (s *pastStage) Process(rec arrow.Record, out *flow.Out) error {
	s.start(out)
	roots, err := record.ListsOf[int32](rec, record.Roots)
	if err != nil {
		return err
	}
	if err := s.bound.ViewInto(&s.graphs, rec); err != nil {
		return err
	}
	s.refs = s.refs[:0]
	for row := range roots.Len() {
		out.Row(row)
		if err := checkRoots(roots.Row(row), s.Rows.N); err != nil {
			if err := out.Refuse(rec, row, fmt.Errorf("%w that are rows", err)); err != nil {
				return err
			}
			continue
		}
		if err := s.row(out.Context(), row, roots.Row(row)); err != nil {
			return err
		}
	}
	out.Row(-1)
	return s.emit(rec, out)
}

// row appends the pasts of the roots of a row.
func (s *pastStage) row(ctx context.Context, row int, roots []int32) error {
	var g graph.Graph
	s.graphs.At(row, &g)
	r := s.graphs.Row(row)
	class, ids := r.NodeClass, r.NodeID
	r.NodeClass, r.NodeID = nil, graph.IDs{}
	for i, root := range roots {
		if root < 0 {
			continue
		}
		if i%64 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		h, nodes, err := s.cut.Cut(&g, &s.Rows, root)
		if err != nil {
			return err
		}
		if s.classes {
			r.Class = class[root]
		}
		if err := s.build.Append(h, r); err != nil {
			return err
		}
		if s.ids != nil {
			s.ids.AppendOf(ids, nodes)
		}
		s.refs = append(s.refs, record.Ref{Row: int32(row)})
	}
	return nil
}

// emit hands on the pasts of the rows of rec.
func (s *pastStage) emit(rec arrow.Record, out *flow.Out) error {
	made := s.build.Record()
	defer made.Release()
	cols := map[string]arrow.Array{}
	if s.ids != nil {
		cols[record.NodeIDs] = s.ids.Finish()
	}
	if err := s.stay(rec, out, cols); err != nil {
		for _, c := range cols {
			c.Release()
		}
		return err
	}
	all, err := record.Project(s.schema, made, cols)
	if err != nil {
		return err
	}
	return out.Emit(all)
}

// stay adds the columns that stay, for the rows that were made. There are none if a row has several roots.
func (s *pastStage) stay(rec arrow.Record, out *flow.Out, cols map[string]arrow.Array) error {
	if s.rest.NumFields() == 0 {
		return nil
	}
	rest, err := record.Project(s.rest, rec, nil)
	if err != nil {
		return err
	}
	defer rest.Release()
	if len(s.refs) < int(rec.NumRows()) {
		taken, err := record.Take(out.Allocator(), []arrow.Record{rest}, s.refs)
		if err != nil {
			return err
		}
		defer taken.Release()
		rest = taken
	}
	for i, f := range s.rest.Fields() {
		rest.Column(i).Retain()
		cols[f.Name] = rest.Column(i)
	}
	return nil
}

func (s *pastStage) Close() error {
	if s.build != nil {
		s.build.Release()
	}
	if s.ids != nil {
		s.ids.Release()
	}
	return nil
}
