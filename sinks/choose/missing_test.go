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

// Each system that reads numbers learns a class that says whether a number of the node, or one of its edges, is missing.
func TestMissingDecides(t *testing.T) {
	race.Skip(t)
	const n = int32(600)
	nan := float32(math.NaN())
	for name, systems := range map[string][]string{
		"of a node":  {"linear", "cnn", "words", "trees", "words-smoothed", "ensemble"},
		"of an edge": {"words", "trees", "cnn-edges"},
	} {
		rng := rand.New(rand.NewPCG(7, 7))
		var edges []graph.Edge
		for v := range n {
			edges = append(edges, graph.Edge{U: v, V: (v + 1) % n})
		}
		g := must(graph.New(int(n), false, edges))
		set := &sources.NodeSet{Graph: g, Classes: []string{"no", "yes"}, Class: make([]int32, n)}
		if name == "of a node" {
			g.NodeAttrs = 2
			for v := range n {
				x, y := rng.Float32(), rng.Float32()
				if rng.IntN(2) == 0 {
					x, set.Class[v] = nan, 1
				}
				if rng.IntN(3) == 0 { // says nothing
					y = nan
				}
				g.NodeAttr = append(g.NodeAttr, 100*x, y)
			}
		} else {
			set.Channels.EdgeAttr = []record.Channel{{Name: "amount"}}
			g.EdgeAttrs, g.EdgeAttr = 1, make([]float32, len(g.Neighbors))
			for v := range n {
				u, x := (v+1)%n, rng.Float32()
				if rng.IntN(3) == 0 {
					x, set.Class[u], set.Class[v] = nan, 1, 1
				}
				g.EdgeAttr[g.Entry(u, v)], g.EdgeAttr[g.Entry(v, u)] = x, x
			}
		}
		train, valid, test, err := choose.Deal(set, 1)
		if err != nil {
			t.Fatal(err)
		}
		rows := func(part []int32) choose.Rows { return choose.NodeRows(set, part) }
		for _, s := range choose.Nodes(set, len(train)) {
			if !slices.Contains(systems, s.Name) {
				continue
			}
			chosen, err := choose.Choice{Systems: []choose.System{s}, Classes: set.Classes, Train: rows(train), Valid: rows(valid), Seed: 1}.Run(t.Context())
			if err != nil {
				t.Fatal(s.Name, err)
			}
			m := choose.NewMeasures(set.Classes)
			if err := rows(test)(chosen.Recipe).To(sinks.Predict{Net: chosen.Net, Each: m.Add}).Run(t.Context()); err != nil {
				t.Fatal(s.Name, err)
			}
			t.Logf("%s, %s: %.1f %%, the largest class %.1f %%", name, s.Name, m.Accuracy(), m.Majority())
			want := 95.
			if s.Name == "cnn" || s.Name == "ensemble" {
				want = 80 // 400 nodes are few for fields of 20: a class that says whether x > 0.5 is learned to 83 and 84 %
			}
			if m.Accuracy() < want {
				t.Errorf("%s: %s has %.1f %%, want %g or more", name, s.Name, m.Accuracy(), want)
			}
		}
	}
}

// A channel of which no number was missing in training is 0 behind Standardize where one is missing later: the
// answer is that for the mean of the training rows.
func TestMissingLater(t *testing.T) {
	race.Skip(t)
	const n = 300
	rng := rand.New(rand.NewPCG(8, 8))
	var edges []graph.Edge
	for v := range int32(n) {
		edges = append(edges, graph.Edge{U: v, V: (v + 1) % n})
	}
	g := must(graph.New(n, false, edges))
	g.NodeAttrs, g.EdgeAttrs = 1, 1
	set := &sources.NodeSet{Graph: g, Classes: []string{"no", "yes"}}
	for range n {
		x := rng.Float32()
		g.NodeAttr, set.Class = append(g.NodeAttr, x), append(set.Class, int32(x+0.5))
	}
	g.EdgeAttr = slices.Repeat([]float32{1}, len(g.Neighbors))
	set.Channels.EdgeAttr = []record.Channel{{Name: "amount"}}
	train, valid, _, err := choose.Deal(set, 1)
	if err != nil {
		t.Fatal(err)
	}
	rows := func(part []int32) choose.Rows { return choose.NodeRows(set, part) }
	for _, s := range choose.Nodes(set, len(train)) {
		if s.Name == "neighbours" || s.Name == "words-smoothed" {
			continue
		}
		chosen, err := choose.Choice{Systems: []choose.System{s}, Classes: set.Classes, Train: rows(train), Valid: rows(valid), Seed: 1}.Run(t.Context())
		if err != nil {
			t.Fatal(s.Name, err)
		}
		cut, of := *set, *g
		of.NodeAttr, of.EdgeAttr = slices.Repeat([]float32{float32(math.NaN())}, n), slices.Repeat([]float32{float32(math.NaN())}, len(g.Neighbors))
		cut.Graph = &of
		answers := 0
		each := func(p sinks.Prediction) error {
			answers++
			if sum := p.Probs[0] + p.Probs[1]; !(sum > 0.99 && sum < 1.01) {
				t.Errorf("%s: the shares are %v", s.Name, p.Probs)
			}
			return nil
		}
		p := must(sinks.NewPredictor(chosen.Net, chosen.Recipe))
		knowing := must(p.Knowing(n, cut.IDs)) // stacked systems read beliefs of the nodes
		if err := choose.NodeRows(&cut, cut.All())(knowing.Recipe()).To(sinks.Predict{Net: chosen.Net, Each: each}).Run(t.Context()); err != nil || answers != n {
			t.Errorf("%s: %d answers, want %d: %v", s.Name, answers, n, err)
		}
		if knowing != p {
			_ = knowing.Close()
		}
		_ = p.Close()
	}
}
