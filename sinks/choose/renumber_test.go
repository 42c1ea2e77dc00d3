package choose_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/links"
)

// long is whether tests take all of their cases: SANFLOW_LONG is set.
var long = os.Getenv("SANFLOW_LONG") != ""

// hubs returns a graph of n nodes with many ties: random edges, triangles and squares around two
// hubs of more than 256 edges, and a node of more than 1024 if n allows it. Attributes have few values.
func hubs(n int, columns bool) *sources.NodeSet {
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	var edges []graph.Edge
	add := func(u, v int) { edges = append(edges, graph.Edge{U: int32(u), V: int32(v)}) }
	for v := 3; v < n; v++ {
		add(v%2, v)
		if v%5 == 0 {
			add(2, v)
		}
		switch v % 6 {
		case 3:
			add(v, v-2)
		case 4, 5:
			add(v, v-1)
		}
		if v%7 == 0 {
			add(v, 3+rng.IntN(n-3))
		}
	}
	g := must(graph.New(n, false, edges))
	set := &sources.NodeSet{Graph: g, Classes: []string{"a", "b"}}
	if columns {
		g.NodeCats, g.NodeAttrs, g.EdgeCats = 1, 1, 1
		set.Channels.NodeCat = []record.Channel{{Name: "kind", Card: 3}}
		set.Channels.NodeAttr = []record.Channel{{Name: "size"}}
		set.Channels.EdgeCat = []record.Channel{{Name: "type", Card: 2}}
	}
	for v := range n {
		set.Class = append(set.Class, int32((v/3+rng.IntN(3)/2)%2))
		if columns {
			g.NodeCat, g.NodeAttr = append(g.NodeCat, int32(rng.IntN(2)+v/3%2)), append(g.NodeAttr, float32(v%4)/3)
		}
	}
	for v := int32(0); columns && v < int32(n); v++ {
		for _, u := range g.Adj(v) {
			g.EdgeCat = append(g.EdgeCat, (u+v)%2)
		}
	}
	return set
}

// renumbered returns the set with other numbers of its nodes, and the new number of each node.
func renumbered(set *sources.NodeSet, seed uint64) (*sources.NodeSet, []int32) {
	rng := rand.New(rand.NewPCG(seed, 2))
	perm := make([]int32, set.Graph.N())
	for i, p := range rng.Perm(len(perm)) {
		perm[i] = int32(p)
	}
	other := *set
	other.Graph, other.Class, other.IDs = set.Graph.Renumber(perm), make([]int32, len(perm)), set.IDs.Renumber(perm)
	for v, p := range perm {
		other.Class[p] = set.Class[v]
	}
	return &other, perm
}

// answers asks a model and returns the answers of the rows.
func answers(t *testing.T, mem memory.Allocator, p *sinks.Predictor, g *graph.Graph, ids graph.IDs, rows choose.Rows) (all [][]float32) {
	t.Helper()
	asked, open, err := choose.Asked(t.Context(), p, g, ids, rows)
	if err != nil {
		t.Fatal(err)
	}
	to := sinks.Predict{Net: p.Net(), Each: func(s sinks.Prediction) error {
		all = append(all, slices.Clone(s.Probs))
		return nil
	}}
	if open != nil {
		defer open.Close()
		to.Net, to.Graph = nil, open
	}
	if err := asked.With(flow.Options{Allocator: mem, Workers: 2}).To(to).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return all
}

// Each system of nodes, with and without attributes, gives a node the same answer whatever its
// number is and in whatever order nodes are asked about. The graph has two hubs of 280 edges; if
// SANFLOW_LONG is set, of 450, in two other orders.
func TestNodesDoNotDependOnNumbers(t *testing.T) {
	race.Skip(t)
	defer leak.VerifyNone(t, leak.IgnoreCurrent())
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	n, epochs, orders := 560, 1, uint64(1)
	if long {
		n, epochs, orders = 900, 3, 2
	}
	for _, columns := range []bool{true, false} {
		set := hubs(n, columns)
		ids := make([]int64, set.Graph.N())
		for v := range ids {
			ids[v] = int64(7 * v)
		}
		if !columns {
			if err := set.Identify(); err != nil {
				t.Fatal(err)
			}
		}
		train, valid, _, err := choose.Deal(set, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range choose.Nodes(set, len(train)) {
			if s.Name == "neighbours" {
				continue // which reads ids: see TestKnown
			}
			s.Epochs = min(s.Epochs, epochs)
			if set.IDs = (graph.IDs{}); strings.HasPrefix(s.Name, "stacked") {
				set.IDs = graph.IDsOf(ids) // by which these systems know nodes
			}
			rows := func(set *sources.NodeSet, nodes []int32) choose.Rows {
				return choose.NodeRows(set, nodes)
			}
			chosen, err := choose.Choice{Systems: []choose.System{s}, Classes: set.Classes, Train: rows(set, train), Valid: rows(set, valid), Seed: 1}.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p := must(sinks.NewPredictor(chosen.Net, chosen.Recipe))
			want := answers(t, mem, p, set.Graph, set.IDs, rows(set, set.All()))
			for seed := range orders {
				other, perm := renumbered(set, seed)
				nodes := other.All()
				rand.New(rand.NewPCG(seed, 3)).Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
				at := make([]int, len(nodes))
				for i, v := range nodes {
					at[v] = i
				}
				got, differ := answers(t, mem, p, other.Graph, other.IDs, rows(other, nodes)), 0
				for v, p := range perm {
					if !slices.Equal(got[at[p]], want[v]) {
						differ++
					}
				}
				if differ > 0 {
					t.Errorf("%s, columns %t, smoothed %t: %d of %d answers differ", s.Name, columns, p.Smoothed(), differ, len(perm))
				}
			}
			_ = p.Close()
		}
	}
}

// Each system of links does not depend on the numbers of nodes or the order of pairs.
func TestLinksDoNotDependOnNumbers(t *testing.T) {
	defer leak.VerifyNone(t, leak.IgnoreCurrent())
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	set := hubs(900, false) // rows of links have no attributes
	trial := must(links.Split{MaxEdges: 300}.Hide(t.Context(), set.Graph, rand.New(rand.NewPCG(1, 1))))
	for _, s := range choose.Links(trial.Test.Graph) {
		s.Epochs = min(s.Epochs, 3)
		chosen, err := choose.Choice{Systems: []choose.System{s}, Classes: links.Classes(), Train: choose.LinkRows(trial.Folds[1:]...), Valid: choose.LinkRows(trial.Folds[0]), Seed: 1}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p := must(sinks.NewPredictor(chosen.Net, chosen.Recipe))
		want := answers(t, mem, p, nil, graph.IDs{}, choose.LinkRows(trial.Test))
		other, perm := renumbered(&sources.NodeSet{Graph: trial.Test.Graph, Class: set.Class}, 1)
		fold := links.Fold{Graph: other.Graph, Pairs: make([]links.Pair, len(trial.Test.Pairs)), Link: make([]bool, len(trial.Test.Pairs))}
		turn := rand.New(rand.NewPCG(1, 3)).Perm(len(fold.Pairs))
		for i, pair := range trial.Test.Pairs {
			fold.Pairs[turn[i]], fold.Link[turn[i]] = links.Pair{perm[pair[0]], perm[pair[1]]}, trial.Test.Link[i]
		}
		got, differ := answers(t, mem, p, nil, graph.IDs{}, choose.LinkRows(fold)), 0
		for i := range want {
			if !slices.Equal(got[turn[i]], want[i]) {
				differ++
			}
		}
		if differ > 0 {
			t.Errorf("%s: %d of %d answers differ", s.Name, differ, len(want))
		}
		_ = p.Close()
	}
}

// Each system of graphs does not depend on the numbers of nodes or the order of graphs.
func TestGraphsDoNotDependOnNumbers(t *testing.T) {
	race.Skip(t)
	defer leak.VerifyNone(t, leak.IgnoreCurrent())
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	for _, columns := range []bool{true, false} {
		var items, others []sources.Item
		var layout record.Layout
		for i := range 40 {
			set := hubs(12+i, columns)
			layout = set.Layout()
			other, _ := renumbered(set, uint64(i))
			items = append(items, sources.Item{ID: int64(i), Class: int32(i % 2), Graph: set.Graph})
			others = append(others, sources.Item{ID: int64(i), Class: int32(i % 2), Graph: other.Graph})
		}
		layout.Classes, layout.NodeClasses = []string{"a", "b"}, nil
		slices.Reverse(others)
		rows := func(items []sources.Item) choose.Rows {
			return choose.GraphRows(sources.Graphs{Items: items, Layout: layout})
		}
		for _, s := range choose.Graphs(layout, 30) {
			s.Epochs = min(s.Epochs, 3)
			chosen, err := choose.Choice{Systems: []choose.System{s}, Classes: layout.Classes, Train: rows(items[:30]), Valid: rows(items[30:]), Seed: 1}.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p := must(sinks.NewPredictor(chosen.Net, chosen.Recipe))
			want, got := answers(t, mem, p, nil, graph.IDs{}, rows(items)), answers(t, mem, p, nil, graph.IDs{}, rows(others))
			slices.Reverse(got)
			for i := range want {
				if !slices.Equal(got[i], want[i]) {
					t.Errorf("%s, columns %t: graph %d: %v, want %v", s.Name, columns, i, got[i], want[i])
				}
			}
			_ = p.Close()
		}
	}
}
