package sinks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// explainedGraphs are random graphs of typed nodes and edges, of a class by how many edges
// they have.
func explainedGraphs(n int) (items []sources.Item, layout record.Layout) {
	rng := rand.New(rand.NewPCG(28, 4))
	for range n {
		size := 4 + rng.IntN(10)
		var edges []graph.Edge
		for v := range int32(size) {
			for u := range v {
				if rng.IntN(3) == 0 {
					edges = append(edges, graph.Edge{U: u, V: v})
				}
			}
		}
		g, err := graph.New(size, false, edges)
		if err != nil {
			panic(err)
		}
		g.NodeCats, g.EdgeCats = 1, 1
		for range size {
			g.NodeCat = append(g.NodeCat, rng.Int32N(3))
		}
		for v := range int32(size) {
			for _, u := range g.Adj(v) {
				g.EdgeCat = append(g.EdgeCat, (u+v)%2)
			}
		}
		items = append(items, sources.Item{Graph: g, Class: int32(min(2, g.M()/9)), Value: float32(1000 + g.M())})
	}
	return items, record.Layout{
		NodeCat: []record.Channel{record.WordsChannel("atom", []string{"<C>", "N", "O"})},
		EdgeCat: []record.Channel{{Name: "bond", Card: 2}},
		Classes: []string{"few", "some", "many"},
	}
}

func explainer(t testing.TB, net nn.Model, r operators.Recipe, items []sources.Item, l record.Layout) *sinks.Predictor {
	t.Helper()
	if _, err := (sinks.Fit{Net: net, Epochs: 5, Last: true}).Run(context.Background(), r.Onto(flow.From(sources.Graphs{Items: items, Layout: l}))); err != nil {
		t.Fatal(err)
	}
	p, err := sinks.NewPredictor(net, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// sums checks that an explanation adds up, to what the model answers.
func sums(t *testing.T, e *sinks.Explanation, classes []string) {
	t.Helper()
	words, parts := e.Bias, e.Bias+e.Graph
	for _, w := range e.Words {
		words += w.Weight
	}
	for _, c := range e.Columns {
		words, parts = words+c.Weight, parts+c.Weight
	}
	for _, v := range e.Nodes {
		parts += v.Weight
	}
	for _, v := range e.Edges {
		parts += v.Weight
	}
	want := float64(e.Value)
	if len(e.Probs) > 0 {
		at := slices.Index(classes, e.Class)
		want = math.Log(float64(e.Probs[at]))
		for _, p := range e.Probs {
			want -= math.Log(float64(p)) / float64(len(e.Probs))
		}
	}
	tolerance := 1e-5 * max(1, math.Abs(want))
	if math.Abs(e.Sum-want) > tolerance || math.Abs(parts-want) > tolerance || e.Method == "exact" && math.Abs(words-want) > tolerance {
		t.Fatalf("%s of %s: the sum is %v, of words %v, of parts %v, want %v", e.Method, e.Class, e.Sum, words, parts, want)
	}
}

// What is explained adds up to the answer for each model, does not depend on the numbers of
// the nodes, and is the same each time.
func TestExplain(t *testing.T) {
	race.Skip(t)
	t.Cleanup(func() { leak.VerifyNone(t) })
	items, layout := explainedGraphs(40)
	counts := operators.Recipe{operators.Expect{Layout: layout}, operators.Count{Of: count.Standard()}}
	values := layout
	values.Classes, values.Real = nil, true
	numbers := operators.Recipe{operators.Expect{Layout: values}, counts[1]}
	fields := operators.Recipe{
		operators.Expect{Layout: layout}, operators.Select{W: 12, By: labeling.Betweenness}, operators.Assemble{K: 4}, operators.Normalize{Edges: true},
	}
	for _, c := range []struct {
		net    nn.Model
		recipe operators.Recipe
		layout record.Layout
	}{
		{nn.Best(), counts, layout},
		{&nn.Logistic{Kernel: nn.Cosine, Width: 128}, counts, layout},
		{&nn.Logistic{Kernel: nn.Linear, Heads: 2}, counts, layout},
		{&nn.Logistic{Kernel: nn.Min, Heads: 3}, numbers, values},
		{&nn.CNN{Dropout: -1}, fields, layout},
		{&nn.PSLR{}, fields, layout},
	} {
		t.Run(fmt.Sprintf("%T,%t", c.net, c.layout.Real), func(t *testing.T) {
			p := explainer(t, c.net, c.recipe, items, c.layout)
			for i, item := range items[:6] {
				g := item.Graph
				e, err := p.Explain(context.Background(), g, sinks.ExplainOptions{})
				if err != nil {
					t.Fatal(err)
				}
				sums(t, e, p.Classes())
				if len(e.Nodes) != g.N() || len(e.Edges) != g.M() {
					t.Fatalf("%d nodes and %d edges, want %d and %d", len(e.Nodes), len(e.Edges), g.N(), g.M())
				}
				again, err := p.Explain(context.Background(), g, sinks.ExplainOptions{})
				if err != nil {
					t.Fatal(err)
				}
				one, err := json.Marshal(e)
				two, err2 := json.Marshal(again)
				if err != nil || err2 != nil || string(one) != string(two) {
					t.Fatalf("graph %d: not the same twice: %v %v", i, err, err2)
				}
				if e.Method == "occlusion" {
					continue // which of equal roots are selected may differ
				}
				perm := make([]int32, g.N())
				for v := range perm {
					perm[v] = int32(len(perm) - 1 - v)
				}
				other, err := p.Explain(context.Background(), g.Renumber(perm), sinks.ExplainOptions{})
				if err != nil {
					t.Fatal(err)
				}
				for v := range e.Nodes {
					if w := other.Nodes[perm[v]].Weight; math.Abs(w-e.Nodes[v].Weight) > 1e-6*max(1, math.Abs(e.Sum)) {
						t.Fatalf("graph %d: node %d has the weight %v, renumbered %v", i, v, e.Nodes[v].Weight, w)
					}
				}
			}
			for _, class := range p.Classes() {
				e, err := p.Explain(context.Background(), items[0].Graph, sinks.ExplainOptions{Class: class, Members: 2})
				if err != nil {
					t.Fatal(err)
				}
				sums(t, e, p.Classes())
				for _, w := range e.Words {
					if len(w.Members) > 2 || w.Capped && len(w.Members) < 2 {
						t.Fatalf("%d members of %q", len(w.Members), w.Text)
					}
				}
			}
			if _, err := p.Explain(context.Background(), items[0].Graph, sinks.ExplainOptions{Class: "none"}); err == nil {
				t.Error("a class that there is not: want an error")
			}
		})
	}
}

// Words and their weights are those of count.Of and of the model's Contributions.
func TestExplainWords(t *testing.T) {
	items, layout := explainedGraphs(30)
	recipe := operators.Recipe{operators.Expect{Layout: layout}, operators.Count{Of: []count.Counter{count.WL{Height: 1}, count.Size{}}}}
	p := explainer(t, nn.Best(), recipe, items, layout)
	g, err := graph.New(2, false, []graph.Edge{{U: 0, V: 1}})
	if err != nil {
		t.Fatal(err)
	}
	g.NodeCat, g.NodeCats, g.EdgeCat, g.EdgeCats = []int32{0, 2}, 1, []int32{1, 1}, 1
	e, err := p.Explain(context.Background(), g, sinks.ExplainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	about := map[string]string{}
	for _, w := range e.Words {
		about[w.Text] = fmt.Sprint(w.Occurrences, w.Members)
	}
	for text, want := range map[string]string{
		"wl, 0: [<C>]": "1 [[0]]", "wl, 0: O": "1 [[1]]", "size: nodes": "2 []", "size: edges": "1 []",
	} {
		if about[text] != want {
			t.Errorf("%q: %q, want %q; there are %v", text, about[text], want, about)
		}
	}
}

// occlusions checks the weights of an explanation by occlusion with the answers for the graph without each node and edge.
func occlusions(t *testing.T, e *sinks.Explanation, ask func(r sinks.Removal) (sinks.Answer, error)) {
	t.Helper()
	check := func(weight float64, r sinks.Removal) {
		a, err := ask(r)
		if err != nil {
			t.Fatal(err)
		}
		class := slices.Index(e.Classes, e.Class)
		sum := 0.
		for i, p := range a.Probs {
			x := math.Log(max(float64(p), 1e-12))
			sum -= x / float64(len(a.Probs))
			if i == class {
				sum += x
			}
		}
		if math.Abs(e.Sum-sum-weight) > 1e-9 {
			t.Errorf("%+v: weight %v, want %v", r, weight, e.Sum-sum)
		}
	}
	if e.Method != "occlusion" || len(e.Nodes) == 0 || len(e.Edges) == 0 {
		t.Fatalf("method %s, %d nodes, %d edges", e.Method, len(e.Nodes), len(e.Edges))
	}
	for _, v := range e.Nodes {
		check(v.Weight, sinks.Removal{Nodes: []int32{v.ID}})
	}
	for _, x := range e.Edges {
		check(x.Weight, sinks.Removal{Edges: []graph.Edge{{U: x.Source, V: x.Target}}})
	}
}

// A weight by occlusion is what the answer loses without the node or edge, of all nodes and edges of a graph.
func TestOcclusion(t *testing.T) {
	t.Cleanup(func() { leak.VerifyNone(t) })
	items, layout := explainedGraphs(30)
	p := explainer(t, &nn.CNN{Dropout: -1}, operators.Recipe{operators.Expect{Layout: layout}, operators.Select{W: 4}, operators.Assemble{K: 6}, operators.Normalize{Edges: true}}, items, layout)
	g := items[3].Graph
	e, err := p.Explain(t.Context(), g, sinks.ExplainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Nodes) != g.N() || len(e.Edges) != g.M() {
		t.Errorf("%d nodes and %d edges, want %d and %d", len(e.Nodes), len(e.Edges), g.N(), g.M())
	}
	occlusions(t, e, func(r sinks.Removal) (sinks.Answer, error) {
		all, err := p.Without(t.Context(), g, r)
		if err != nil {
			return sinks.Answer{}, err
		}
		return all[0], nil
	})
}

// An answer about a node is explained by what is around it.
func TestOpenGraphExplain(t *testing.T) {
	t.Cleanup(func() { leak.VerifyNone(t) })
	items, layout := explainedGraphs(40)
	g := items[1].Graph
	layout.Classes = []string{"a", "b"}
	for _, c := range []struct {
		of    count.Counter
		roots []int32
	}{{count.Around{Hops: 2}, []int32{2}}, {count.Pair{}, []int32{0, 3}}} {
		rooted := operators.Recipe{operators.Expect{Layout: layout}, operators.Roots{Nodes: c.roots}, operators.Count{Of: []count.Counter{c.of}, DropGraph: true}}
		for i := range items {
			items[i].Class = int32(i % 2)
		}
		p := explainer(t, nn.Best(), rooted, items, layout)
		open, err := p.Open(context.Background(), g)
		if err != nil {
			t.Fatal(err)
		}
		e, err := open.Explain(context.Background(), sinks.ExplainOptions{}, c.roots...)
		if err != nil {
			t.Fatal(err)
		}
		sums(t, e, p.Classes())
		if !slices.Equal(e.Roots, c.roots) || len(e.Words) == 0 || len(e.Nodes) == 0 {
			t.Errorf("%s: roots %v, %d words, %d nodes", c.of, e.Roots, len(e.Words), len(e.Nodes))
		}
		if _, err := open.Explain(context.Background(), sinks.ExplainOptions{}, 1, 2, 3); err == nil {
			t.Error("three roots: want an error")
		}
		if err := open.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// An answer about roots is explained for every model, and adds up. It does not depend on
// what is far from them.
func TestExplainRoots(t *testing.T) {
	t.Cleanup(func() { leak.VerifyNone(t) })
	items, layout := explainedGraphs(40)
	layout.Classes = []string{"a", "b"}
	for i := range items {
		items[i].Class = int32(i % 2)
	}
	for _, c := range []struct {
		method string
		net    nn.Model
		roots  []int32
		ops    operators.Recipe
	}{
		{"exact", nn.Best(), []int32{2}, operators.Recipe{operators.Count{Of: []count.Counter{count.Around{Hops: 2}}}}},
		{"exact", nn.Best(), []int32{2}, operators.Recipe{operators.Count{Of: []count.Counter{count.Fields{K: []int{3, 5}, Selected: true}}}}},
		{"exact", nn.Best(), []int32{0, 3}, operators.Recipe{operators.Count{Of: []count.Counter{count.Pair{}}}}},
		{"occlusion", &nn.Pooled{Maps: 8}, []int32{2}, operators.Recipe{operators.Assemble{K: 6}, operators.Normalize{Distances: 3, IgnoreAttributes: true}}},
		{"occlusion", &nn.CNN{Dropout: -1}, []int32{2}, operators.Recipe{operators.Assemble{K: 6}, operators.Normalize{Edges: true}}},
		{"occlusion", &nn.CNN{Dropout: -1}, []int32{0, 3}, operators.Recipe{operators.Assemble{K: 6}, operators.Normalize{}}},
		{"votes", &nn.Pooled{Maps: 8}, []int32{2}, operators.Recipe{operators.Assemble{K: 6}, operators.Normalize{Distances: 3, IgnoreAttributes: true}}},
	} {
		t.Run(fmt.Sprintf("%T,%s,%d", c.net, c.method, len(c.roots)), func(t *testing.T) {
			r := append(operators.Recipe{operators.Expect{Layout: layout}, operators.Roots{Nodes: c.roots}}, c.ops...)
			p := explainer(t, c.net, r, items, layout)
			if c.method == "votes" {
				if err := (sinks.Smoothing{Share: 0.8}).Keep(c.net.(nn.Saver)); err != nil {
					t.Fatal(err)
				}
				if err := sinks.Temperature(1.5).Keep(c.net.(nn.Saver)); err != nil {
					t.Fatal(err)
				}
				var err error
				if p, err = sinks.NewPredictor(c.net, r); err != nil {
					t.Fatal(err)
				}
				defer p.Close()
			}
			g := items[1].Graph
			e, err := p.ExplainRoots(t.Context(), g, sinks.ExplainOptions{}, c.roots...)
			if err != nil {
				t.Fatal(err)
			}
			sums(t, e, p.Classes())
			a, err := p.PredictRoots(t.Context(), g, c.roots...)
			if err != nil || e.Predicted != a[0].Class || e.Method != c.method || !slices.Equal(e.Roots, c.roots) || len(e.Nodes) == 0 {
				t.Fatalf("%v: %+v of %+v", err, e, a)
			}
			for i, x := range a[0].Probs {
				if math.Abs(float64(x-e.Probs[i])) > 1e-6 {
					t.Errorf("%v, want %v", e.Probs, a[0].Probs)
				}
			}
			other, err := p.ExplainRoots(t.Context(), g, sinks.ExplainOptions{Class: "b"}, c.roots...)
			if err != nil || other.Class != "b" {
				t.Fatal(other, err)
			}
			sums(t, other, p.Classes())
			if _, ok := c.ops[0].(operators.Count); ok && len(c.roots) == 2 {
				return // count.Pair knows the number of edges
			}
			// A thousand pairs of nodes that no path joins with the roots.
			var edges []graph.Edge
			n := int32(g.N())
			for v := range n {
				for _, u := range g.Adj(v) {
					edges = append(edges, graph.Edge{U: v, V: u})
				}
			}
			const more = 2500
			for v := n; v < n+more; v += 2 {
				edges = append(edges, graph.Edge{U: v, V: v + 1})
			}
			h, err := graph.New(int(n)+more, false, edges)
			if err != nil {
				t.Fatal(err)
			}
			h.NodeCats, h.EdgeCats = 1, 1
			h.NodeCat = append(slices.Clone(g.NodeCat), make([]int32, more)...)
			h.EdgeCat = append(slices.Clone(g.EdgeCat), make([]int32, more)...)
			far, err := p.ExplainRoots(t.Context(), h, sinks.ExplainOptions{}, c.roots...)
			if err != nil {
				t.Fatal(err)
			}
			one, _ := json.Marshal(e)
			two, _ := json.Marshal(far)
			if string(one) != string(two) {
				t.Errorf("in a larger graph the explanation is another one:\n%.2000s\n%.2000s", one, two)
			}
			if _, err := p.ExplainRoots(t.Context(), g, sinks.ExplainOptions{}, 99); err == nil {
				t.Error("a node that there is not: want an error")
			}
			if _, err := p.ExplainRoots(t.Context(), g, sinks.ExplainOptions{Class: "none"}, c.roots...); err == nil {
				t.Error("a class that there is not: want an error")
			}
		})
	}
}

// Of an answer about roots, the roots are not removed, and a node that is removed keeps its number.
func TestOcclusionOfRoots(t *testing.T) {
	t.Cleanup(func() { leak.VerifyNone(t) })
	items, layout := explainedGraphs(30)
	for _, roots := range [][]int32{{0}, {0, 3}} {
		recipe := operators.Recipe{operators.Expect{Layout: layout}, operators.Roots{Nodes: roots}, operators.Assemble{K: 6}, operators.Normalize{Edges: true, Global: true}}
		p := explainer(t, &nn.CNN{Dropout: -1}, recipe, items, layout)
		g := items[3].Graph
		e, err := p.ExplainRoots(t.Context(), g, sinks.ExplainOptions{}, roots...)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(e.Nodes, func(v sinks.NodeWeight) bool { return slices.Contains(roots, v.ID) }) || !slices.Equal(e.Roots, roots) {
			t.Errorf("roots %v, nodes %v", e.Roots, e.Nodes)
		}
		occlusions(t, e, func(r sinks.Removal) (sinks.Answer, error) {
			all, err := p.WithoutRoots(t.Context(), g, roots, r)
			if err != nil {
				return sinks.Answer{}, err
			}
			return all[0], nil
		})
	}
}

// A wrong number of ids is an error, and ids name the nodes of an explanation.
func TestExplainIDs(t *testing.T) {
	items, layout := explainedGraphs(12)
	r := recommended(layout)
	p := explainer(t, nn.Best(), r, items, layout)
	g := items[0].Graph
	ids := make([]int64, g.N())
	for v := range ids {
		ids[v] = int64(100 + v)
	}
	if _, err := p.Explain(t.Context(), g, sinks.ExplainOptions{IDs: graph.IDsOf(ids[1:])}); err == nil || !strings.Contains(err.Error(), "ids, want one for each of the") {
		t.Errorf("%v, want an error", err)
	}
	e, err := p.Explain(t.Context(), g, sinks.ExplainOptions{IDs: graph.IDsOf(ids)})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range e.Nodes {
		if v.Name.String() != fmt.Sprint(100+v.ID) {
			t.Errorf("node %d is called %v", v.ID, v.Name)
		}
	}
}
