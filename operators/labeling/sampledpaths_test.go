package labeling_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow/flowtest/leak"
	"github.com/sanflow/sanflow/flow/flowtest/race"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/labeling"
)

// pathGraphs are small, of every kind that matters to a search from both ends:
// directed or not, with several components, trees, many shortest paths, hubs.
func pathGraphs(t *testing.T) map[string]*graph.Graph {
	rng := rand.New(rand.NewPCG(31, 1))
	list := map[string]*graph.Graph{}
	for _, directed := range []bool{false, true} {
		name := func(s string) string { return fmt.Sprintf("%s, directed %v", s, directed) }
		list[name("random")] = build(t, 60, directed, randomEdges(rng, 60, 150))
		list[name("sparse")] = build(t, 70, directed, randomEdges(rng, 70, 60))
		list[name("dense")] = build(t, 30, directed, randomEdges(rng, 30, 400))
		list[name("cycle")] = build(t, 25, directed, cycle(0, 25))
		var star, grid []graph.Edge
		for v := range int32(40) {
			star = append(star, graph.Edge{U: v, V: v % 3}, graph.Edge{U: v % 2, V: v})
		}
		for v := range int32(63) {
			if v%8 != 7 {
				grid = append(grid, graph.Edge{U: v, V: v + 1})
			}
			if v < 56 {
				grid = append(grid, graph.Edge{U: v, V: v + 8})
			}
		}
		list[name("hubs")] = build(t, 42, directed, star)
		list[name("grid")] = build(t, 64, directed, grid)
	}
	return list
}

// pairsOf is the number of pairs that betweenness sums over.
func pairsOf(g *graph.Graph) float64 {
	pairs := float64(g.N()) * float64(g.N()-1)
	if !g.Directed {
		pairs /= 2
	}
	return pairs
}

// No label is off by more than epsilon of the pairs, nor by more than the bound
// of its node, but for one run in ten at most; and the mean over the seeds comes
// to the exact label, which a biased draw would not.
func TestPathSamplesKeepTheirBounds(t *testing.T) {
	if race.Enabled {
		t.Skip("statistics; other tests look at its goroutines")
	}
	runs := 40
	if os.Getenv("SANFLOW_LONG") != "" {
		runs = 400
	}
	const epsilon, delta = 0.05, 0.1
	for name, g := range pathGraphs(t) {
		exact := label(t, labeling.Betweenness, g)
		pairs := pairsOf(g)
		failed := 0
		mean, widest := make([]float64, g.N()), make([]float64, g.N())
		for seed := range runs {
			l := labeling.SampledBetweenness{Epsilon: epsilon, Delta: delta, Seed: uint64(seed)}
			labels, bounds, err := l.Estimate(labeling.Input{Graph: g})
			if err != nil {
				t.Fatal(err)
			}
			bad := false
			for v, x := range labels {
				off := math.Abs(x - exact[v])
				bad = bad || off > bounds[v] || bounds[v] > epsilon*pairs
				mean[v] += x / float64(runs)
				widest[v] = max(widest[v], bounds[v])
			}
			if bad {
				failed++
			}
		}
		if float64(failed) > delta*float64(runs) {
			t.Errorf("%s: %d of %d runs miss a bound", name, failed, runs)
		}
		for v, x := range mean {
			if off := math.Abs(x - exact[v]); off > 2*widest[v]/math.Sqrt(float64(runs)) {
				t.Errorf("%s: node %d has %v in the mean of %d runs, exactly %v", name, v, x, runs, exact[v])
			}
		}
	}
}

// A lattice has more shortest paths between its corners than a float64 holds.
func TestPathSamplesOfManyPaths(t *testing.T) {
	const side = 600
	g := &graph.Graph{Offsets: []int32{0}}
	for v := range int32(2 * side) { // a ladder of complete rungs: 2^599 paths
		rung := v / 2
		for _, r := range []int32{rung - 1, rung, rung + 1} {
			for _, u := range []int32{2 * r, 2*r + 1} {
				if u >= 0 && u < 2*side && u != v {
					g.Neighbors = append(g.Neighbors, u)
				}
			}
		}
		g.Offsets = append(g.Offsets, int32(len(g.Neighbors)))
	}
	labels, bounds, err := labeling.SampledBetweenness{Epsilon: 0.1, Seed: 1}.Estimate(labeling.Input{Graph: g})
	if err != nil {
		t.Fatal(err)
	}
	exact := label(t, labeling.Betweenness, g)
	for v, x := range labels {
		if math.Abs(x-exact[v]) > bounds[v] {
			t.Errorf("node %d: %v, exactly %v ± %v", v, x, exact[v], bounds[v])
		}
	}
}

// The same bytes at any number of workers, of both ways and of what else takes
// workers.
func TestWorkersChangeNoLabel(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 2))
	for _, directed := range []bool{false, true} {
		g := build(t, 40_000, directed, randomEdges(rng, 40_000, 90_000))
		for _, with := range []func(workers int) labeling.Labeling{
			func(w int) labeling.Labeling { return labeling.SampledBetweenness{Sources: 7, Seed: 3, Workers: w} },
			func(w int) labeling.Labeling { return labeling.SampledBetweenness{Epsilon: 0.2, Seed: 3, Workers: w} },
			func(w int) labeling.Labeling { return labeling.PageRankCentrality{Workers: w} },
		} {
			want := label(t, with(1), g)
			for _, workers := range race.Some([]int{5, 2}) {
				if got := label(t, with(workers), g); !slices.Equal(got, want) {
					t.Errorf("%s, directed %v: other labels with %d workers", with(1), directed, workers)
				}
				if with(workers).String() != with(1).String() {
					t.Errorf("%s calls itself %s with workers", with(1), with(workers))
				}
			}
		}
	}
	g := build(t, 60, false, randomEdges(rng, 60, 150))
	for _, epsilon := range []float64{0, 0.1} {
		var told [2]bytes.Buffer
		for i := range told {
			_, se, err := labeling.SampledBetweenness{Epsilon: epsilon, Seed: 4, Workers: 1 + i}.Estimate(labeling.Input{Graph: g})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(&told[i], se)
		}
		if !bytes.Equal(told[0].Bytes(), told[1].Bytes()) {
			t.Errorf("epsilon %v: errors %s and %s", epsilon, &told[0], &told[1])
		}
	}
}

// What may take long tells how far it is, one call at a time, and reaches its
// end.
func TestProgress(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 3))
	g := build(t, 30_000, false, randomEdges(rng, 30_000, 60_000))
	for _, l := range []labeling.Labeling{
		labeling.PageRank, labeling.WL, labeling.SampledBetweenness{Sources: 9, Workers: 3}, labeling.SampledBetweenness{Epsilon: 0.1, Workers: 3},
	} {
		last, end, calls := -1, 0, 0
		in := labeling.Input{Graph: g, Progress: func(done, total int) {
			if done < last || done > total || end != 0 && total != end {
				t.Errorf("%s: %d of %d after %d of %d", l, done, total, last, end)
			}
			last, end, calls = done, total, calls+1
		}}
		if err := labeling.Compute(l, in, make([]float64, g.N())); err != nil || last != end || calls < 3 {
			t.Errorf("%s: ends at %d of %d after %d calls: %v", l, last, end, calls, err)
		}
	}
	ctx := labeling.WithProgress(context.Background(), func(int, int) {})
	if labeling.ProgressOf(ctx) == nil || labeling.ProgressOf(context.Background()) != nil {
		t.Error("a context does not hold what WithProgress put there")
	}
}

// Cancelled in the middle, a long run ends at once.
func TestPathSamplesStop(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 4))
	g := build(t, 100_000, false, randomEdges(rng, 100_000, 300_000))
	ctx, cancel := context.WithCancel(context.Background())
	var cancelled time.Time
	in := labeling.Input{Graph: g, Context: ctx, Progress: func(done, _ int) {
		if done > 100 && cancelled.IsZero() {
			cancelled = time.Now()
			cancel()
		}
	}}
	err := labeling.Compute(labeling.SampledBetweenness{Epsilon: 0.001, Workers: 2}, in, make([]float64, g.N()))
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if took := time.Since(cancelled); took > leak.Patience { // milliseconds, but for machines that are busy
		t.Errorf("ended %v after the cancellation", took)
	}
}

func TestPathSampleSettings(t *testing.T) {
	g := build(t, 4, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}})
	for _, c := range []struct {
		l    labeling.SampledBetweenness
		want string
	}{
		{labeling.SampledBetweenness{Epsilon: -1}, "epsilon -1"},
		{labeling.SampledBetweenness{Epsilon: 1}, "epsilon 1"},
		{labeling.SampledBetweenness{Epsilon: math.NaN()}, "epsilon NaN"},
		{labeling.SampledBetweenness{Epsilon: 0.1, Delta: 2}, "delta 2"},
		{labeling.SampledBetweenness{Epsilon: 0.1, Delta: 5e-324}, "at least 1e-290 and below 1"},
		{labeling.SampledBetweenness{Delta: 0.1}, "without an epsilon"},
		{labeling.SampledBetweenness{Epsilon: 0.1, Sources: 5}, "want one of them"},
		{labeling.SampledBetweenness{Workers: -1}, "-1 workers"},
	} {
		if _, _, err := c.l.Estimate(labeling.Input{Graph: g}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want one with %q", c.l, err, c.want)
		}
	}
	for n := range 3 {
		if got := label(t, labeling.SampledBetweenness{Epsilon: 0.1}, build(t, n, false, nil)); slices.Max(append(got, 0)) != 0 {
			t.Errorf("%d nodes: %v", n, got)
		}
	}
	l, err := labeling.Parse("sampled-betweenness(epsilon=0.02, delta=0.05, seed=3)")
	if want := (labeling.SampledBetweenness{Epsilon: 0.02, Delta: 0.05, Seed: 3}); err != nil || l != labeling.Labeling(want) {
		t.Errorf("%v, %v, want %v", l, err, want)
	}
	if text := l.String(); text != "sampled-betweenness(epsilon=0.02, delta=0.05, seed=3)" {
		t.Error(text)
	}
}
