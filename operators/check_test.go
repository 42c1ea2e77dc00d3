package operators_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// bad returns a record of graphs each of which but the first breaks a rule, and
// what Check says.
func bad(t *testing.T) (arrow.Record, []string) {
	layout := record.Layout{
		NodeCat: []record.Channel{{Name: "element", Card: 2}}, EdgeCat: []record.Channel{{Name: "bond", Card: 2}},
		Classes: []string{"a", "b"},
	}
	b := record.NewBuilder(flowtest.Mem(t), layout)
	var reasons []string
	for i, c := range []struct {
		want  string
		spoil func(*graph.Graph, *record.Row)
	}{
		{"", func(*graph.Graph, *record.Row) {}},
		{"graph: node 1 has neighbour 7, want 0 to 2", func(g *graph.Graph, _ *record.Row) { g.Neighbors[1] = 7 }},
		{"attribute element of node 2 is 2, want 0 to 1", func(g *graph.Graph, _ *record.Row) { g.NodeCat[2] = 2 }},
		{"attribute bond of edge 1-2 is 2, want 0 to 1", func(g *graph.Graph, _ *record.Row) { g.EdgeCat[2], g.EdgeCat[3] = 2, 2 }},
		{"graph: node_cat of node 0 is -1, want an index from 0", func(g *graph.Graph, _ *record.Row) { g.NodeCat[0] = -1 }},
		{"graph: edge 0-1 has other attributes in its other direction", func(g *graph.Graph, _ *record.Row) { g.EdgeCat[0] = 1 }},
		{"class 2, want 0 to 1", func(_ *graph.Graph, r *record.Row) { r.Class = 2 }},
		{"offsets do not span its 4 neighbors", func(g *graph.Graph, _ *record.Row) { g.Offsets[3] = 3 }},
	} {
		g := &graph.Graph{
			Offsets: []int32{0, 1, 3, 4}, Neighbors: []int32{1, 0, 2, 1}, NodeCats: 1, NodeCat: []int32{0, 1, 1},
			EdgeCats: 1, EdgeCat: []int32{0, 0, 1, 1},
		}
		r := record.Row{ID: int64(10 + i), Pos: int64(i)}
		c.spoil(g, &r)
		if err := b.Append(g, r); err != nil {
			t.Fatal(err)
		}
		if c.want != "" {
			reasons = append(reasons, c.want)
		}
	}
	rec := b.Record()
	t.Cleanup(rec.Release)
	return rec, reasons
}

func TestCheckRefuses(t *testing.T) {
	rec, want := bad(t)
	src := flow.From(sources.Records{Records: []arrow.Record{rec}})
	fields := operators.Recipe{operators.Select{W: 2, By: labeling.Betweenness}, operators.Assemble{K: 2}, operators.Normalize{Edges: true}}
	var got []string
	var all sinks.Collect
	defer all.Release()
	err := fields.Onto(src.Via(operators.Check{})).To(&all).With(flow.Options{Refused: flow.Keep, DeadLetters: func(l flow.Letter) error {
		if l.Graph != int64(11+len(got)) || l.Stage != "check" {
			t.Errorf("%s refuses graph %d: %v", l.Stage, l.Graph, l.Err)
		}
		got = append(got, l.Err.Error())
		return nil
	}}).Run(context.Background())
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, refused: %q, want %q", err, got, want)
	}
	if recs := all.Records(); len(recs) != 1 || recs[0].NumRows() != 1 {
		t.Errorf("%d records are left", len(recs))
	}
	// Without Check the run ends, and says at which graph.
	for row := 1; row < int(rec.NumRows()); row++ {
		one := rec.NewSlice(int64(row), int64(row)+1)
		err := fields.Onto(flow.From(sources.Records{Records: []arrow.Record{one}})).Run(context.Background())
		one.Release()
		var e *flow.Error
		if err != nil && (!errors.As(err, &e) || e.Graph != int64(10+row) || strings.Contains(err.Error(), "\n") || strings.Count(err.Error(), "graph 1") != 1) {
			t.Errorf("graph %d: %v", 10+row, err)
		}
	}
}

// What does not go together is an error of Open.
func TestSettingsThatContradict(t *testing.T) {
	run := func(ops ...flow.Operator) error {
		return operators.Recipe(ops).Onto(flow.From(sources.Families{Graphs: 1})).Run(context.Background())
	}
	want := "normalize: K is 20, but Assemble has gathered neighbourhoods for 5 nodes: want at most its K"
	if err := run(operators.Select{W: 2}, operators.Assemble{K: 5}, operators.Normalize{K: 20}); err == nil || err.Error() != want {
		t.Error(err)
	}
	for _, ops := range [][]flow.Operator{
		{operators.Select{W: 2}, operators.Assemble{K: 5}, operators.Normalize{K: 3}},
		{operators.Select{W: 2}, operators.Normalize{K: 5, Suffix: "_k5", KeepGraph: true}, operators.Normalize{K: 10}},
	} {
		if err := run(append([]flow.Operator{operators.Channel{By: labeling.Degree}}, ops...)...); err != nil {
			t.Error(err)
		}
	}
	both := record.Layout{Classes: []string{"a"}, Real: true}
	if err := run(operators.Expect{Layout: both}); err == nil || !strings.Contains(err.Error(), "want one kind of target") {
		t.Error(err)
	}
	b := record.NewBuilder(flowtest.Mem(t), both)
	defer b.Release()
	if err := b.Append(&graph.Graph{}, record.Row{ID: 3}); err == nil || !strings.HasPrefix(err.Error(), "record: graph 3: the layout has Real and") {
		t.Error(err)
	}
}
