package choose_test

import (
	"math/rand/v2"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
)

// The counting systems of nodes learn a class that one number decides, one that flags of 0 and 1 decide
// together with those of neighbours, and one that a number of neighbours of a hub decides.
func TestNumbersDecide(t *testing.T) {
	race.Skip(t)
	const n = 900
	rng := rand.New(rand.NewPCG(4, 4))
	var edges []graph.Edge
	for v := range int32(n) {
		edges = append(edges, graph.Edge{U: v, V: (v + 1) % n})
	}
	for name, decide := range map[string]func(x []float32, g *graph.Graph, v int32) bool{
		"a number":   func(x []float32, _ *graph.Graph, v int32) bool { return x[2*v] > 0.37 },
		"a band":     func(x []float32, _ *graph.Graph, v int32) bool { return x[2*v] > 0.3 && x[2*v] < 0.7 },
		"neighbours": func(x []float32, g *graph.Graph, v int32) bool { return x[2*g.Adj(v)[0]+1]+x[2*g.Adj(v)[1]+1] == 1 },
	} {
		g := must(graph.New(n, false, edges))
		g.NodeAttrs = 2
		for range n {
			g.NodeAttr = append(g.NodeAttr, rng.Float32(), float32(rng.IntN(2)))
		}
		set := &sources.NodeSet{Graph: g, Classes: []string{"no", "yes"}}
		for v := range int32(n) {
			class := int32(0)
			if decide(g.NodeAttr, g, v) {
				class = 1
			}
			set.Class = append(set.Class, class)
		}
		train, valid, test, err := choose.Deal(set, 1)
		if err != nil {
			t.Fatal(err)
		}
		rows := func(part []int32) choose.Rows { return choose.NodeRows(set, part) }
		systems, err := choose.Pick(choose.Nodes(set, len(train)), []string{"linear", "words"})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range systems {
			if name == "neighbours" && s.Name == "linear" {
				continue // which has no word for two nodes
			}
			chosen, err := choose.Choice{Systems: []choose.System{s}, Classes: set.Classes, Train: rows(train), Valid: rows(valid), Seed: 1}.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			m := choose.NewMeasures(set.Classes)
			if err := rows(test)(chosen.Recipe).To(sinks.Predict{Net: chosen.Net, Each: m.Add}).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Logf("%s, %s: %.1f %%, the largest class %.1f %%", name, s.Name, m.Accuracy(), m.Majority())
			if m.Accuracy() < 90 {
				t.Errorf("%s: %s has %.1f %%, want 90 or more", name, s.Name, m.Accuracy())
			}
		}
	}
}
