package sources

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// house is a square with a roof, with every kind of attribute.
func house() *graph.Graph {
	g, err := graph.New(5, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 3}, {U: 3, V: 0}, {U: 2, V: 4}, {U: 3, V: 4}})
	if err != nil {
		panic(err)
	}
	g.NodeCat, g.NodeCats = []int32{0, 1, 0, 1, 4}, 1
	g.NodeAttr, g.NodeAttrs = []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 2
	g.EdgeCat, g.EdgeCats = make([]int32, 12), 1
	g.EdgeAttr, g.EdgeAttrs = make([]float32, 12), 1
	return g
}

func TestGraphs(t *testing.T) {
	for _, rows := range []int{0, 1, 2, 5} {
		s := Graphs{Rows: rows, Items: []Item{{Graph: house(), Class: 2}, {Graph: house(), Class: 0}, {Graph: house(), Class: 1}}}
		got, layout, _, err := readAll(t, s)
		if err != nil {
			t.Fatal(err)
		}
		want := record.Layout{
			NodeCat:  []record.Channel{{Name: "node_label", Card: 5}},
			NodeAttr: []record.Channel{{Name: "node_attribute_0"}, {Name: "node_attribute_1"}},
			EdgeCat:  []record.Channel{{Name: "edge_label", Card: 1}},
			EdgeAttr: []record.Channel{{Name: "edge_attribute"}},
			Classes:  []string{"0", "1", "2"},
		}
		if !reflect.DeepEqual(layout, want) {
			t.Errorf("layout %+v, want %+v", layout, want)
		}
		for i, it := range got {
			if it.ID != int64(i) || it.Pos != int64(i) || it.Class != s.Items[i].Class || !sameGraph(&it.G, house()) {
				t.Errorf("rows %d: item %d is %+v", rows, i, it)
			}
		}
		if len(got) != 3 {
			t.Errorf("rows %d: %d graphs, want 3", rows, len(got))
		}
	}
}

func TestGraphsLayout(t *testing.T) {
	one := func(it Item) []Item { return []Item{it} }
	plain, _ := graph.New(2, true, nil)
	for _, c := range []struct {
		name  string
		items []Item
		want  record.Layout
	}{
		{"none", nil, record.Layout{}},
		{"no target", one(Item{Graph: plain}), record.Layout{Directed: true}},
		{"real", one(Item{Graph: plain, Value: 0.5}), record.Layout{Directed: true, Real: true}},
		{"classes before values", one(Item{Graph: plain, Value: 0.5, Class: 1}), record.Layout{Directed: true, Classes: []string{"0", "1"}}},
		{"node classes", one(Item{Graph: plain, NodeClass: []int32{1, 0}}), record.Layout{Directed: true, NodeClasses: []string{"0", "1"}}},
	} {
		_, layout, _, err := readAll(t, Graphs{Items: c.items})
		if err != nil || !reflect.DeepEqual(layout, c.want) {
			t.Errorf("%s: %+v, %v, want %+v", c.name, layout, err, c.want)
		}
	}
}

func TestGraphsErrors(t *testing.T) {
	plain, _ := graph.New(2, false, []graph.Edge{{U: 0, V: 1}})
	broken := &graph.Graph{Offsets: []int32{0, 1, 1}, Neighbors: []int32{1}}
	cat := *plain
	cat.NodeCat, cat.NodeCats = []int32{0, 3}, 1
	for _, c := range []struct {
		s    Graphs
		want string
	}{
		{Graphs{Rows: -1}, "sources: Graphs: Rows is -1, want at least 0"},
		{Graphs{Items: []Item{{}}}, "sources: Graphs: item 0: no graph"},
		{Graphs{Items: []Item{{Graph: plain}, {Graph: broken}}}, "sources: Graphs: item 1: graph: edge 0-1 lacks its other direction"},
		{Graphs{Items: []Item{{Graph: plain, Class: 2}}, Layout: record.Layout{Classes: []string{"a", "b"}}}, "sources: Graphs: item 0: class 2, want 0 to 1"},
		{Graphs{Items: []Item{{Graph: plain, Class: 1}, {Graph: plain, Class: -1}}}, "sources: Graphs: item 1: class -1, want 0 to 1"},
		{Graphs{Items: []Item{{Graph: plain, NodeClass: []int32{1}}}}, "sources: Graphs: item 0: node_target has 1 values, want 2 × 1"},
		{Graphs{Items: []Item{{Graph: plain, NodeClass: []int32{1, -2}}}}, "sources: Graphs: item 0: node 1 has class -2, want -1 to 1"},
		{Graphs{Items: []Item{{Graph: plain, Class: math.MaxInt32}}}, "sources: Graphs: item 0: a class is 2147483647, want less than 1048576 where there is no Layout"},
		{Graphs{Items: []Item{{Graph: plain}, {Graph: plain, NodeClass: []int32{0, 1 << 20}}}}, "sources: Graphs: item 1: a class is 1048576, want less than 1048576 where there is no Layout"},
		{Graphs{Items: []Item{{Graph: &cat}}, Layout: record.Layout{NodeCat: []record.Channel{{Name: "kind", Card: 3}}}}, "sources: Graphs: item 0: attribute kind of node 1 is 3, want 0 to 2"},
		{Graphs{Items: []Item{{Graph: plain}, {Graph: &cat}}}, "sources: Graphs: item 1: node_cat has 1 channels, want 0"},
		{Graphs{Items: []Item{{Graph: plain}}, Layout: record.Layout{Directed: true}}, "sources: Graphs: item 0: directed is false, want true"},
	} {
		_, err := c.s.Open(t.Context(), memory.DefaultAllocator)
		if err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

func TestRecords(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	r, err := Graphs{Rows: 1, Items: []Item{{Graph: house(), Class: 1}, {Graph: house()}}}.Open(t.Context(), mem)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var recs []arrow.Record
	for range 2 {
		rec, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer rec.Release()
		recs = append(recs, rec)
	}
	s := Records{Records: recs}
	for range 2 { // it can be opened again
		got, layout, _, err := readAll(t, s)
		if err != nil || len(got) != 2 || len(layout.Classes) != 2 || got[0].Class != 1 || !sameGraph(&got[1].G, house()) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if _, err := (Records{}).Open(t.Context(), mem); err == nil {
		t.Error("no error without a schema")
	}
	other := record.Layout{Real: true}.Schema()
	if _, err := (Records{Schema: other, Records: recs}).Open(t.Context(), mem); err == nil || err.Error() != "flow: Records: record 0 has a schema of its own" {
		t.Error(err)
	}
	if got, _, _, err := readAll(t, Records{Schema: other}); err != nil || len(got) != 0 {
		t.Error(got, err)
	}
}

// What holds for every source in memory, as for TU.
func TestReaders(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	items := []Item{{Graph: house()}, {Graph: house(), Class: 1}}
	r, err := Graphs{Items: items}.Open(t.Context(), mem)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := r.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	r.Close()
	for _, s := range []flow.Source{Graphs{Items: items, Rows: 1}, Records{Records: []arrow.Record{rec, rec}}, Families{Graphs: 7, Rows: 2}} {
		r, err := s.Open(t.Context(), mem)
		if err != nil {
			t.Fatal(err)
		}
		rec, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !rec.Schema().Equal(r.Schema()) {
			t.Errorf("%T: schema of the record is not that of the reader", r)
		}
		rec.Release()
		stopped, stop := context.WithCancel(t.Context())
		stop()
		if _, err := r.Next(stopped); !errors.Is(err, context.Canceled) {
			t.Errorf("%T: Next %v, want canceled", r, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if _, err := r.Next(t.Context()); err == nil || err == io.EOF {
			t.Errorf("%T: Next after Close: %v", r, err)
		}
	}
}

func TestStrings(t *testing.T) {
	got := fmt.Sprint(Graphs{Items: make([]Item, 3)}, " ", Records{Records: make([]arrow.Record, 2)}, " ", Families{Seed: 7}, " ", Families{Graphs: 12})
	if want := "Graphs(3) Records(2) Families(480 graphs, seed 7) Families(12 graphs, seed 0)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Graphs are made as they are read, so an endless collection opens at once, and
// ends with its context.
func TestFamiliesLazy(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	r, err := Families{Graphs: math.MaxInt32, Rows: 6}.Open(ctx, mem)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rec, err := r.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	if rec.NumRows() != 6 {
		t.Errorf("%d rows, want 6", rec.NumRows())
	}
	cancel()
	if _, err := r.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}

func TestFamilies(t *testing.T) {
	got, layout, _, err := readAll(t, Families{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 480 || !slices.Equal(layout.Classes, FamilyNames) {
		t.Fatalf("%d graphs, classes %v", len(got), layout.Classes)
	}
	// Neither size nor number of edges tells the class: their means agree.
	classes := len(FamilyNames)
	nodes, edges := make([]float64, classes), make([]float64, classes)
	for i, it := range got {
		n, m := it.G.N(), it.G.M()
		if n < 20 || n > 60 || n%5 != 0 || m < 2*n-n/10 || m > 2*n+n/10 {
			t.Errorf("graph %d has %d nodes, %d edges", i, n, m)
		}
		if int(it.Class) != i%classes {
			t.Errorf("graph %d is of class %d, want %d", i, it.Class, i%classes)
		}
		nodes[it.Class] += float64(n) / 80
		edges[it.Class] += float64(m) / float64(n) / 80
	}
	for c := range classes {
		if nodes[c] < 36 || nodes[c] > 44 || edges[c] < 1.97 || edges[c] > 2.03 {
			t.Errorf("%s: %.1f nodes, %.3f edges per node on average, want about 40, 2", FamilyNames[c], nodes[c], edges[c])
		}
	}
	// A prefix is the same, another seed is not.
	few, err := Families{Graphs: 10}.Items()
	if err != nil {
		t.Fatal(err)
	}
	other, err := Families{Graphs: 10, Seed: 1}.Items()
	if err != nil {
		t.Fatal(err)
	}
	same := 0
	for i := range few {
		if !sameGraph(few[i].Graph, &got[i].G) {
			t.Errorf("graph %d is not that of the larger collection", i)
		}
		if sameGraph(few[i].Graph, other[i].Graph) {
			same++
		}
	}
	if same > 0 {
		t.Errorf("%d graphs are the same under another seed", same)
	}
	// Published results name a seed, so its graphs never change.
	h := sha256.New()
	for _, it := range got {
		if err := cmp.Or(binary.Write(h, binary.LittleEndian, it.G.Offsets), binary.Write(h, binary.LittleEndian, it.G.Neighbors)); err != nil {
			t.Fatal(err)
		}
	}
	if hash, want := hex.EncodeToString(h.Sum(nil)[:8]), "ea2e322a5757bd51"; hash != want {
		t.Errorf("hash %s, want %s", hash, want)
	}
	for _, s := range []Families{{Graphs: -1}, {Rows: -1}, {Noise: 1.5}} {
		if _, err := s.Open(t.Context(), memory.DefaultAllocator); err == nil {
			t.Errorf("%+v: no error", s)
		}
	}
}
