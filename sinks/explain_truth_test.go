package sinks_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/tu"
)

// scoredEdge is the weight of an edge in an explanation, and whether the edge is a reason.
type scoredEdge struct {
	weight float64
	reason bool
}

// edgeAUC is the probability that a reason weighs more than another edge; equal ones count
// half.
func edgeAUC(all []scoredEdge) float64 {
	slices.SortFunc(all, func(a, b scoredEdge) int { return cmp.Compare(a.weight, b.weight) })
	var ranks, reasons float64
	for i := 0; i < len(all); {
		j, here := i, 0.0
		for ; j < len(all) && all[j].weight == all[i].weight; j++ {
			if all[j].reason {
				here++
			}
		}
		ranks += here * float64(i+1+j) / 2
		reasons += here
		i = j
	}
	return (ranks - reasons*(reasons+1)/2) / (reasons * (float64(len(all)) - reasons))
}

// truthOf trains a model on four fifths of some graphs, and compares the
// explanations of the others with the edges that are reasons. class is the class to
// explain, of graphs of that class alone; "" = each graph's prediction.
func truthOf(t *testing.T, net nn.Model, recipe operators.Recipe, items []sources.Item, l record.Layout, reason func(i int, e sinks.EdgeWeight) bool, class string, most int, seed uint64) (auc, accuracy float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 28))
	var train []sources.Item
	var test []int
	for i := range items {
		if rng.IntN(5) == 0 {
			test = append(test, i)
		} else {
			train = append(train, items[i])
		}
	}
	fit := sinks.Fit{Net: net, Epochs: 30}
	if os.Getenv("SANFLOW_LONG") != "" && nn.HoldsOut(net) {
		fit.Epochs, fit.Patience = 100, 10
	}
	if _, err := fit.Run(context.Background(), recipe.Onto(flow.From(sources.Graphs{Items: train, Layout: l}))); err != nil {
		t.Fatal(err)
	}
	p, err := sinks.NewPredictor(net, recipe)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var all []scoredEdge
	right, explained := 0, 0
	for _, i := range test {
		a, err := p.Predict(context.Background(), items[i].Graph)
		if err != nil {
			t.Fatal(err)
		}
		if int32(a.Index) == items[i].Class {
			right++
		}
		if class != "" && l.Classes[items[i].Class] != class || explained == most {
			continue
		}
		e, err := p.Explain(context.Background(), items[i].Graph, sinks.ExplainOptions{Class: class, Members: -1})
		if err != nil {
			t.Fatal(err)
		}
		var edges []scoredEdge
		for _, edge := range e.Edges {
			edges = append(edges, scoredEdge{edge.Weight, reason(i, edge)})
		}
		if slices.ContainsFunc(edges, func(e scoredEdge) bool { return e.reason }) {
			all = append(all, edges...)
			explained++
		}
	}
	return edgeAUC(all), float64(right) / float64(len(test))
}

// recommended is the recipe of the recommended model.
func recommended(l record.Layout) operators.Recipe {
	return operators.Recipe{operators.Expect{Layout: l}, operators.Count{Of: count.Standard()}}
}

// On BA-2motifs the edges of the motifs weigh most.
func TestExplainBA2Motifs(t *testing.T) {
	seeds, size := uint64(1), 100
	if os.Getenv("SANFLOW_LONG") != "" {
		seeds, size = 10, 1000
	}
	for seed := range seeds {
		var items []sources.Item
		var motifs []planted
		for i := range size {
			p, err := ba2Motifs(i%2, seed*uint64(size)+uint64(i))
			if err != nil {
				t.Fatal(err)
			}
			motifs = append(motifs, p)
			items = append(items, sources.Item{Graph: p.Graph, Class: int32(i % 2)})
		}
		l := record.Layout{Classes: []string{"house", "cycle"}}
		reason := func(i int, e sinks.EdgeWeight) bool { return motifs[i].inMotif(e.Source, e.Target) }
		auc, accuracy := truthOf(t, nn.Best(), recommended(l), items, l, reason, "", -1, seed)
		t.Logf("BA-2motifs, seed %d: accuracy %.4f, AUC of edges %.4f", seed, accuracy, auc)
		if auc < 0.99 {
			t.Errorf("seed %d: AUC of edges %.4f, want 0.99 or more", seed, auc)
		}
		if seeds == 1 {
			continue
		}
		fields := operators.Recipe{
			operators.Expect{Layout: l}, operators.Channel{By: labeling.NormalizedDegree}, operators.Select{W: 25, By: labeling.Betweenness},
			operators.Assemble{K: 10}, operators.Normalize{By: labeling.WL, Edges: true},
		}
		for _, net := range []nn.Model{&nn.CNN{Dropout: -1, Seed: seed}, &nn.PSLR{}} {
			auc, accuracy := truthOf(t, net, fields, items, l, reason, "", -1, seed)
			t.Logf("BA-2motifs, seed %d: %T, occlusion: accuracy %.4f, AUC of edges %.4f", seed, net, accuracy, auc)
		}
	}
}

// In mutagens of Mutagenicity the bonds of NO2 and NH2 weigh most. As published (Miao, Liu and
// Li, Interpretable and generalizable graph learning via stochastic attention mechanism, ICML
// 2022) mutagens without these groups are left out: of those it is not known why they are
// mutagens. It logs what comes of all graphs too.
func TestExplainMutagenicity(t *testing.T) {
	dir := os.Getenv("SANFLOW_DATA")
	if dir == "" || os.Getenv("SANFLOW_LONG") == "" {
		t.Skip("SANFLOW_DATA and SANFLOW_LONG are not set")
	}
	src := tu.Source{Path: filepath.Join(dir, "tu", "Mutagenicity.zip")}
	graphs, layout := collectedGraphs(t, src)
	_, class := countsIn(t, flow.From(src).Via(operators.Count{Of: []count.Counter{count.Size{}}}))
	for _, published := range []bool{true, false} {
		var items []sources.Item
		var reasons []map[graph.Edge]bool
		arcs := 0
		for i, g := range graphs {
			groups := mutagenicGroups(g)
			if published && layout.Classes[class[i]] == "0" && len(groups) == 0 {
				continue
			}
			arcs += 2 * len(groups)
			items, reasons = append(items, sources.Item{Graph: g, Class: class[i]}), append(reasons, groups)
		}
		if !published && arcs != 7352 {
			t.Errorf("there are %d arcs in groups, want 7352", arcs)
		}
		for _, c := range []struct {
			net    func(seed uint64) nn.Model
			recipe operators.Recipe
		}{
			{func(uint64) nn.Model { return nn.Best() }, recommended(layout)},
			{func(seed uint64) nn.Model { return &nn.CNN{Seed: seed} }, paperNet(layout, 30)},
			{func(uint64) nn.Model { return &nn.PSLR{} }, paperNet(layout, 30)},
		} {
			for seed := range uint64(10) {
				net := c.net(seed)
				auc, accuracy := truthOf(t, net, c.recipe, items, layout, func(i int, e sinks.EdgeWeight) bool { return reasons[i][graph.Edge{U: e.Source, V: e.Target}] }, "0", -1, seed)
				t.Logf("Mutagenicity, %d graphs, as published %v, %T, seed %d: accuracy %.4f, AUC of edges %.4f", len(items), published, net, seed, accuracy, auc)
				if _, exact := net.(nn.Additive); exact && published && auc < 0.97 {
					t.Errorf("seed %d: AUC of edges %.4f, want 0.97 or more", seed, auc)
				}
			}
		}
	}
}

// mutagenicGroups returns the bonds N–O of the groups NO2, and N–H of the groups NH2: of an N
// with two O or two H at the ends, and a third neighbour that is no O. These are the 7352 arcs
// that the published file of the edges in motifs has (Luo and others 2020).
func mutagenicGroups(g *graph.Graph) map[graph.Edge]bool {
	const oxygen, hydrogen, nitrogen = 1, 3, 4
	bonds := map[graph.Edge]bool{}
	for v := range int32(g.N()) {
		for _, atom := range []int32{oxygen, hydrogen} {
			var ends []int32
			other := int32(oxygen)
			for _, u := range g.Adj(v) {
				if g.NodeCat[u] == atom && g.Degree(u) == 1 {
					ends = append(ends, u)
				} else {
					other = g.NodeCat[u]
				}
			}
			if g.NodeCat[v] == nitrogen && g.Degree(v) == 3 && len(ends) == 2 && other != oxygen {
				for _, u := range ends {
					bonds[graph.Edge{U: min(u, v), V: max(u, v)}] = true
				}
			}
		}
	}
	return bonds
}
