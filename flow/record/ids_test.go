package record_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"pgregory.net/rapid"

	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// drawIDs are n ids of a kind.
func drawIDs(t *rapid.T, kind graph.IDKind, n int) graph.IDs {
	if kind == graph.Int64IDs {
		return graph.IDsOf(rapid.SliceOfNDistinct(rapid.Int64(), n, n, rapid.ID[int64]).Draw(t, "ids"))
	}
	ids, err := graph.IDsOfStrings(rapid.SliceOfNDistinct(rapid.String(), n, n, rapid.ID[string]).Draw(t, "ids"))
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// Ids come back from records, from slices of them, from rows that were taken, and from
// a record that has them without a copy.
func TestNodeIDs(t *testing.T) {
	mem := flowtest.Mem(t)
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]graph.IDKind{graph.Int64IDs, graph.StringIDs}).Draw(t, "kind")
		b := record.NewBuilder(mem, record.Layout{NodeIDs: kind})
		defer b.Release()
		var rows []record.Row
		for i := range rapid.IntRange(1, 4).Draw(t, "rows") {
			n := rapid.IntRange(0, 5).Draw(t, "n")
			r := record.Row{ID: int64(i), NodeID: drawIDs(t, kind, n)}
			g, _ := graph.New(n, false, nil)
			if i == 0 {
				alone, err := b.Lend(g, r)
				if err != nil {
					t.Fatal(err)
				}
				gs, err := record.GraphsOf(alone)
				if err != nil || !reflect.DeepEqual(namesOf(gs.Row(0).NodeID), namesOf(r.NodeID)) || n > 0 && !gs.Row(0).NodeID.Same(r.NodeID) {
					t.Fatalf("lent: %v, %v", gs.Row(0).NodeID, err)
				}
				alone.Release()
			}
			if err := b.Append(g, r); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, r)
		}
		rec := b.Record()
		defer rec.Release()
		from := rapid.IntRange(0, len(rows)).Draw(t, "from")
		cut := rec.NewSlice(int64(from), rec.NumRows())
		defer cut.Release()
		order := rapid.SliceOf(rapid.IntRange(0, len(rows)-1)).Draw(t, "order")
		var refs []record.Ref
		var ordered []record.Row
		for _, row := range order {
			refs, ordered = append(refs, record.Ref{Row: int32(row)}), append(ordered, rows[row])
		}
		taken, err := record.Take(mem, []arrow.Record{rec}, refs)
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Release()
		for _, c := range []struct {
			rec  arrow.Record
			want []record.Row
		}{{rec, rows}, {cut, rows[from:]}, {taken, ordered}} {
			gs, err := record.GraphsOf(c.rec)
			if err != nil || gs.Layout.NodeIDs != kind {
				t.Fatal(err, gs.Layout.NodeIDs)
			}
			for row, r := range c.want {
				if got := gs.Row(row).NodeID; !reflect.DeepEqual(namesOf(got), namesOf(r.NodeID)) {
					t.Fatalf("row %d has the ids %v, want %v", row, got, r.NodeID)
				}
				if err := gs.Check(row); err != nil {
					t.Fatal(err)
				}
			}
		}
		all, err1 := record.Take(mem, []arrow.Record{cut}, upTo(len(rows)-from))
		defer all.Release()
		if err1 != nil || !array.RecordEqual(all, cut) {
			t.Fatalf("a slice differs from its copy: %v", err1)
		}
	})
}

// namesOf returns the kind and the names of ids.
func namesOf(ids graph.IDs) []any {
	names := []any{ids.Kind()}
	for v := range ids.Len() {
		names = append(names, ids.Name(int32(v)))
	}
	return names
}

func upTo(n int) (refs []record.Ref) {
	for row := range n {
		refs = append(refs, record.Ref{Row: int32(row)})
	}
	return refs
}

// What cannot be ids of a graph is an error that names the graph.
func TestNodeIDsOfDamage(t *testing.T) {
	g, _ := graph.New(2, false, nil)
	b := record.NewBuilder(memory.DefaultAllocator, record.Layout{NodeIDs: graph.StringIDs})
	for want, ids := range map[string]graph.IDs{
		"record: graph 7: node_ids has 0 values, want 2 × 1":               {},
		"record: graph 7: node_ids has 1 values, want 2 × 1":               graph.IDsOfText([]int32{0, 1}, []byte("a")),
		`record: graph 7: node_ids are of the kind "int64", want "string"`: graph.IDsOf([]int64{1, 2}),
	} {
		if err := b.Append(g, record.Row{ID: 7, NodeID: ids}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := b.Append(g, record.Row{ID: 7, NodeID: graph.IDsOfText([]int32{0, 1, 2}, []byte("aa"))}); err != nil {
		t.Fatal(err)
	}
	rec := b.Record()
	defer rec.Release()
	gs, err := record.GraphsOf(rec)
	if err != nil {
		t.Fatal(err)
	}
	if err := gs.Check(0); err == nil || !strings.Contains(err.Error(), `nodes 0 and 1 have the same id "a"`) {
		t.Error(err)
	}
	// A column of another type.
	lists := record.NewLists[float32](memory.DefaultAllocator)
	lists.Append([]float32{1, 2})
	bad := array.NewRecord(arrow.NewSchema(append(slices.Clone(rec.Schema().Fields()[:4]),
		arrow.Field{Name: record.NodeIDs, Type: record.ListType[float32]()}), nil), append(slices.Clone(rec.Columns()[:4]), lists.Finish()), 1)
	if _, err := record.GraphsOf(bad); err == nil || !strings.Contains(err.Error(), `column "node_ids"`) {
		t.Error(err)
	}
}

// Words are ascending, bounded, and one fewer than there are values.
func TestWords(t *testing.T) {
	many := make([]string, record.MaxWords+1)
	for i := range many {
		many[i] = fmt.Sprintf("%06d", i)
	}
	for want, c := range map[string]record.Channel{
		`channel "x" of node_cat: 2 values with 2 words, want one more, for unseen words`: {Name: "x", Card: 2, Words: []string{"a", "b"}},
		`channel "x" of node_cat: word 1, "a", is not above the word before, "b"`:         {Name: "x", Card: 3, Words: []string{"b", "a"}},
		`channel "x" of node_cat: word 1, "a", is not above the word before, "a"`:         {Name: "x", Card: 3, Words: []string{"a", "a"}},
		`channel "x" of node_cat: word 0, "\xff", is not UTF-8`:                           {Name: "x", Card: 2, Words: []string{"\xff"}},
		"channel \"x\" of node_cat: 65537 words, want at most 65536":                      record.WordsChannel("x", many),
		"channel \"x\" of node_cat: the words of the column have more than 1048576 bytes": record.WordsChannel("x", []string{strings.Repeat("w", (1<<20)+1)}),
	} {
		l := record.Layout{NodeCat: []record.Channel{c}}
		if err := l.Check(); err == nil || err.Error() != "record: "+want {
			t.Errorf("%v, want %s", err, want)
		}
		if c.Name != "x" || len(c.Words) == 0 || c.Words[0] == "\xff" { // which JSON replaces
			continue
		}
		if _, err := record.LayoutOf(l.Schema()); err == nil || err.Error() != "record: "+want {
			t.Errorf("read back: %v, want %s", err, want)
		}
		b := record.NewBuilder(memory.DefaultAllocator, l)
		if err := b.Append(&graph.Graph{}, record.Row{}); err == nil || err.Error() != "record: graph 0: "+want {
			t.Errorf("builder: %v, want %s", err, want)
		}
	}
	huge := record.Layout{NodeCat: []record.Channel{record.WordsChannel("x", []string{strings.Repeat("w", 9<<20)})}}
	if _, err := record.LayoutOf(huge.Schema()); err == nil || !strings.Contains(err.Error(), "bytes, want at most 8388608") {
		t.Errorf("%.100v", err)
	}
	c := record.WordsChannel("x", []string{"", "blue", "red"})
	l := record.Layout{EdgeCat: []record.Channel{c}}
	got, err := record.LayoutOf(l.Schema())
	if err != nil || !got.EdgeCat[0].Equal(c) {
		t.Fatalf("%v, %v", got, err)
	}
	if c.Index("red") != 2 || c.Index("") != 0 || c.Index("green") != 3 || c.Unseen() != 3 {
		t.Error(c.Index("red"), c.Index(""), c.Index("green"), c.Unseen())
	}
	none := record.Layout{EdgeCat: []record.Channel{record.WordsChannel("x", nil)}}
	if got, err := record.LayoutOf(none.Schema()); err != nil || !got.EdgeCat[0].Equal(none.EdgeCat[0]) || got.EdgeCat[0].Index("a") != 0 {
		t.Errorf("a channel of no words comes back as %+v, %v", got.EdgeCat, err)
	}
	if w, ok := c.Word(1); w != "blue" || !ok {
		t.Error(w, ok)
	}
	if _, ok := c.Word(3); ok {
		t.Error("the unseen word has a name")
	}
	sorted, place := record.SortWords([]string{"red", "", "blue"})
	if !slices.Equal(sorted, c.Words) || !slices.Equal(place, []int32{2, 0, 1}) {
		t.Error(sorted, place)
	}
}
