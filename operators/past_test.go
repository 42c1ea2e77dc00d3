package operators_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/past"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// paid returns the graph of the first n of rows that have two accounts, a place and an amount each, and what
// Past reads of them. A row is bad if the row before it of its first account has a large amount.
func paid(tb testing.TB, seed uint64, n, accounts int) (*sources.NodeSet, past.Rows) {
	tb.Helper()
	rng := rand.New(rand.NewPCG(seed, 9))
	rows := past.Rows{N: n, Timed: n}
	set := &sources.NodeSet{Classes: []string{"good", "bad"}, Graph: &graph.Graph{NodeCats: 1, NodeAttrs: 1, EdgeCats: 1}}
	g := set.Graph
	number := map[string]int32{}
	last := map[string]float32{}
	keys := make([][3]string, n)
	time := 0.0
	for i := range n {
		keys[i] = [3]string{fmt.Sprint("account:", rng.IntN(accounts)), fmt.Sprint("account:", rng.IntN(accounts)), fmt.Sprint("place:", rng.IntN(1+accounts/5))}
		for _, k := range keys[i] {
			number[k] = -1
		}
		time += float64(rng.IntN(3))
		rows.Time = append(rows.Time, time)
		class, amount := int32(0), rng.Float32()
		if last[keys[i][0]] > 0.5 {
			class = 1
		}
		last[keys[i][0]] = amount
		set.Class = append(set.Class, class)
		g.NodeCat, g.NodeAttr = append(g.NodeCat, 0), append(g.NodeAttr, amount)
	}
	ids := make([]string, 0, n)
	for i := range n {
		ids = append(ids, fmt.Sprint("P-", i+1))
	}
	for k := range number {
		ids = append(ids, k)
	}
	slices.Sort(ids[n:])
	for i, k := range ids[n:] {
		number[k] = int32(n + i)
		set.Class = append(set.Class, -1)
		g.NodeCat = append(g.NodeCat, int32(1+strings.Index("ap", k[:1])))
		g.NodeAttr = append(g.NodeAttr, float32(len(k)))
	}
	column := map[graph.Edge]int32{}
	var edges []graph.Edge
	for i := range keys {
		for c, k := range keys[i] {
			e := graph.Edge{U: int32(i), V: number[k]}
			if _, ok := column[e]; !ok {
				column[e] = int32(c)
				edges = append(edges, e)
			}
		}
	}
	h, err := graph.New(len(ids), false, edges)
	if err != nil {
		tb.Fatal(err)
	}
	g.Offsets, g.Neighbors = h.Offsets, h.Neighbors
	for u := range int32(g.N()) {
		for _, v := range g.Adj(u) {
			g.EdgeCat = append(g.EdgeCat, column[graph.Edge{U: min(u, v), V: max(u, v)}])
		}
	}
	set.Channels = record.Layout{
		NodeCat:  []record.Channel{{Name: "type", Card: 4, Words: []string{"payment", "user", "venue"}}},
		NodeAttr: []record.Channel{{Name: "amount"}},
		EdgeCat:  []record.Channel{{Name: "key", Card: 4, Words: []string{"from", "to", "where"}}},
	}
	if set.IDs, err = graph.IDsOfStrings(ids); err != nil {
		tb.Fatal(err)
	}
	rows.Class = slices.Clone(set.Class[:n])
	return set, rows
}

// firstRows is the numbers of the first rows.
func firstRows(n int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// rowsBehind runs operators behind a source, and returns the rows that come out.
func rowsBehind(t *testing.T, workers int, src flow.Source, ops ...flow.Operator) []string {
	t.Helper()
	var all sinks.Collect
	defer all.Release()
	p := flow.From(src).With(flow.Options{Workers: workers, Allocator: flowtest.Mem(t)})
	for _, op := range ops {
		p = p.Via(op)
	}
	if err := p.To(&all).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return flowtest.Rows(all.Records()...)
}

// asked makes the row of a past its root.
var asked = operators.Roots{Nodes: []int32{0}}

// TestPastPrefix takes the first rows of a table with and without those behind them, through fields and words: the
// rows that come out are the same, at any number of workers, also from rows of many roots.
func TestPastPrefix(t *testing.T) {
	const n, first = 400, 150
	whole, all := paid(t, 1, n, 40)
	short, some := paid(t, 1, first, 40)
	for _, s := range []past.Settings{{}, {Classes: whole.Classes, Delay: 2, Hops: 4, Nodes: 100}} {
		for name, ops := range map[string][]flow.Operator{
			"fields": {asked, operators.Assemble{K: 10}, operators.Normalize{Distances: 4, Edges: true}},
			"words":  {asked, operators.Count{Of: []count.Counter{count.Around{Bins: count.Bins{Nodes: []float32{0.25, 1}}}, count.WL{Height: 2}}, DropGraph: true}},
			"graphs": nil,
		} {
			of := func(set *sources.NodeSet, rows past.Rows, workers int) []string {
				p := operators.Past{Settings: s, Rows: rows}
				return rowsBehind(t, workers, set.Rooted(firstRows(first)), append([]flow.Operator{p}, ops...)...)
			}
			want := of(short, some, 1)
			if len(want) != first {
				t.Fatalf("%s: %d rows, want %d", name, len(want), first)
			}
			for _, workers := range []int{1, 3} {
				if got := of(whole, all, workers); !slices.Equal(got, want) {
					t.Errorf("%s, %+v, %d workers: later rows have an influence", name, s, workers)
				}
			}
		}
	}
}

// TestPastChunks compares the rows of a source of rooted rows with those of roots of one graph, which have ids
// besides.
func TestPastChunks(t *testing.T) {
	set, rows := paid(t, 2, 300, 30)
	p := operators.Past{Rows: rows, Settings: past.Settings{Classes: set.Classes}}
	fields := []flow.Operator{asked, operators.Normalize{K: 10}}
	roots := firstRows(300)
	one := rowsBehind(t, 2, set.Rooted(roots), append([]flow.Operator{p}, fields...)...)
	two := rowsBehind(t, 2, set, append([]flow.Operator{operators.Roots{Nodes: roots}, operators.Chunk{Size: 7}, p}, fields...)...)
	sorted := func(rows []string) (all []string) {
		for _, row := range rows {
			var fields []string
			for _, f := range strings.Split(row, " ") {
				if !strings.HasPrefix(f, "pos=") && !strings.HasPrefix(f, "graph_id=") {
					fields = append(fields, f)
				}
			}
			slices.Sort(fields)
			all = append(all, strings.Join(fields, " "))
		}
		return all
	}
	if len(one) != 300 || !slices.Equal(sorted(one), sorted(two)) {
		t.Errorf("%d and %d rows, want 300 equal ones:\n%.600s\nand\n%.600s", len(one), len(two), sorted(one)[0], sorted(two)[0])
	}
}
