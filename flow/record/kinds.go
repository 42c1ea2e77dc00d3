package record

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/graph"
)

// kinds is the table of optional columns, in their order. Layout, Builder, Binding and Graphs read
// it, so an attribute or a target that is added here, with its place in Layout and in graph.Graph
// or Row, is complete. The package documentation lists the other files.
var kinds = []kind{
	&dense[int32]{NodeCat, perNode, func(l *Layout) any { return &l.NodeCat },
		func(g *graph.Graph, _ *Row) (*[]int32, *int) { return &g.NodeCat, &g.NodeCats }},
	&dense[float32]{NodeAttr, perNode, func(l *Layout) any { return &l.NodeAttr },
		func(g *graph.Graph, _ *Row) (*[]float32, *int) { return &g.NodeAttr, &g.NodeAttrs }},
	&sparse{NodeSparse},
	&dense[int32]{EdgeCat, perEdge, func(l *Layout) any { return &l.EdgeCat },
		func(g *graph.Graph, _ *Row) (*[]int32, *int) { return &g.EdgeCat, &g.EdgeCats }},
	&dense[float32]{EdgeAttr, perEdge, func(l *Layout) any { return &l.EdgeAttr },
		func(g *graph.Graph, _ *Row) (*[]float32, *int) { return &g.EdgeAttr, &g.EdgeAttrs }},
	&scalar[int32]{Target, func(l *Layout) any { return &l.Classes }, func(r *Row) *int32 { return &r.Class }},
	&scalar[float32]{Target, func(l *Layout) any { return &l.Real }, func(r *Row) *float32 { return &r.Value }},
	&dense[float32]{Targets, perGraph, func(l *Layout) any { return &l.Targets },
		func(_ *graph.Graph, r *Row) (*[]float32, *int) { return &r.Targets, nil }},
	&dense[int32]{NodeTarget, perNode, func(l *Layout) any { return &l.NodeClasses },
		func(_ *graph.Graph, r *Row) (*[]int32, *int) { return &r.NodeClass, nil }},
	&dense[int32]{Degrees, perNode, func(l *Layout) any { return &l.Part },
		func(g *graph.Graph, _ *Row) (*[]int32, *int) { return &g.Degrees, nil }},
	&nodeIDs{graph.Int64IDs},
	&nodeIDs{graph.StringIDs},
}

// GraphColumns returns the names of the columns that hold graphs: their structure,
// their attributes and the classes of their nodes, not the targets of graphs.
func GraphColumns() []string {
	names := []string{Offsets, Neighbors}
	for _, k := range kinds {
		if name, _ := k.column(); name != Target && name != Targets && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// ColumnType returns the type of a column of graph records. It returns false for other columns
// and for target and node_ids, which have two types.
func ColumnType(name string) (arrow.DataType, bool) {
	for _, f := range basics {
		if f.Name == name {
			return f.Type, true
		}
	}
	for _, k := range kinds {
		if column, t := k.column(); column == name {
			return t, name != Target && name != NodeIDs
		}
	}
	return nil, false
}

// kind is a kind of optional column of a record.
type kind interface {
	column() (name string, t arrow.DataType)
	in(l *Layout) any // returns a pointer to the field of l with the metadata of the column
	ofGraph() bool    // false for columns of Row
	// fits compares the sizes of g and r with those of l. O(1).
	fits(l *Layout, g *graph.Graph, r *Row) error
	// inRange returns an error for the first value outside l. fits has accepted the sizes.
	inRange(l *Layout, g *graph.Graph, r *Row) error
	part(mem memory.Allocator) part
	// rows returns a view of a column of layout l without a record.
	rows(l *Layout) rows
}

// part builds the column of a kind.
type part interface {
	append(g *graph.Graph, r *Row)
	room(g *graph.Graph, r *Row) bool // reports whether 32-bit offsets suffice
	Finish() arrow.Array
	Release()
}

// lender is a part that can make a column of one row without a copy.
type lender interface {
	lendOf(g *graph.Graph, r *Row) arrow.Array
}

// rows is a view of the column of a kind.
type rows interface {
	// read sets the view to column place of rec.
	read(rec arrow.Record, place int) error
	// check compares the number of values of a row with a graph of n nodes and m CSR entries.
	check(row, n, m int) error
	// at sets fields of g, or of r, to the values of a row. The other may be nil.
	at(row int, g *graph.Graph, r *Row)
}

// width returns the number of channels of a kind in l; 0 means that there is no column.
func width(k kind, l *Layout) int {
	switch p := k.in(l).(type) {
	case *[]Channel:
		return len(*p)
	case *[]TargetChannel:
		return len(*p)
	case *Channel:
		return min(p.Card, 1)
	case *[]string:
		return min(len(*p), 1)
	case *bool:
		if *p {
			return 1
		}
	case *graph.IDKind:
		if ids, ok := k.(*nodeIDs); ok && *p == ids.kind {
			return 1
		}
	}
	return 0
}

// fieldOf returns the field of a kind in records of layout l.
func fieldOf(k kind, l *Layout) arrow.Field {
	name, t := k.column()
	f := arrow.Field{Name: name, Type: t}
	switch p := k.in(l).(type) {
	case *[]Channel:
		f.Metadata = meta(MetaChannels, *p)
	case *[]TargetChannel:
		f.Metadata = meta(metaTargets, *p)
	case *Channel:
		f.Metadata = meta(MetaChannels, []Channel{*p})
	case *[]string:
		f.Metadata = meta(MetaClasses, *p)
	}
	return f
}

// readMeta sets the part of l that the metadata of a kind's column in s describes.
func readMeta(k kind, name string, s *arrow.Schema, l *Layout) (err error) {
	switch p := k.in(l).(type) {
	case *[]string:
		return Meta(s, name, MetaClasses, p)
	case *[]Channel:
		return Meta(s, name, MetaChannels, p)
	case *[]TargetChannel:
		return Meta(s, name, metaTargets, p)
	case *Channel:
		*p, err = SparseChannel(s, name)
	case *bool:
		*p = true
	case *graph.IDKind:
		*p = k.(*nodeIDs).kind
	}
	return err
}

// per is the element that values of a column belong to.
type per string

const (
	perNode  per = "node"
	perEdge  per = "edge" // one value for each CSR entry
	perGraph per = "graph"
)

// name names element i in an error, by the ids of its nodes if there are ids.
func (p per) name(g *graph.Graph, ids graph.IDs, i int) string {
	if p == perNode {
		return "node " + ids.Quoted(int32(i))
	}
	u := sort.Search(g.N(), func(u int) bool { return int(g.Offsets[u+1]) > i })
	return fmt.Sprintf("edge %s-%s", ids.Quoted(int32(u)), ids.Quoted(g.Neighbors[i]))
}

// dense is a column of lists with one value per channel for each element.
type dense[T Value] struct {
	name  string
	per   per
	about func(l *Layout) any
	// of returns pointers to the values and to their number of channels, nil if g and r have no field for it.
	of func(g *graph.Graph, r *Row) (values *[]T, width *int)
}

func (d *dense[T]) in(l *Layout) any { return d.about(l) }

func (d *dense[T]) column() (string, arrow.DataType) { return d.name, ListType[T]() }

func (d *dense[T]) ofGraph() bool {
	_, width := d.of(&graph.Graph{}, &Row{})
	return width != nil || d.name == Degrees
}

func (d *dense[T]) fits(l *Layout, g *graph.Graph, r *Row) error {
	want, n := width(d, l), d.count(g.N(), len(g.Neighbors))
	values, has := d.of(g, r)
	unknown := n == 0 && has != nil && *has == 0 // without edges the number of their channels is unknown
	switch {
	case has != nil && *has != want && !unknown:
		return fmt.Errorf("%s has %d channels, want %d", d.name, *has, want)
	case want > 0 && len(*values) != want*n:
		return fmt.Errorf("%s has %d values, want %d × %d", d.name, len(*values), n, want)
	}
	return nil
}

func (d *dense[T]) inRange(l *Layout, g *graph.Graph, r *Row) error {
	values, _ := d.of(g, r)
	if targets, ok := d.about(l).(*[]TargetChannel); ok {
		for i, t := range *targets {
			if x := float64(r.Targets[i]); len(t.Classes) > 0 && x == x && (x < 0 || x != math.Trunc(x) || int(x) >= len(t.Classes)) {
				return fmt.Errorf("target %q is the class %v, want 0 to %d, or NaN", t.Name, x, len(t.Classes)-1)
			}
		}
	}
	indices, ok := any(*values).([]int32)
	if !ok {
		return nil
	}
	switch about := d.about(l).(type) {
	case *[]Channel:
		for i, x := range indices {
			if c := (*about)[i%len(*about)]; x < 0 || int(x) >= c.Card {
				return fmt.Errorf("attribute %s of %s is %d, want 0 to %d", c.Name, d.per.name(g, r.NodeID, i/len(*about)), x, c.Card-1)
			}
		}
	case *[]string:
		for v, x := range indices {
			if x < -1 || int(x) >= len(*about) {
				return fmt.Errorf("node %s has class %d, want -1 to %d", r.NodeID.Quoted(int32(v)), x, len(*about)-1)
			}
		}
	}
	return nil
}

func (d *dense[T]) count(n, m int) int {
	switch d.per {
	case perNode:
		return n
	case perGraph:
		return 1
	}
	return m
}

func (d *dense[T]) part(mem memory.Allocator) part { return &densePart[T]{NewLists[T](mem), d} }

func (d *dense[T]) rows(l *Layout) rows { return &denseRows[T]{d: d, width: width(d, l)} }

type densePart[T Value] struct {
	*Lists[T]
	d *dense[T]
}

func (p *densePart[T]) append(g *graph.Graph, r *Row) {
	values, _ := p.d.of(g, r)
	p.Append(*values)
}

func (p *densePart[T]) lendOf(g *graph.Graph, r *Row) arrow.Array {
	values, _ := p.d.of(g, r)
	return p.lend(*values)
}

func (p *densePart[T]) room(g *graph.Graph, r *Row) bool {
	values, _ := p.d.of(g, r)
	return p.Lists.room(len(*values))
}

type denseRows[T Value] struct {
	list  ListView[T]
	d     *dense[T]
	width int
}

func (v *denseRows[T]) read(rec arrow.Record, place int) (err error) {
	v.list, err = viewAt(rec, place, v.d.name, listView[T])
	return err
}

func (v *denseRows[T]) check(row, n, m int) error {
	if got, want := len(v.list.Row(row)), v.d.count(n, m); got != want*v.width {
		return fmt.Errorf("%s has %d values, want %d × %d", v.d.name, got, want, v.width)
	}
	return nil
}

func (v *denseRows[T]) at(row int, g *graph.Graph, r *Row) {
	values, width := v.d.of(g, r)
	*values = v.list.Row(row)
	if width != nil {
		*width = v.width
	}
}

// sparse is a column of a set of indices for each node.
type sparse struct{ name string }

func (*sparse) in(l *Layout) any { return &l.NodeSparse }

func (s *sparse) column() (string, arrow.DataType) { return s.name, NestedType[int32]() }

func (*sparse) ofGraph() bool { return true }

func (s *sparse) fits(l *Layout, g *graph.Graph, _ *Row) error {
	switch {
	case g.SparseCard == 0 && g.N() == 0:
	case g.SparseCard == 0 && l.NodeSparse.Card > 0:
		return fmt.Errorf("there is no %s, want indices below %d", s.name, l.NodeSparse.Card)
	case g.SparseCard != l.NodeSparse.Card:
		return fmt.Errorf("%s has indices below %d, want %d", s.name, g.SparseCard, l.NodeSparse.Card)
	}
	return nil
}

func (*sparse) inRange(*Layout, *graph.Graph, *Row) error { return nil } // graph.Check checks the range

func (s *sparse) part(mem memory.Allocator) part { return &sparsePart{NewNested[int32](mem)} }

func (s *sparse) rows(l *Layout) rows { return &sparseRows{s: s, card: l.NodeSparse.Card} }

type sparsePart struct{ *Nested[int32] }

func (p *sparsePart) append(g *graph.Graph, _ *Row) {
	for v := range int32(g.N()) {
		p.Append(g.Sparse(v))
	}
	p.EndRow()
}

func (p *sparsePart) room(g *graph.Graph, _ *Row) bool { return p.inner.room(len(g.NodeSparse)) }

type sparseRows struct {
	lists NestedView[int32]
	of    arrow.Array // column of lists
	s     *sparse
	card  int
}

// read sets the view, unless the column is that of the last record: a view reads the end of each
// list, and the rows of a large graph share the column.
func (v *sparseRows) read(rec arrow.Record, place int) (err error) {
	if v.of != nil && place < int(rec.NumCols()) && rec.Column(place) == v.of {
		return nil
	}
	v.of = nil
	if v.lists, err = viewAt(rec, place, v.s.name, nestedView[int32]); err == nil {
		v.of = rec.Column(place)
	}
	return err
}

func (v *sparseRows) check(row, n, _ int) error {
	if got := v.lists.RowLen(row); got != n {
		return fmt.Errorf("%s has %d lists, want %d", v.s.name, got, n)
	}
	return nil
}

func (v *sparseRows) at(row int, g *graph.Graph, _ *Row) {
	g.SparseOffsets, g.NodeSparse = v.lists.Row(row)
	g.SparseCard = v.card
}

// scalar is a column of one value per graph.
type scalar[T Value] struct {
	name  string
	about func(l *Layout) any
	of    func(r *Row) *T
}

func (s *scalar[T]) in(l *Layout) any { return s.about(l) }

func (s *scalar[T]) column() (string, arrow.DataType) { return s.name, typeOf[T]() }

func (*scalar[T]) ofGraph() bool { return false }

func (*scalar[T]) fits(*Layout, *graph.Graph, *Row) error { return nil }

func (s *scalar[T]) inRange(l *Layout, _ *graph.Graph, r *Row) error {
	if n := len(l.Classes); s.about(l) == any(&l.Classes) && (r.Class < 0 || int(r.Class) >= n) {
		return fmt.Errorf("class %d, want 0 to %d", r.Class, n-1)
	}
	return nil
}

func (s *scalar[T]) part(mem memory.Allocator) part { return &scalarPart[T]{NewColumn[T](mem), s} }

func (s *scalar[T]) rows(*Layout) rows { return &scalarRows[T]{s: s} }

type scalarPart[T Value] struct {
	*Column[T]
	s *scalar[T]
}

func (p *scalarPart[T]) append(_ *graph.Graph, r *Row) { p.Append(*p.s.of(r)) }

func (*scalarPart[T]) room(*graph.Graph, *Row) bool { return true }

type scalarRows[T Value] struct {
	v []T
	s *scalar[T]
}

func (v *scalarRows[T]) read(rec arrow.Record, place int) (err error) {
	v.v, err = viewAt(rec, place, v.s.name, plain[T])
	return err
}

func (*scalarRows[T]) check(int, int, int) error { return nil }

func (v *scalarRows[T]) at(row int, _ *graph.Graph, r *Row) { *v.s.of(r) = v.v[row] }
