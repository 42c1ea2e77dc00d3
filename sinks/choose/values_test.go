package choose_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// Numbers of nodes are learned by linear models and networks, from the rows of
// NodeSet.Rooted.
func TestValuesOfNodes(t *testing.T) {
	g := must(generate.RingOfCliques(20, 6))
	set := &sources.NodeSet{Graph: g}
	var part []int32
	for v := range int32(g.N()) {
		set.Class, set.Value = append(set.Class, -1), append(set.Value, float32(100*g.Degree(v)))
		part = append(part, v)
	}
	set.Value[0] = float32(math.NaN())
	if err := set.Identify(); err != nil {
		t.Fatal(err)
	}
	systems := choose.Nodes(set, len(part))
	if len(systems) != 3 || systems[0].Name != "linear" || systems[1].Name != "cnn" || systems[2].Name != "words" {
		t.Fatal(systems)
	}
	for i := range systems {
		systems[i].Epochs = min(systems[i].Epochs, 10)
		learnsValues(t, set, part, systems[i:i+1])
	}
}

// A column of noise leaves the system that tells nodes apart by their numbers, and it is
// chosen where neighbours are of one class. Sparse attributes do not need it.
func TestNeighboursBesideColumns(t *testing.T) {
	g, class, err := generate.Communities(300, 3, 5, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	set := &sources.NodeSet{Graph: g, Class: class, Classes: []string{"a", "b", "c"}}
	rng := rand.New(rand.NewPCG(1, 1))
	g.NodeAttrs = 1
	for range g.N() {
		g.NodeAttr = append(g.NodeAttr, rng.Float32())
	}
	train, valid, test, err := choose.Deal(class, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	var systems []choose.System
	for _, s := range choose.Nodes(set, len(train)) {
		if s.Learn == nil {
			systems = append(systems, s)
		}
	}
	rows := func(part []int32) choose.Rows { return choose.NodeRows(set, part, operators.MaskWords{}) }
	chosen, err := choose.Choice{Systems: systems, Classes: set.Classes, Train: rows(train), Valid: rows(valid), Seed: 1}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := choose.NewMeasures(set.Classes)
	if err := rows(test)(chosen.Recipe).To(sinks.Predict{Net: chosen.Net, Each: m.Add}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m.Score() < 80 {
		t.Errorf("%s, %v: %v %%, want 80 or more", chosen.System, chosen.Tried, m.Score())
	}
	p, err := sinks.NewPredictor(chosen.Net, chosen.Recipe)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	other := must(generate.RingOfCliques(3, 2))
	other.NodeAttrs, other.NodeAttr = 1, make([]float32, other.N())
	if _, err := p.PredictRoots(t.Context(), other, 0); err == nil || !strings.Contains(err.Error(), "the numbers of 300 nodes are words, the graph has 6") {
		t.Errorf("another graph: %v", err)
	}
	if err := set.Identify(); err != nil {
		t.Fatal(err)
	}
	for _, s := range choose.Nodes(set, len(train)) {
		if s.Name == "neighbours" {
			t.Error("there are neighbours beside sparse attributes")
		}
	}
	if _, err := choose.Pick(systems, []string{"linear", "linear"}); err == nil || !strings.Contains(err.Error(), `"linear" is named twice`) {
		t.Errorf("a name twice: %v", err)
	}
}

func learnsValues(t *testing.T, set *sources.NodeSet, part []int32, systems []choose.System) {
	ctx := t.Context()
	rows := choose.NodeRows(set, part[1:], operators.MaskWords{})
	chosen, err := choose.Choice{Systems: systems, Train: rows, Valid: rows, Seed: 1}.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m := choose.NewMeasures(nil)
	if err := choose.NodeRows(set, part, operators.MaskWords{})(chosen.Recipe).To(sinks.Predict{Net: chosen.Net, Each: m.Add}).Run(ctx); err != nil {
		t.Fatal(err)
	}
	if m.Rows != set.Graph.N()-1 || m.Unknown != 1 || m.RMSE() >= m.Spread() {
		t.Errorf("%s: %d rows, %d unknown, RMSE %v of %v", systems[0].Name, m.Rows, m.Unknown, m.RMSE(), m.Spread())
	}
}
