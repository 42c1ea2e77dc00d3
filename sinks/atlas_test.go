package sinks_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/tu"
)

// The first motif of an atlas of BA-2motifs is a planted motif: in each of its examples, the
// nodes of one are at least half of those of either.
func TestAtlasPlanted(t *testing.T) {
	race.Skip(t)
	seeds, size := uint64(3), 100
	if os.Getenv("SANFLOW_LONG") != "" {
		seeds, size = 100, 200
	}
	right := 0
	for seed := range seeds {
		items := make([]sources.Item, size)
		motifs := make([]planted, size)
		for i := range items {
			p, err := ba2Motifs(i%2, 7000+seed*uint64(size)+uint64(i))
			if err != nil {
				t.Fatal(err)
			}
			motifs[i], items[i] = p, sources.Item{Graph: p.Graph, Class: int32(i % 2)}
		}
		l := record.Layout{Classes: []string{"house", "cycle"}}
		graphs := flow.From(sources.Graphs{Items: items, Layout: l})
		a, p := atlasOf(t, graphs, l, sinks.AtlasOptions{})
		plant := true
		for _, e := range a.Motifs[0].Examples {
			both, members, motif := 0, 0, 5
			for _, v := range e.Nodes {
				if v.Member {
					members++
					if motifs[e.Graph].Motif[v.ID] >= 0 {
						both++
					}
				}
			}
			plant = plant && 2*both >= members+motif-both
		}
		if plant {
			right++
		} else {
			for _, m := range a.Motifs[:3] {
				t.Logf("seed %d: %.4f %s %d graphs, %d alike: %s", seed, m.Strength, m.Class, m.Graphs, m.Alike, m.Text)
			}
		}
		p.Close()
	}
	t.Logf("the first motif is the plant for %d of %d seeds", right, seeds)
	if 20*right < 19*int(seeds) {
		t.Error("want 95 of 100")
	}
}

// atlasOf trains the recommended model, and returns its atlas.
func atlasOf(t *testing.T, graphs flow.Pipeline, l record.Layout, o sinks.AtlasOptions) (*sinks.Atlas, *sinks.Predictor) {
	t.Helper()
	net, recipe := nn.Best(), recommended(l)
	if _, err := (sinks.Fit{Net: net, Epochs: 30}).Run(context.Background(), recipe.Onto(graphs)); err != nil {
		t.Fatal(err)
	}
	p, err := sinks.NewPredictor(net, recipe)
	if err != nil {
		t.Fatal(err)
	}
	a, err := p.Atlas(context.Background(), graphs, o)
	if err != nil {
		t.Fatal(err)
	}
	return a, p
}

// The strength of a word is the deviation of its weights in the explanations of all graphs, and the
// atlas is the same at any number of workers.
func TestAtlasStrength(t *testing.T) {
	race.Skip(t)
	defer leak.VerifyNone(t)
	src := sources.Families{Graphs: 60}
	graphs, layout := collectedGraphs(t, src)
	layout.Classes = must(record.LayoutOf(must(flow.From(src).Schema(t.Context())))).Classes
	a, p := atlasOf(t, flow.From(src), layout, sinks.AtlasOptions{Motifs: 10})
	defer p.Close()
	again, err := p.Atlas(t.Context(), flow.From(src).With(flow.Options{Workers: 3}), sinks.AtlasOptions{Motifs: 10})
	if err != nil || !reflect.DeepEqual(a, again) {
		t.Errorf("another atlas with other workers: %v", err)
	}
	twice, err := sinks.NewPredictor(&nn.Ensemble{Nets: []nn.Predictor{p.Net(), p.Net()}}, p.Recipe())
	if err != nil {
		t.Fatal(err)
	}
	defer twice.Close()
	if again, err = twice.Atlas(t.Context(), flow.From(src), sinks.AtlasOptions{Motifs: 10}); err != nil || !reflect.DeepEqual(a, again) {
		t.Errorf("another atlas of the mean of the model with itself: %v", err)
	}
	if len(a.Motifs) != 10 || a.Graphs != 60 || a.Compared != 512 || len(a.Motifs[0].Examples) != 4 {
		t.Fatalf("%d motifs of %d graphs, %d words compared", len(a.Motifs), a.Graphs, a.Compared)
	}
	type moments struct {
		sums    []float64 // by class
		squares float64
		graphs  int
	}
	weights := map[string]*moments{} // of each word
	for _, g := range graphs {
		has := map[string]bool{}
		for c, class := range a.Classes {
			e, err := p.Explain(t.Context(), g, sinks.ExplainOptions{Class: class, Members: -1})
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range e.Words {
				m := weights[w.Text]
				if m == nil {
					m = &moments{sums: make([]float64, len(a.Classes))}
					weights[w.Text] = m
				}
				if !has[w.Text] {
					m.graphs++
				}
				has[w.Text] = true
				m.sums[c] += w.Weight
				m.squares += w.Weight * w.Weight
			}
		}
	}
	alone := 0
	for _, m := range slices.Concat(a.Motifs, a.Whole) {
		w := weights[m.Text]
		if w == nil || w.graphs != m.Graphs {
			t.Fatalf("%s: %d graphs, want %+v", m.Text, m.Graphs, w)
		}
		variance := w.squares / float64(a.Graphs)
		for _, sum := range w.sums {
			variance -= sum / float64(a.Graphs) * sum / float64(a.Graphs)
		}
		if m.Alike == 1 {
			alone++
			if want := math.Sqrt(variance); math.Abs(m.Strength-want) > 1e-9 {
				t.Errorf("%s: a strength of %v, want %v", m.Text, m.Strength, want)
			}
		}
	}
	if alone == 0 {
		t.Error("no motif is one word")
	}
	for _, o := range []sinks.AtlasOptions{{Motifs: -1}, {Examples: -1}} {
		if _, err := p.Atlas(t.Context(), flow.From(src), o); err == nil {
			t.Errorf("%+v: want an error", o)
		}
	}
}

// The atlas of MUTAG shows nitro groups, and rings that share an edge.
func TestAtlasMUTAG(t *testing.T) {
	dir := os.Getenv("SANFLOW_DATA")
	if dir == "" {
		t.Skip("SANFLOW_DATA is not set")
	}
	src := tu.Source{Path: filepath.Join(dir, "tu", "MUTAG.zip")}
	_, layout := collectedGraphs(t, src)
	a, p := atlasOf(t, flow.From(src), layout, sinks.AtlasOptions{})
	defer p.Close()
	nitro, fused := 0, 0 // the first motif, from 1
	for i, m := range a.Motifs {
		members, oxygen := 0, map[int32]int{} // of the first example; of each N
		rings := 1
		e := m.Examples[0]
		for _, v := range e.Nodes {
			if v.Member {
				members++
			}
		}
		for _, edge := range e.Edges {
			u, v := e.Nodes[edge.Source], e.Nodes[edge.Target]
			if !u.Member || !v.Member {
				continue
			}
			rings++
			for _, ends := range [2][2]sinks.ExampleNode{{u, v}, {v, u}} {
				if ends[0].Type == "1" && ends[1].Type == "2" {
					oxygen[ends[0].ID]++
				}
			}
		}
		rings -= members // of connected members
		for _, n := range oxygen {
			if n == 2 && nitro == 0 {
				nitro = i + 1
			}
		}
		if rings >= 2 && fused == 0 {
			fused = i + 1
		}
	}
	t.Logf("of %d motifs, the first with a nitro group is number %d, and the first with fused rings number %d", len(a.Motifs), nitro, fused)
	if nitro == 0 || fused == 0 {
		t.Error("want both")
	}
}
