package choose_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// Numbers of nodes are learned by linear models and networks, from the rows of
// NodeSet.Rooted.
func TestValuesOfNodes(t *testing.T) {
	g := must(generate.RingOfCliques(20, 6))
	set := &sources.NodeSet{Graph: g, Channels: record.Layout{Targets: sources.Targets("degree")}}
	var part []int32
	for v := range int32(g.N()) {
		set.Targets = append(set.Targets, float32(100*g.Degree(v)))
		part = append(part, v)
	}
	set.Targets[0] = float32(math.NaN())
	if err := set.Identify(); err != nil {
		t.Fatal(err)
	}
	systems := choose.Nodes(set, len(part))
	if len(systems) != 4 || systems[0].Name != "linear" || systems[1].Name != "cnn" || systems[2].Name != "words" || systems[3].Name != "trees" {
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
	race.Skip(t)
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
	ids := make([]string, g.N())
	for v := range ids {
		ids[v] = fmt.Sprint("node ", v)
	}
	set.IDs = must(graph.IDsOfStrings(ids))
	train, valid, test, err := choose.Deal(set, 1)
	if err != nil {
		t.Fatal(err)
	}
	var systems []choose.System
	for _, s := range choose.Nodes(set, len(train)) {
		if s.Name != "ensemble" && s.Name != "words-smoothed" && !strings.HasPrefix(s.Name, "stacked") { // which are as good
			systems = append(systems, s)
		}
	}
	rows := func(part []int32) choose.Rows { return choose.NodeRows(set, part) }
	chosen, err := choose.Choice{Systems: systems, Classes: set.Classes, Train: rows(train), Valid: rows(valid), Seed: 1}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := must(sinks.NewPredictor(chosen.Net, chosen.Recipe))
	defer p.Close()
	m := choose.NewMeasures(set.Classes)
	asked, open, err := choose.Asked(t.Context(), p, g, set.IDs, rows(test))
	if err != nil || open == nil {
		t.Fatal(open, err)
	}
	if err := asked.To(sinks.Predict{Graph: open, Each: m.Add}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m.Accuracy() < 80 || chosen.System != "neighbours" {
		t.Errorf("%s, %v: %v %%, want 80 or more", chosen.System, chosen.Tried, m.Accuracy())
	}
	answer := func(open *sinks.OpenGraph, err error, v int32) []float32 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer open.Close()
		return must(open.Predict(t.Context(), v))[0].Probs
	}
	want := answer(open, nil, 7)
	// The ids decide, not the numbers or their number: renumbered, grown by a component, and with other ids.
	other, perm := renumbered(set, 1)
	other.IDs = set.IDs.Renumber(perm)
	open, err = p.OpenIDs(t.Context(), other.Graph, other.IDs)
	if got := answer(open, err, perm[7]); !slices.Equal(got, want) {
		t.Errorf("renumbered: %v, want %v", got, want)
	}
	grown := *g
	grown.Offsets = append(slices.Clone(g.Offsets), int32(len(g.Neighbors)))
	grown.NodeAttr = append(slices.Clone(g.NodeAttr), 0.5)
	open, err = p.OpenIDs(t.Context(), &grown, must(graph.IDsOfStrings(append(slices.Clone(ids), "new"))))
	if got := answer(open, err, 7); !slices.Equal(got, want) {
		t.Errorf("grown: %v, want %v", got, want)
	}
	_, unknown, err := p.Known().Identify(&grown, must(graph.IDsOfStrings(append(slices.Clone(ids), "new"))))
	if err != nil || unknown != 1 {
		t.Errorf("%d ids of the grown graph are unknown, %v, want 1", unknown, err)
	}
	// Unknown ids are no knowledge: each node of a clique with equal columns has the same answer.
	clique := must(generate.RingOfCliques(30, 10))
	clique.NodeAttrs, clique.NodeAttr = 1, make([]float32, clique.N())
	for v := range ids {
		ids[v] = fmt.Sprint("other ", v)
	}
	strange := must(graph.IDsOfStrings(ids))
	open, err = p.OpenIDs(t.Context(), clique, strange)
	first := answer(open, err, 1)
	for _, v := range []int32{2, 13, 254} {
		open, err = p.OpenIDs(t.Context(), clique, strange)
		if got := answer(open, err, v); !slices.Equal(got, first) {
			t.Errorf("another graph of the same size: node %d: %v, want %v as of node 1", v, got, first)
		}
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
	rows := choose.NodeRows(set, part[1:])
	chosen, err := choose.Choice{Systems: systems, Train: rows, Valid: rows, Seed: 1}.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m := choose.NewMeasures(nil)
	if err := choose.NodeRows(set, part)(chosen.Recipe).To(sinks.Predict{Net: chosen.Net, Each: m.Add}).Run(ctx); err != nil {
		t.Fatal(err)
	}
	rmse, err := m.By(validation.RMSE)
	if err != nil || m.Rows != set.Graph.N()-1 || m.Unknown != 1 || rmse >= m.Spread() {
		t.Errorf("%s: %d rows, %d unknown, RMSE %v of %v", systems[0].Name, m.Rows, m.Unknown, rmse, m.Spread())
	}
}
