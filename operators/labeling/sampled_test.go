package labeling_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/labeling"
)

// All sources in the sample give the exact labels, to the last bit.
func TestSampledBetweennessOfAllSources(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	for i := range 20 {
		n := rng.IntN(80)
		g := build(t, n, i%2 == 1, randomEdges(rng, max(n, 1), min(n, 1)*2*n))
		want := label(t, labeling.Betweenness, g)
		got, se, err := labeling.SampledBetweenness{Sources: n + i%3 + 1}.Estimate(labeling.Input{Graph: g})
		if err != nil || !slices.Equal(got, want) || slices.ContainsFunc(se, func(x float64) bool { return x != 0 }) {
			t.Fatalf("graph %d: %v ± %v (%v), want %v", i, got, se, err, want)
		}
	}
}

// Over many seeds the mean is the exact value, and the mean square of the errors
// that are reported is the variance that is seen.
func TestSampledBetweennessErrors(t *testing.T) {
	if race.Enabled {
		t.Skip("statistics, in one goroutine")
	}
	rng := rand.New(rand.NewPCG(21, 2))
	for _, directed := range []bool{false, true} {
		const n, runs = 60, 3000
		g := build(t, n, directed, randomEdges(rng, n, 150))
		exact := label(t, labeling.Betweenness, g)
		var mean, seen, told [n]float64
		for seed := range uint64(runs) {
			l := labeling.SampledBetweenness{Sources: 15, Seed: seed}
			labels, se, err := l.Estimate(labeling.Input{Graph: g})
			if err != nil {
				t.Fatal(err)
			}
			for v := range labels {
				mean[v] += labels[v] / runs
				seen[v] += (labels[v] - exact[v]) * (labels[v] - exact[v]) / runs
				told[v] += se[v] * se[v] / runs
			}
			if seed == 0 && !slices.Equal(labels, label(t, l, g)) {
				t.Error("Label and Estimate differ")
			}
		}
		for v := range n {
			if d := math.Abs(mean[v] - exact[v]); d > 5*math.Sqrt(seen[v]/runs)+1e-6 {
				t.Errorf("directed %v: node %d: mean %v, want %v", directed, v, mean[v], exact[v])
			}
			if math.Abs(told[v]-seen[v]) > 0.15*seen[v]+1e-6 {
				t.Errorf("directed %v: node %d: variance %v, told %v", directed, v, seen[v], told[v])
			}
		}
	}
}

func TestSampledBetweennessSettings(t *testing.T) {
	g := build(t, 4, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}})
	if _, _, err := (labeling.SampledBetweenness{Sources: -1}).Estimate(labeling.Input{Graph: g}); err == nil || !strings.Contains(err.Error(), "-1 sources") {
		t.Error(err)
	}
	if _, se, err := (labeling.SampledBetweenness{Sources: 1}).Estimate(labeling.Input{Graph: g}); err != nil || !math.IsInf(se[0], 1) {
		t.Error(se, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := (labeling.SampledBetweenness{}).Estimate(labeling.Input{Graph: g, Context: ctx}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if name := (labeling.SampledBetweenness{}).String(); name != "betweenness-256" {
		t.Error(name)
	}
}

func ExampleSampledBetweenness_Estimate() {
	// Two joined hubs, 0 and 1, with 50 leaves each: half of the sources reach 100
	// nodes through hub 0, and half reach 50.
	edges := []graph.Edge{{U: 0, V: 1}}
	for v := range int32(100) {
		edges = append(edges, graph.Edge{U: v % 2, V: v + 2})
	}
	g, err := graph.New(102, false, edges)
	if err != nil {
		log.Fatal(err)
	}
	labels, se, err := labeling.SampledBetweenness{Sources: 20, Seed: 1}.Estimate(labeling.Input{Graph: g})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f ± %.1f, exactly %d\n", labels[0], se[0], 50*49/2+50*51)
	// Output:
	// 3952.5 ± 262.2, exactly 3775
}
