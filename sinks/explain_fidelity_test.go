package sinks_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/tu"
)

// removedNodes are how many nodes are removed, those with the largest weights.
var removedNodes = []int{1, 2, 4, 8}

// curve is by how much the probability of the predicted class falls without so many nodes,
// and, last, the mean of these: the area under the curve.
type curve struct {
	sum, squares []float64
	n            float64
}

func (c *curve) add(falls []float64) {
	area := 0.0
	for _, x := range falls {
		area += x / float64(len(falls))
	}
	falls = append(falls, area)
	if c.sum == nil {
		c.sum, c.squares = make([]float64, len(falls)), make([]float64, len(falls))
	}
	for i, x := range falls {
		c.sum[i] += x
		c.squares[i] += x * x
	}
	c.n++
}

// at returns a mean with its standard error.
func (c *curve) at(i int) (mean, err float64) {
	mean = c.sum[i] / c.n
	return mean, math.Sqrt(max(0, c.squares[i]/c.n-mean*mean) / (c.n - 1))
}

func (c *curve) String() string {
	var text []string
	for i := range c.sum {
		mean, err := c.at(i)
		text = append(text, fmt.Sprintf("%.3f ± %.3f", mean, err))
	}
	return strings.Join(text, " | ")
}

// weighty are the nodes of an explanation, but for its roots, the largest weight first: their
// own with half of those of their edges.
func weighty(e *sinks.Explanation) []int32 {
	weight := map[int32]float64{}
	var nodes []int32
	for _, v := range e.Nodes {
		weight[v.ID] = v.Weight
		if !slices.Contains(e.Roots, v.ID) {
			nodes = append(nodes, v.ID)
		}
	}
	if e.Method == "exact" {
		for _, edge := range e.Edges {
			weight[edge.Source] += edge.Weight / 2
			weight[edge.Target] += edge.Weight / 2
		}
	}
	slices.SortStableFunc(nodes, func(u, v int32) int { return cmp.Compare(weight[v], weight[u]) })
	return nodes
}

// touched are the nodes by the weight of all occurrences of words that they are members of,
// which are lost with the node.
func touched(e *sinks.Explanation) []int32 {
	weight := map[int32]float64{}
	for _, w := range e.Words {
		for _, members := range w.Members {
			members = slices.Clone(members)
			slices.Sort(members)
			for _, v := range slices.Compact(members) {
				weight[v] += w.Weight / w.Occurrences
			}
		}
	}
	nodes := weighty(e)
	slices.SortStableFunc(nodes, func(u, v int32) int { return cmp.Compare(weight[v], weight[u]) })
	return nodes
}

// fidelity compares explanations with occlusion and with nodes at random. ask says what is
// answered without each of some sets of nodes.
func fidelity(t *testing.T, net nn.Predictor, r operators.Recipe, items int, explain func(p *sinks.Predictor, i int) (*sinks.Explanation, error), ask func(p *sinks.Predictor, i int, removals []sinks.Removal) ([]sinks.Answer, error)) map[string]*curve {
	t.Helper()
	rng := rand.New(rand.NewPCG(28, 28))
	var predictors []*sinks.Predictor
	for _, m := range []nn.Predictor{net, &nn.Ensemble{Nets: []nn.Predictor{net}}} { // an ensemble is not additive
		p, err := sinks.NewPredictor(m, r)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		predictors = append(predictors, p)
	}
	all := map[string]*curve{"random": {}}
	for i := range items {
		var nodes []int32
		var said *sinks.Explanation
		fall := func(name string, order []int32) {
			var removals []sinks.Removal
			for _, k := range removedNodes {
				removals = append(removals, sinks.Removal{Nodes: order[:min(k, len(order))]})
			}
			answers, err := ask(predictors[0], i, removals)
			if err != nil {
				t.Fatal(err)
			}
			var falls []float64
			at := slices.Index(predictors[0].Classes(), said.Class)
			for _, a := range answers {
				falls = append(falls, float64(said.Probs[at])-float64(a.Probs[at]))
			}
			if all[name] == nil {
				all[name] = new(curve)
			}
			all[name].add(falls)
		}
		for _, p := range predictors {
			e, err := explain(p, i)
			if err != nil {
				t.Fatal(err)
			}
			said, nodes = e, weighty(e)
			if e.Method == "occlusion" && p == predictors[0] {
				continue // the other one is the same
			}
			fall(e.Method, nodes)
			if e.Method == "exact" {
				fall("members", touched(e))
			}
		}
		slices.Sort(nodes)
		rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		fall("random", nodes)
	}
	return all
}

// graphFidelity is fidelity of a model that learns from four fifths of some graphs, on up to
// 200 of the others.
func graphFidelity(t *testing.T, net nn.Model, r operators.Recipe, items []sources.Item, l record.Layout) map[string]*curve {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 28))
	var train, test []sources.Item
	for _, it := range items {
		if rng.IntN(5) > 0 {
			train = append(train, it)
		} else if len(test) < 200 {
			test = append(test, it)
		}
	}
	fit := sinks.Fit{Net: net, Epochs: 50}
	if nn.HoldsOut(net) {
		fit.Patience = 10
	}
	if _, err := fit.Run(t.Context(), r.Onto(flow.From(sources.Graphs{Items: train, Layout: l}))); err != nil {
		t.Fatal(err)
	}
	return fidelity(t, net, r, len(test), func(p *sinks.Predictor, i int) (*sinks.Explanation, error) {
		return p.Explain(t.Context(), test[i].Graph, sinks.ExplainOptions{Members: math.MaxInt})
	}, func(p *sinks.Predictor, i int, removals []sinks.Removal) ([]sinks.Answer, error) {
		return p.Without(t.Context(), test[i].Graph, removals...)
	})
}

// paperNet is the recipe of the paper's network.
func paperNet(l record.Layout, w int) operators.Recipe {
	r := operators.Recipe{operators.Expect{Layout: l}}
	if len(l.NodeCat) == 0 {
		r = append(r, operators.Channel{By: labeling.NormalizedDegree})
	}
	return append(r, operators.Select{W: w, By: labeling.Betweenness}, operators.Assemble{K: 10}, operators.Normalize{By: labeling.WL, Edges: true})
}

// Without the nodes that weigh most the answer falls by more than without others.
func TestExplainFidelity(t *testing.T) {
	race.Skip(t)
	var items []sources.Item
	for i := range 150 {
		p, err := ba2Motifs(i%2, uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, sources.Item{Graph: p.Graph, Class: int32(i % 2)})
	}
	l := record.Layout{Classes: []string{"house", "cycle"}}
	all := graphFidelity(t, nn.Best(), recommended(l), items, l)
	area := len(removedNodes)
	exact, e := all["exact"].at(area)
	random, r := all["random"].at(area)
	t.Logf("BA-2motifs: exact %v, occlusion %v, random %v", all["exact"], all["occlusion"], all["random"])
	if exact-random < 2*math.Hypot(e, r) {
		t.Errorf("the area is %.4f ± %.4f, of random nodes %.4f ± %.4f", exact, e, random, r)
	}
	dir := os.Getenv("SANFLOW_DATA")
	if dir == "" || os.Getenv("SANFLOW_LONG") == "" {
		return
	}
	show := func(name, model string, all map[string]*curve) {
		for _, method := range []string{"exact", "members", "occlusion", "random"} {
			if all[method] != nil {
				t.Logf("| %s | %s | %s | %v |", name, model, method, all[method])
			}
		}
	}
	show("BA-2motifs", "words", all)
	networks := func(name string, w int, items []sources.Item, l record.Layout) {
		show(name, "CNN", graphFidelity(t, &nn.CNN{Seed: 1}, paperNet(l, w), items, l))
		show(name, "PSLR", graphFidelity(t, &nn.PSLR{}, paperNet(l, w), items, l))
	}
	networks("BA-2motifs", 25, items, l)
	for _, name := range []string{"MUTAG", "NCI1"} {
		t.Run(name, func(t *testing.T) {
			src := tu.Source{Path: filepath.Join(dir, "tu", name+".zip")}
			graphs, layout := collectedGraphs(t, src)
			_, class := countsIn(t, flow.From(src).Via(operators.Count{Of: []count.Counter{count.Size{}}}))
			var items []sources.Item
			for i, g := range graphs {
				items = append(items, sources.Item{Graph: g, Class: class[i]})
			}
			show(name, "words", graphFidelity(t, nn.Best(), recommended(layout), items, layout))
			networks(name, map[string]int{"MUTAG": 18, "NCI1": 30}[name], items, layout)
		})
	}
	t.Run("Cora", func(t *testing.T) {
		set, err := sources.Nodes{Path: filepath.Join(dir, "nodes", "Cora.zip")}.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var test []int32
		for _, v := range set.Subset(sources.Test) {
			if v%25 == 0 && set.Graph.Degree(v) > 0 {
				test = append(test, v)
			}
		}
		for _, c := range []struct {
			name string
			net  nn.Model
			ops  operators.Recipe
		}{
			{"words", nn.Best(), operators.Recipe{operators.Count{Of: []count.Counter{count.Around{Hops: 3}}, DropGraph: true}}},
			{"pooled", &nn.Pooled{Maps: 64, Seed: 1, Optimizer: nn.Adam{Rate: 0.03, WeightDecay: 0.3}}, operators.Recipe{operators.Assemble{K: 20, Bound: 256}, operators.Normalize{By: labeling.WL, Distances: 3, IgnoreAttributes: true}}},
		} {
			recipe := append(operators.Recipe{operators.Expect{Layout: set.Rooted(nil).Layout}, operators.Roots{Nodes: []int32{-1}}}, c.ops...)
			rows := func(part sources.Subset) flow.Pipeline {
				return choose.NodeRows(set, set.Subset(part))(recipe)
			}
			valid := rows(sources.Val)
			if _, err := (sinks.Fit{Net: c.net, Epochs: 100, Patience: 10, Valid: &valid}).Run(t.Context(), rows(sources.Train)); err != nil {
				t.Fatal(err)
			}
			show("Cora", c.name, fidelity(t, c.net, recipe, len(test), func(p *sinks.Predictor, i int) (*sinks.Explanation, error) {
				return p.ExplainRoots(t.Context(), set.Graph, sinks.ExplainOptions{Members: -1}, test[i])
			}, func(p *sinks.Predictor, i int, removals []sinks.Removal) ([]sinks.Answer, error) {
				return p.WithoutRoots(t.Context(), set.Graph, []int32{test[i]}, removals...)
			}))
		}
	})
}
