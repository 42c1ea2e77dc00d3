package record_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"pgregory.net/rapid"

	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// drawLayout draws which columns there are.
func drawLayout(t *rapid.T) (l record.Layout) {
	channels := func(name string, card int) (c []record.Channel) {
		for i := range rapid.IntRange(0, 2).Draw(t, name) {
			c = append(c, record.Channel{Name: name + string(rune('a'+i)), Card: card * (i + 1)})
		}
		return c
	}
	l.Directed = rapid.Bool().Draw(t, "directed")
	l.NodeCat, l.NodeAttr = channels("colour", 3), channels("x \"", 0)
	l.EdgeCat, l.EdgeAttr = channels("bond", 2), channels("length", 0)
	switch rapid.IntRange(0, 2).Draw(t, "target") {
	case 1:
		l.Classes = []string{"no", "yes"}
	case 2:
		l.Real = true
	}
	if rapid.Bool().Draw(t, "node classes") {
		l.NodeClasses = []string{"a", "b", "c"}
	}
	if rapid.Bool().Draw(t, "sparse") {
		l.NodeSparse = record.Channel{Name: "words", Card: 9}
	}
	return l
}

// drawGraph draws a graph of that layout with arbitrary attributes.
func drawGraph(t *rapid.T, l record.Layout) *graph.Graph {
	n := rapid.IntRange(0, 5).Draw(t, "n")
	var edges []graph.Edge
	for i := range rapid.IntRange(0, 6).Draw(t, "edges") {
		if n > 0 {
			edges = append(edges, graph.Edge{U: int32(i % n), V: rapid.Int32Range(0, int32(n-1)).Draw(t, "v")})
		}
	}
	g, err := graph.New(n, l.Directed, edges)
	if err != nil {
		t.Fatal(err)
	}
	g.NodeCats, g.NodeAttrs, g.EdgeCats, g.EdgeAttrs = len(l.NodeCat), len(l.NodeAttr), len(l.EdgeCat), len(l.EdgeAttr)
	cats := func(n int) []int32 { return rapid.SliceOfN(rapid.Int32Min(0), n, n).Draw(t, "cats") }
	attrs := func(n int) []float32 { return rapid.SliceOfN(rapid.Float32(), n, n).Draw(t, "attrs") }
	g.NodeCat, g.NodeAttr = cats(n*g.NodeCats), attrs(n*g.NodeAttrs)
	g.EdgeCat, g.EdgeAttr = cats(len(g.Neighbors)*g.EdgeCats), attrs(len(g.Neighbors)*g.EdgeAttrs)
	for u := range int32(n) { // both directions of an edge have the same attributes
		for i := g.Offsets[u]; i < g.Offsets[u+1] && !g.Directed; i++ {
			j := g.Entry(g.Neighbors[i], u)
			copy(g.EdgeCat[j*g.EdgeCats:][:g.EdgeCats], g.EdgeCat[int(i)*g.EdgeCats:])
			copy(g.EdgeAttr[j*g.EdgeAttrs:][:g.EdgeAttrs], g.EdgeAttr[int(i)*g.EdgeAttrs:])
		}
	}
	if g.SparseCard = l.NodeSparse.Card; g.SparseCard > 0 {
		g.SparseOffsets = []int32{0}
		for range n {
			set := rapid.SliceOfNDistinct(rapid.Int32Range(0, 8), 0, 9, rapid.ID).Draw(t, "words")
			slices.Sort(set)
			g.NodeSparse = append(g.NodeSparse, set...)
			g.SparseOffsets = append(g.SparseOffsets, int32(len(g.NodeSparse)))
		}
	}
	return g
}

// own makes the sparse attribute of g start at 0, as that of a graph that
// borrows from a record with others need not.
func own(g *graph.Graph) {
	if g.SparseCard > 0 {
		begin, end := g.SparseOffsets[0], g.SparseOffsets[g.N()]
		g.NodeSparse, g.SparseOffsets = g.NodeSparse[begin:end], slices.Clone(g.SparseOffsets)
		for i := range g.SparseOffsets {
			g.SparseOffsets[i] -= begin
		}
	}
}

// TestRoundTrip builds records, cuts slices of slices from them, and reads
// every graph and target back.
func TestRoundTrip(t *testing.T) {
	mem := flowtest.Mem(t)
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t)
		b := record.NewBuilder(mem, l)
		defer b.Release()
		for range 2 { // a builder is used again
			var graphs []*graph.Graph
			var rows []record.Row
			for i := range rapid.IntRange(0, 6).Draw(t, "rows") {
				g := drawGraph(t, l)
				r := record.Row{ID: int64(7 * i), Pos: int64(100 + i), Class: int32(i % 2), Value: float32(i) / 2}
				if len(l.NodeClasses) > 0 {
					r.NodeClass = make([]int32, g.N())
					for v := range r.NodeClass {
						r.NodeClass[v] = int32((v + i) % 3)
					}
				}
				if !b.Fits(g, r) {
					t.Fatal("a small graph does not fit")
				}
				if err := b.Append(g, r); err != nil {
					t.Fatal(err)
				}
				graphs, rows = append(graphs, g), append(rows, r)
			}
			for i, g := range graphs[:min(len(graphs), 1)] { // alone, and without a copy
				if _, err := b.Lend(g, rows[i]); err == nil {
					t.Fatal("it was lent to a record that has graphs")
				}
				other := record.NewBuilder(mem, l)
				lent, err := other.Lend(g, rows[i])
				if err != nil {
					t.Fatal(err)
				}
				read(t, lent, l, graphs[i:i+1], rows[i:i+1])
				gs, err := record.GraphsOf(lent)
				if err != nil {
					t.Fatal(err)
				}
				var h graph.Graph
				if gs.At(0, &h); len(h.Neighbors) > 0 && &h.Neighbors[0] != &g.Neighbors[0] {
					t.Fatal("it was copied")
				}
				lent.Release()
			}
			if b.Rows() != len(rows) {
				t.Fatalf("Rows is %d, want %d", b.Rows(), len(rows))
			}
			rec := b.Record()
			read(t, rec, l, graphs, rows)
			i := rapid.IntRange(0, len(rows)).Draw(t, "from")
			j := rapid.IntRange(i, len(rows)).Draw(t, "to")
			cut := rec.NewSlice(int64(i), int64(j))
			rec.Release()
			read(t, cut, l, graphs[i:j], rows[i:j])
			if j > i {
				again := cut.NewSlice(1, int64(j-i))
				read(t, again, l, graphs[i+1:j], rows[i+1:j])
				again.Release()
			}
			cut.Release()
		}
	})
}

func read(t *rapid.T, rec arrow.Record, l record.Layout, graphs []*graph.Graph, rows []record.Row) {
	if got, err := record.LayoutOf(rec.Schema()); err != nil || !reflect.DeepEqual(got, l) {
		t.Fatalf("%v, layout %+v, want %+v", err, got, l)
	}
	bound, err := record.Bind(rec.Schema())
	if err != nil {
		t.Fatal(err)
	}
	gs := new(record.Graphs)
	for _, from := range []int64{rec.NumRows(), rec.NumRows() / 2, 0} { // a view is used again
		part := rec.NewSlice(from, rec.NumRows())
		defer part.Release()
		if err := bound.ViewInto(gs, part); err != nil {
			t.Fatal(err)
		}
	}
	if gs.Len() != len(graphs) {
		t.Fatalf("%d graphs, want %d", gs.Len(), len(graphs))
	}
	pos, err := record.Values[int64](rec, record.Pos)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range graphs {
		var got graph.Graph
		gs.At(i, &got)
		own(&got)
		// As text NaN is NaN, and an empty slice is nil.
		if want, got := fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", &got); got != want {
			t.Fatalf("graph %d is\n%s, want\n%s", i, got, want)
		}
		if err := got.Check(); err != nil {
			t.Fatal(err)
		}
		if gs.ID(i) != rows[i].ID || pos[i] != rows[i].Pos {
			t.Fatalf("row %d is graph %d at %d", i, gs.ID(i), pos[i])
		}
	}
	switch {
	case l.Real:
		v, err := record.Values[float32](rec, record.Target)
		for i, x := range v {
			if x != rows[i].Value {
				t.Fatalf("target %d is %v", i, x)
			}
		}
		if err != nil || len(v) != len(rows) {
			t.Fatal(err, v)
		}
	case len(l.Classes) > 0:
		v, err := record.Values[int32](rec, record.Target)
		for i, x := range v {
			if x != rows[i].Class {
				t.Fatalf("target %d is %v", i, x)
			}
		}
		if err != nil || len(v) != len(rows) {
			t.Fatal(err, v)
		}
	case rec.Schema().HasField(record.Target):
		t.Fatal("there is a target although none was requested")
	}
	if len(l.NodeClasses) > 0 {
		v, err := record.ListsOf[int32](rec, record.NodeTarget)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			if !slices.Equal(v.Row(i), rows[i].NodeClass) || !slices.Equal(gs.NodeClass(i), rows[i].NodeClass) {
				t.Fatalf("node classes %d are %v", i, v.Row(i))
			}
		}
	}
}

func TestBuilderErrors(t *testing.T) {
	b := record.NewBuilder(flowtest.Mem(t), record.Layout{
		NodeCat: []record.Channel{{Name: "a", Card: 2}}, NodeClasses: []string{"x"},
	})
	good := func() *graph.Graph {
		return &graph.Graph{Offsets: []int32{0, 1, 2}, Neighbors: []int32{1, 0}, NodeCats: 1, NodeCat: []int32{0, 1}}
	}
	classes := []int32{0, 0}
	if err := b.Append(good(), record.Row{ID: 1, NodeClass: classes}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want  string
		spoil func(*graph.Graph) []int32
	}{
		{"graph 5: node_cat has 0 channels, want 1", func(g *graph.Graph) []int32 { g.NodeCats = 0; return classes }},
		{"graph 5: edge_attr has 3 channels, want 0", func(g *graph.Graph) []int32 { g.EdgeAttrs = 3; return classes }},
		{"graph 5: directed is true, want false", func(g *graph.Graph) []int32 { g.Directed = true; return classes }},
		{"graph 5: node_target has 1 values, want 2 × 1", func(g *graph.Graph) []int32 { return classes[:1] }},
	} {
		g := good()
		if err := b.Append(g, record.Row{ID: 5, NodeClass: c.spoil(g)}); err == nil || err.Error() != "record: "+c.want {
			t.Errorf("the error is %v, want %s", err, c.want)
		}
	}
	rec := b.Record()
	defer rec.Release()
	if rec.NumRows() != 1 || b.Rows() != 0 {
		t.Errorf("after errors there are %d rows, %d in the builder", rec.NumRows(), b.Rows())
	}
	if err := b.Append(good(), record.Row{NodeClass: classes}); err != nil {
		t.Fatal(err)
	}
	b.Release() // drops it
	b.Release()
	empty := b.Record()
	defer empty.Release()
	if gs, err := record.GraphsOf(empty); err != nil || gs.Len() != 0 {
		t.Errorf("an empty record: %v", err)
	}
}

// TestNoNodes: a graph that was never built has no offsets, and one row of one.
func TestNoNodes(t *testing.T) {
	b := record.NewBuilder(flowtest.Mem(t), record.Layout{})
	if err := b.Append(&graph.Graph{}, record.Row{}); err != nil {
		t.Fatal(err)
	}
	rec := b.Record()
	defer rec.Release()
	gs, err := record.GraphsOf(rec)
	if err != nil {
		t.Fatal(err)
	}
	var g graph.Graph
	if gs.At(0, &g); g.N() != 0 || g.M() != 0 || !slices.Equal(g.Offsets, []int32{0}) {
		t.Errorf("%+v", g)
	}
}

// TestGraphsOfErrors reads records that no builder made.
func TestGraphsOfErrors(t *testing.T) {
	mem := flowtest.Mem(t)
	layout := record.Layout{
		NodeCat: []record.Channel{{Name: "a", Card: 2}}, NodeAttr: []record.Channel{{Name: "b"}, {Name: "c"}},
		EdgeCat: []record.Channel{{Name: "d", Card: 2}}, EdgeAttr: []record.Channel{{Name: "e"}},
		NodeSparse: record.Channel{Name: "f", Card: 4}, NodeClasses: []string{"g"},
	}
	b := record.NewBuilder(mem, layout)
	g := &graph.Graph{
		Offsets: []int32{0, 1, 2}, Neighbors: []int32{1, 0}, NodeCats: 1, NodeAttrs: 2, EdgeCats: 1, EdgeAttrs: 1,
		NodeCat: []int32{0, 1}, NodeAttr: []float32{1, 2, 3, 4}, EdgeCat: []int32{1, 1}, EdgeAttr: []float32{5, 5},
		SparseCard: 4, SparseOffsets: []int32{0, 2, 2}, NodeSparse: []int32{1, 3},
	}
	if err := b.Append(g, record.Row{ID: 9, NodeClass: []int32{0, -1}}); err != nil {
		t.Fatal(err)
	}
	rec := b.Record()
	defer rec.Release()
	for _, c := range []struct {
		column string
		ints   []int32
		floats []float32
		want   string
	}{
		{record.Offsets, []int32{0, 1, 3}, nil, "record: graph 9: offsets do not span its 2 neighbors"},
		{record.Offsets, []int32{1, 1, 2}, nil, "record: graph 9: offsets do not span its 2 neighbors"},
		{record.Offsets, []int32{}, nil, "record: graph 9: offsets do not span its 2 neighbors"},
		{record.Neighbors, []int32{1}, nil, "record: graph 9: offsets do not span its 1 neighbors"},
		{record.NodeCat, []int32{1}, nil, "record: graph 9: node_cat has 1 values, want 2 × 1"},
		{record.NodeAttr, nil, []float32{1, 2, 3}, "record: graph 9: node_attr has 3 values, want 2 × 2"},
		{record.EdgeCat, []int32{1, 2, 3}, nil, "record: graph 9: edge_cat has 3 values, want 2 × 1"},
		{record.EdgeAttr, nil, []float32{}, "record: graph 9: edge_attr has 0 values, want 2 × 1"},
		{record.NodeTarget, []int32{0}, nil, "record: graph 9: node_target has 1 values, want 2 × 1"},
		{record.NodeSparse, []int32{1}, nil, "record: graph 9: node_sparse has 1 lists, want 2"},
	} {
		var col arrow.Array
		if c.column == record.NodeSparse {
			l := record.NewNested[int32](mem)
			l.Append(c.ints)
			l.EndRow()
			col = l.Finish()
		} else if c.ints != nil {
			l := record.NewLists[int32](mem)
			l.Append(c.ints)
			col = l.Finish()
		} else {
			l := record.NewLists[float32](mem)
			l.Append(c.floats)
			col = l.Finish()
		}
		bad, err := record.Project(rec.Schema(), rec, map[string]arrow.Array{c.column: col})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := record.GraphsOf(bad); err == nil || err.Error() != c.want {
			t.Errorf("the error is %v, want %s", err, c.want)
		}
		bad.Release()
	}
	for _, name := range []string{record.GraphID, record.Pos, record.Offsets, record.Neighbors} {
		less := record.Without(rec.Schema(), name)
		bad, err := record.Project(less, rec, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := record.GraphsOf(bad); err == nil || !strings.Contains(err.Error(), "no column") {
			t.Errorf("without %s the error is %v", name, err)
		}
		bad.Release()
	}
}

func TestLayoutErrors(t *testing.T) {
	base := record.Layout{NodeCat: []record.Channel{{Name: "a", Card: 2}}, Classes: []string{"x"}}.Schema()
	replace := func(name string, f arrow.Field) *arrow.Schema {
		s, err := record.Extend(record.Without(base, name), f)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	int64s := arrow.PrimitiveTypes.Int64
	for _, c := range []struct {
		s    *arrow.Schema
		want string
	}{
		{arrow.NewSchema(nil, nil), `record: no column "graph_id"; there are []`},
		{replace(record.Pos, arrow.Field{Name: "position", Type: int64s}), `record: no column "pos"; there are [graph_id offsets neighbors node_cat target position]`},
		{replace(record.Offsets, arrow.Field{Name: record.Offsets, Type: int64s}), `record: column "offsets" is int64, want list<item: int32, nullable>`},
		{replace(record.NodeCat, arrow.Field{Name: record.NodeCat, Type: record.ListType[float32]()}), `record: column "node_cat" is list<item: float32, nullable>, want list<item: int32, nullable>`},
		{replace(record.NodeCat, arrow.Field{Name: record.NodeCat, Type: record.ListType[int32](), Metadata: arrow.NewMetadata([]string{"channels"}, []string{"[1"})}),
			`record: metadata "channels" of column "node_cat": unexpected end of JSON input`},
		{arrow.NewSchema(append(slices.Clone(base.Fields()), arrow.Field{Name: record.Pos, Type: int64s}), nil), `record: 2 columns "pos", want one`},
	} {
		if _, err := record.LayoutOf(c.s); err == nil || err.Error() != c.want {
			t.Errorf("the error is %v, want %s", err, c.want)
		}
	}
	// The name and nullability of list items differ among writers.
	item := arrow.ListOfField(arrow.Field{Name: "element", Type: arrow.PrimitiveTypes.Int32, Nullable: false})
	if _, err := record.LayoutOf(replace(record.Offsets, arrow.Field{Name: record.Offsets, Type: item})); err != nil {
		t.Error(err)
	}
}

// TestViewsShare makes sure that reading copies nothing.
func TestViewsShare(t *testing.T) {
	recs := flowtest.Sample(memory.DefaultAllocator)
	for _, rec := range recs {
		defer rec.Release()
	}
	rec := recs[0].NewSlice(1, 4)
	defer rec.Release()
	bound, err := record.Bind(rec.Schema())
	if err != nil {
		t.Fatal(err)
	}
	read := func() {
		gs, err := bound.View(rec)
		if err != nil {
			t.Fatal(err)
		}
		var g graph.Graph
		for row := range gs.Len() {
			gs.At(row, &g)
		}
	}
	ids, err := record.Values[int64](rec, record.GraphID)
	if err != nil {
		t.Fatal(err)
	}
	ids[0] = 77
	if again, _ := record.Values[int64](recs[0], record.GraphID); again[1] != 77 {
		t.Error("the values of a slice are a copy")
	}
	if n := testing.AllocsPerRun(10, read); n > 20 {
		t.Errorf("a view costs %v allocations, however large the graphs", n)
	}
}
