package choose_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
)

// payers is a random graph whose nodes have an age, of which a quarter are missing, and whose edges have an amount.
func payers(rng *rand.Rand, n, m int) *graph.Graph {
	var edges []graph.Edge
	for v := range int32(n) {
		edges = append(edges, graph.Edge{U: v, V: (v + 1) % int32(n)})
	}
	for range m - n {
		if u, v := rng.Int32N(int32(n)), rng.Int32N(int32(n)); u != v {
			edges = append(edges, graph.Edge{U: u, V: v})
		}
	}
	g := must(graph.New(n, false, edges))
	g.NodeAttrs, g.EdgeAttrs, g.EdgeAttr = 1, 1, make([]float32, len(g.Neighbors))
	for v := range int32(n) {
		age := float32(20 + 10*rng.ExpFloat64())
		if rng.IntN(4) == 0 {
			age = float32(math.NaN())
		}
		g.NodeAttr = append(g.NodeAttr, age)
		for i, u := range g.Adj(v) {
			at := int(g.Offsets[v]) + i
			if g.EdgeAttr[at] = float32(math.Exp(2 * rng.NormFloat64())); u < v {
				g.EdgeAttr[at] = g.EdgeAttr[g.Entry(u, v)]
			}
		}
	}
	return g
}

var payersLayout = record.Layout{NodeAttr: []record.Channel{{Name: "age"}}, EdgeAttr: []record.Channel{{Name: "amount"}}}

func meanOf(list []float32) (mean float32) {
	n := float32(0)
	for _, x := range list {
		if x == x {
			mean, n = mean+x, n+1
		}
	}
	return mean / max(n, 1)
}

// agesAround are the ages of the neighbours of a node.
func agesAround(g *graph.Graph, v int32) (ages []float32) {
	for _, u := range g.Adj(v) {
		ages = append(ages, g.NodeAttr[u])
	}
	return ages
}

// halves returns class 1 for the rows above the middle of a number.
func halves(numbers []float32) (class []int32) {
	sorted := slices.Sorted(slices.Values(numbers))
	for _, x := range numbers {
		c := int32(0)
		if x > sorted[len(sorted)/2] {
			c = 1
		}
		class = append(class, c)
	}
	return class
}

// accuracy trains the recommended linear model, and trees, and returns the accuracy of each on other rows.
func accuracy(t *testing.T, all []choose.System, train, valid, test choose.Rows) map[string]float64 {
	t.Helper()
	found := map[string]float64{}
	for _, s := range must(choose.Pick(all, []string{"words", "trees"})) {
		chosen, err := choose.Choice{Systems: []choose.System{s}, Classes: []string{"no", "yes"}, Train: train, Valid: valid, Seed: 1}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m := choose.NewMeasures([]string{"no", "yes"})
		if err := test(chosen.Recipe).To(sinks.Predict{Net: chosen.Net, Each: m.Add}).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		found[s.Name] = m.Accuracy()
	}
	return found
}

// A class that one number decides is learned to 95 %: a number of the node that is missing, and numbers of its neighbours and
// edges, also of nodes that are listed in another order. If SANFLOW_LONG is set these are three more numbers.
func TestNumberDecidesNodes(t *testing.T) {
	race.Skip(t)
	rng := rand.New(rand.NewPCG(39, 3))
	g := payers(rng, 1500, 4500)
	amounts := func(g *graph.Graph, v int32) []float32 { return g.EdgeAttr[g.Offsets[v]:g.Offsets[v+1]] }
	numbers := map[string]func(g *graph.Graph, v int32) float32{
		"age": func(g *graph.Graph, v int32) float32 { return g.NodeAttr[v] },
		"no age": func(g *graph.Graph, v int32) float32 {
			if age := g.NodeAttr[v]; age == age {
				return 0
			}
			return 1
		},
		"mean age of the neighbours": func(g *graph.Graph, v int32) float32 { return meanOf(agesAround(g, v)) },
		"largest age of the neighbours": func(g *graph.Graph, v int32) (most float32) {
			for _, age := range agesAround(g, v) {
				if age > most {
					most = age
				}
			}
			return most
		},
		"largest amount": func(g *graph.Graph, v int32) float32 { return slices.Max(amounts(g, v)) },
		"mean amount":    func(g *graph.Graph, v int32) float32 { return meanOf(amounts(g, v)) },
		"sum of amounts": func(g *graph.Graph, v int32) float32 { return meanOf(amounts(g, v)) * float32(g.Degree(v)) },
	}
	if !long {
		delete(numbers, "age")
		delete(numbers, "largest age of the neighbours")
		delete(numbers, "mean amount")
	}
	for name, number := range numbers {
		set := &sources.NodeSet{Graph: g, Classes: []string{"no", "yes"}}
		set.Channels.NodeAttr, set.Channels.EdgeAttr = payersLayout.NodeAttr, payersLayout.EdgeAttr
		var numbers []float32
		for v := range int32(g.N()) {
			numbers = append(numbers, number(g, v))
		}
		set.Class = halves(numbers)
		set, _ = renumbered(set, 1)
		train, valid, test, err := choose.Deal(set, 1)
		if err != nil {
			t.Fatal(err)
		}
		for system, got := range accuracy(t, choose.Nodes(set, len(train)), choose.NodeRows(set, train), choose.NodeRows(set, valid), choose.NodeRows(set, test)) {
			t.Logf("%s: %s has %.1f %%", name, system, got)
			if got < 95 {
				t.Errorf("%s: %s has %.1f %%, want 95", name, system, got)
			}
		}
	}
}

// The same of graphs: the mean of a number of their nodes, and a sum and the largest of their edges; if SANFLOW_LONG is set
// the largest of their nodes as well.
func TestNumberDecidesGraphs(t *testing.T) {
	race.Skip(t)
	rng := rand.New(rand.NewPCG(39, 4))
	var graphs []*graph.Graph
	for range 900 {
		n := 8 + rng.IntN(10)
		graphs = append(graphs, payers(rng, n, n+rng.IntN(n)))
	}
	decides := map[string]func(g *graph.Graph) float32{
		"mean age": func(g *graph.Graph) float32 { return meanOf(g.NodeAttr) },
		"largest age": func(g *graph.Graph) (most float32) {
			for _, age := range g.NodeAttr {
				if age > most {
					most = age
				}
			}
			return most
		},
		"largest amount": func(g *graph.Graph) float32 { return slices.Max(g.EdgeAttr) },
		"sum of amounts": func(g *graph.Graph) float32 { return meanOf(g.EdgeAttr) * float32(len(g.EdgeAttr)) },
	}
	if !long {
		delete(decides, "largest age")
	}
	for name, number := range decides {
		var numbers []float32
		for _, g := range graphs {
			numbers = append(numbers, number(g))
		}
		class, l := halves(numbers), payersLayout
		l.Classes = []string{"no", "yes"}
		var items []sources.Item
		for i, g := range graphs {
			perm := make([]int32, g.N())
			for v, p := range rng.Perm(g.N()) {
				perm[v] = int32(p)
			}
			items = append(items, sources.Item{ID: int64(i), Graph: g.Renumber(perm), Class: class[i]})
		}
		rows := func(items []sources.Item) choose.Rows {
			return choose.GraphRows(sources.Graphs{Items: items, Layout: l})
		}
		for system, got := range accuracy(t, choose.Graphs(l, 12), rows(items[:600]), rows(items[600:750]), rows(items[750:])) {
			t.Logf("%s: %s has %.1f %%", name, system, got)
			if got < 95 {
				t.Errorf("%s: %s has %.1f %%, want 95", name, system, got)
			}
		}
	}
}
