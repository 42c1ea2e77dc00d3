package operators_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/internal/note"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// otherWords is the layout of the samples, of a model that knows red and not blue.
func otherWords() record.Layout {
	l := flowtest.Layout
	l.NodeCat = []record.Channel{record.WordsChannel("colour", []string{"green", "red"})}
	return l
}

// words is a source of one graph, a path of three nodes, whose nodes have a colour and
// whose edges a kind and a number.
func words(nodes []string, edges []string, node, edge []int32) sources.Graphs {
	g, err := graph.New(3, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}})
	if err != nil {
		panic(err)
	}
	g.NodeCats, g.NodeCat = 1, node
	g.EdgeCats = 2
	for _, entry := range []int{0, 0, 1, 1} { // 0-1, 1-0, 1-2, 2-1
		g.EdgeCat = append(g.EdgeCat, edge[entry], int32(entry))
	}
	ids, err := graph.IDsOfStrings([]string{"ann", "bob", "cid"})
	if err != nil {
		panic(err)
	}
	return sources.Graphs{Items: []sources.Item{{Graph: g, ID: 7, NodeID: ids}}, Layout: record.Layout{
		NodeCat: []record.Channel{record.WordsChannel("colour", nodes)},
		EdgeCat: []record.Channel{record.WordsChannel("kind", edges), {Name: "number", Card: 2}},
		NodeIDs: graph.StringIDs,
	}}
}

// Indices become those of the words of the layout, and words that it does not have one
// index, which is counted.
func TestExpectMapsWords(t *testing.T) {
	model := record.Layout{
		NodeCat: []record.Channel{record.WordsChannel("colour", []string{"blue", "green", "red"})},
		EdgeCat: []record.Channel{record.WordsChannel("kind", []string{"knows", "owes"}), {Name: "number", Card: 2}},
	}
	for _, workers := range []int{1, 3} {
		src := words([]string{"red", "yellow"}, []string{"hates", "owes"}, []int32{0, 1, 2}, []int32{1, 0})
		var out sinks.Collect
		run := flow.From(src).Via(operators.Expect{Layout: model}).To(&out).With(flow.Options{Allocator: flowtest.Mem(t), Workers: workers}).Start(t.Context())
		if err := run.Wait(); err != nil {
			t.Fatal(err)
		}
		gs, err := record.GraphsOf(out.Records()[0])
		if err != nil {
			t.Fatal(err)
		}
		var g graph.Graph
		gs.At(0, &g)
		if !gs.Layout.NodeCat[0].Equal(model.NodeCat[0]) || !gs.Layout.EdgeCat[0].Equal(model.EdgeCat[0]) || gs.Layout.NodeIDs != graph.StringIDs {
			t.Errorf("the layout is %+v", gs.Layout)
		}
		if want := []int32{2, 3, 3}; !slices.Equal(g.NodeCat, want) { // red, unseen, unseen
			t.Errorf("the colours are %d, want %d", g.NodeCat, want)
		}
		if want := []int32{1, 0, 1, 0, 2, 1, 2, 1}; !slices.Equal(g.EdgeCat, want) {
			t.Errorf("the kinds are %d, want %d", g.EdgeCat, want)
		}
		found := false
		for _, s := range run.Stats().Stages {
			if n, ok := s.Notes[note.Unseen]; ok {
				if found = true; n != 4 {
					t.Errorf("%d unseen words, want 4", n)
				}
			}
		}
		if !found {
			t.Error("unseen words are not counted")
		}
		out.Release()
	}
	src := words([]string{"red"}, []string{"owes"}, []int32{0, 0, 0}, []int32{0, 0})
	src.Layout.NodeCat = []record.Channel{{Name: "colour", Card: 2}}
	want := `the graphs have the channels ["colour (2 values)"] in node_cat, want ["colour (3 words)"]`
	if err := flow.From(src).Via(operators.Expect{Layout: model}).To(&sinks.Collect{}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// Masked words are drawn by row, node and channel: the same at any number of workers, in
// both directions of an edge, about as many as the rate says, and not counted.
func TestMaskWords(t *testing.T) {
	const graphs = 400
	src := words([]string{"blue", "red"}, []string{"knows", "owes"}, []int32{0, 1, 0}, []int32{1, 0})
	src.Items = slices.Repeat(src.Items, graphs)
	var want []string
	for _, workers := range []int{1, 4} {
		var out sinks.Collect
		run := flow.From(src).Via(operators.MaskWords{Rate: 0.25, Seed: 5}).Via(operators.Expect{Layout: src.Layout}).
			To(&out).With(flow.Options{Allocator: flowtest.Mem(t), Workers: workers}).Start(t.Context())
		if err := run.Wait(); err != nil {
			t.Fatal(err)
		}
		if got := flowtest.Rows(out.Records()...); want == nil {
			want = got
		} else if !slices.Equal(got, want) {
			t.Error("the rows depend on the number of workers")
		}
		nodes, edges := 0, 0
		for _, rec := range out.Records() {
			gs, err := record.GraphsOf(rec)
			if err != nil {
				t.Fatal(err)
			}
			for row := range gs.Len() {
				if err := gs.Check(row); err != nil { // both directions too
					t.Fatal(err)
				}
				var g graph.Graph
				gs.At(row, &g)
				for v, x := range g.NodeCat {
					if x == 2 {
						nodes++
					} else if x != src.Items[0].Graph.NodeCat[v] {
						t.Fatalf("node %d has the colour %d", v, x)
					}
				}
				for i := 0; i < len(g.EdgeCat); i += 2 {
					if g.EdgeCat[i] == 2 {
						edges++
					}
					if g.EdgeCat[i+1] > 1 {
						t.Fatal("an attribute without words was masked")
					}
				}
			}
		}
		if nodes < 250 || nodes > 350 || edges < 340 || edges > 460 {
			t.Errorf("%d of %d nodes and %d of %d entries are masked", nodes, 3*graphs, edges, 4*graphs)
		}
		if notes := run.Stats().String(); strings.Contains(notes, note.Unseen+" ") && !strings.Contains(notes, note.Unseen+" 0") {
			t.Error(notes)
		}
		out.Release()
	}
	if err := flow.From(src).Via(operators.MaskWords{Rate: 1.5}).To(&sinks.Collect{}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "Rate is 1.5") {
		t.Error(err)
	}
}

// With Rows, the words of that share of the rows are hidden as without, and the others stay.
func TestMaskWordsOfSomeRows(t *testing.T) {
	const graphs = 1000
	src := words([]string{"blue", "red"}, []string{"knows", "owes"}, []int32{0, 1, 0}, []int32{1, 0})
	src.Items = slices.Repeat(src.Items, graphs)
	rows := func(ops ...flow.Operator) []string {
		var out sinks.Collect
		defer out.Release()
		if err := operators.Recipe(ops).Onto(flow.From(src)).With(flow.Options{Allocator: flowtest.Mem(t)}).To(&out).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return flowtest.Rows(out.Records()...)
	}
	plain, all, some := rows(), rows(operators.MaskWords{Rate: 1, Seed: 5}), rows(operators.MaskWords{Rate: 1, Rows: 0.2, Seed: 5})
	hidden := 0
	for i, row := range some {
		switch row {
		case all[i]:
			hidden++
		case plain[i]:
		default:
			t.Fatalf("row %d: %s, want %s or %s", i, row, plain[i], all[i])
		}
	}
	if len(some) != graphs || hidden < 150 || hidden > 250 {
		t.Errorf("%d of %d rows are hidden", hidden, len(some))
	}
	if err := flow.From(src).Via(operators.MaskWords{Rows: -1}).To(&sinks.Collect{}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "Rows is -1") {
		t.Error(err)
	}
}
