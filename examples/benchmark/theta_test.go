package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sources"
)

// graphsOfSizes returns graphs of many sizes, none among them without a node.
func graphsOfSizes(tb testing.TB, seed uint64, count int, directed bool) []*graph.Graph {
	tb.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	var graphs []*graph.Graph
	for range count {
		n := 1 + rng.IntN(40)
		edges := make([]graph.Edge, rng.IntN(3*n))
		for i := range edges {
			edges[i] = graph.Edge{U: int32(rng.IntN(n)), V: int32(rng.IntN(n))}
		}
		g, err := graph.New(n, directed, edges)
		if err != nil {
			tb.Fatal(err)
		}
		graphs = append(graphs, g)
	}
	return graphs
}

// compare estimates θ̂ of labelings.
func compare(t *testing.T, c *comparison, labelings []labeling.Labeling, pairs int, seed uint64) (table []estimate, best int) {
	t.Helper()
	if err := c.draw(pairs, seed); err != nil {
		t.Fatal(err)
	}
	if err := c.run(t.Context(), labelings); err != nil {
		t.Fatal(err)
	}
	table, best = c.estimates()
	for i := range table {
		table[i].Seconds = 0
	}
	return table, best
}

// The estimates are those of matrices written out one by one.
func TestEqualsOracle(t *testing.T) {
	for _, directed := range []bool{false, true} {
		graphs := graphsOfSizes(t, 5, 12, directed)
		const k, n = 6, 80
		c := &comparison{graphs: graphs, k: k, workers: 2}
		candidates := []labeling.Labeling{labeling.Betweenness, labeling.WL, labeling.Clustering, labeling.Degree}
		table, chosen := compare(t, c, candidates, n, 9)
		pairs := c.pairs
		distances := make([][]float64, len(candidates))
		best, bestTheta := 0, math.Inf(1)
		for l, by := range candidates {
			ones := 0
			for _, p := range pairs {
				a, b := matrix(t, graphs, p[0], by, k), matrix(t, graphs, p[1], by, k)
				d := 0.0
				for i := range a {
					d += math.Abs(a[i] - b[i])
					ones += int(a[i] + b[i])
				}
				distances[l] = append(distances[l], d)
			}
			mean, sd := stat.MeanStdDev(distances[l], nil)
			if mean < bestTheta {
				best, bestTheta = l, mean
			}
			e := table[l]
			if fields := c.candidates[l].fields; e.Labeling != by.String() || e.Error != "" || fields != 2*n {
				t.Errorf("%s: %+v, %d fields", by, e, fields)
			}
			if !nearly(*e.Theta, mean) || !nearly(*e.SE, stat.StdErr(sd, 80)) || !nearly(*e.Entries, float64(ones)/160) {
				t.Errorf("directed %v: %s: %v ± %v, %v entries; want %v ± %v, %v entries", directed, by,
					*e.Theta, *e.SE, *e.Entries, mean, stat.StdErr(sd, 80), float64(ones)/160)
			}
		}
		for l := range candidates {
			diff := make([]float64, len(pairs))
			for i := range diff {
				diff[i] = distances[l][i] - distances[best][i]
			}
			mean, sd := stat.MeanStdDev(diff, nil)
			if e := table[l]; !nearly(*e.Diff, mean) || !nearly(*e.DiffSE, stat.StdErr(sd, 80)) {
				t.Errorf("%s: difference %v ± %v, want %v ± %v", e.Labeling, *e.Diff, *e.DiffSE, mean, stat.StdErr(sd, 80))
			}
		}
		if chosen != best {
			t.Errorf("chose %v, want %v", candidates[chosen], candidates[best])
		}
	}
}

// The mean over all pairs of roots is what the estimates scatter about, by as
// much as their standard errors say.
func TestStandardError(t *testing.T) {
	race.Skip(t)
	graphs := graphsOfSizes(t, 6, 5, false)
	candidates := []labeling.Labeling{labeling.WL, labeling.Degree}
	const k, pairs, seeds = 5, 60, 400
	for l, by := range candidates {
		var all [][]float64
		for i, g := range graphs {
			for v := range int32(g.N()) {
				all = append(all, matrix(t, graphs, root{int32(i), v}, by, k))
			}
		}
		exact := 0.0
		for _, a := range all {
			for _, b := range all {
				for i := range a {
					exact += math.Abs(a[i] - b[i])
				}
			}
		}
		exact /= float64(len(all) * len(all))
		var thetas, squares []float64
		for seed := range uint64(seeds) {
			table, _ := compare(t, &comparison{graphs: graphs, k: k, workers: 1}, candidates, pairs, seed)
			thetas = append(thetas, *table[l].Theta)
			squares = append(squares, *table[l].SE**table[l].SE)
		}
		mean, sd := stat.MeanStdDev(thetas, nil)
		told := math.Sqrt(stat.Mean(squares, nil))
		if math.Abs(mean-exact) > 4*sd/math.Sqrt(seeds) {
			t.Errorf("%s: the mean of the estimates is %v, that over all pairs %v", by, mean, exact)
		}
		if math.Abs(told/sd-1) > 0.15 { // four times what 400 estimates of a deviation scatter by
			t.Errorf("%s: the estimates scatter by %v, their standard error is %v", by, sd, told)
		}
		t.Logf("%s: %.3f over all pairs, %.3f ± %.3f; standard error %.3f", by, exact, mean, sd/math.Sqrt(seeds), told)
	}
}

func nearly(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// matrix is the adjacency matrix of one field, written out.
func matrix(t *testing.T, graphs []*graph.Graph, r root, by labeling.Labeling, k int) []float64 {
	t.Helper()
	g := graphs[r.graph]
	ix := field.NewIndex(g, field.Both)
	var walk field.Assembler
	hood, dist := walk.Assemble(ix, r.node, k)
	members := make([]int32, k)
	norm := field.Normalizer{K: k, By: by}
	if err := norm.Normalize(ix, hood, dist, nil, members); err != nil {
		t.Fatal(err)
	}
	a := make([]float64, k*k)
	for u := range int32(g.N()) {
		for _, v := range g.Adj(u) {
			for i, x := range members {
				for j, y := range members {
					if x == u && y == v {
						a[i*k+j] = 1
					}
				}
			}
		}
	}
	return a
}

func TestThetaWorkers(t *testing.T) {
	graphs := graphsOfSizes(t, 3, 10, false)
	var want []estimate
	for _, workers := range []int{1, 2, 7} {
		table, _ := compare(t, &comparison{graphs: graphs, k: 5, crop: labeling.WL, workers: workers}, allLabelings(), 60, 0)
		if want == nil {
			want = table
		} else if !reflect.DeepEqual(table, want) {
			t.Errorf("%d workers: %+v, want %+v", workers, table, want)
		}
	}
}

// The same pairs in renumbered graphs have the same distances.
func TestThetaRenumbering(t *testing.T) {
	graphs := graphsOfSizes(t, 8, 15, false)
	rng := rand.New(rand.NewPCG(4, 4))
	moved := make([]*graph.Graph, len(graphs))
	perms := make([][]int, len(graphs))
	for i, g := range graphs {
		perms[i] = rng.Perm(g.N())
		perm := make([]int32, g.N())
		for v, p := range perms[i] {
			perm[v] = int32(p)
		}
		moved[i] = g.Renumber(perm)
	}
	for _, crop := range []labeling.Labeling{nil, labeling.WL} {
		a, b := &comparison{graphs: graphs, k: 7, crop: crop}, &comparison{graphs: moved, k: 7, crop: crop}
		if err := errors.Join(a.draw(100, 0), b.draw(100, 0)); err != nil {
			t.Fatal(err)
		}
		for i := range b.pairs {
			for j, r := range a.pairs[i] {
				b.pairs[i][j] = root{r.graph, int32(perms[r.graph][r.node])}
			}
		}
		if err := errors.Join(a.run(t.Context(), allLabelings()), b.run(t.Context(), allLabelings())); err != nil {
			t.Fatal(err)
		}
		for l, x := range a.candidates {
			if !reflect.DeepEqual(x.distance, b.candidates[l].distance) {
				t.Errorf("%s: renumbering changes distances", x.by)
			}
		}
	}
}

// With one cut for all, every labeling orders the same graphs: their matrices
// have as many entries.
func TestCropIsShared(t *testing.T) {
	graphs := graphsOfSizes(t, 6, 20, false)
	free, _ := compare(t, &comparison{graphs: graphs, k: 5}, allLabelings(), 200, 0)
	shared, _ := compare(t, &comparison{graphs: graphs, k: 5, crop: labeling.WL}, allLabelings(), 200, 0)
	differ := false
	for i := range shared {
		differ = differ || *free[i].Entries != *free[0].Entries
		if *shared[i].Entries != *shared[0].Entries {
			t.Errorf("%s: %v entries, %s has %v", shared[i].Labeling, *shared[i].Entries, shared[0].Labeling, *shared[0].Entries)
		}
		if shared[i].Labeling == "wl" && *shared[i].Theta != *free[i].Theta {
			t.Errorf("WL, cut by itself: %v and %v", *shared[i].Theta, *free[i].Theta)
		}
	}
	if !differ {
		t.Error("no labeling keeps other nodes than the first; the test tests nothing")
	}
}

// fragile fails on graphs of at least size nodes.
type fragile struct{ size int }

var errFragile = errors.New("too large")

func (fragile) String() string { return "fragile" }
func (f fragile) Label(in labeling.Input, labels []float64) error {
	clear(labels)
	if len(labels) >= f.size {
		return errFragile
	}
	return nil
}

func TestThetaFailures(t *testing.T) {
	graphs := graphsOfSizes(t, 2, 10, false)
	text := ""
	for workers := 1; workers < 5; workers++ {
		table, best := compare(t, &comparison{graphs: graphs, k: 5, crop: labeling.WL, workers: workers}, []labeling.Labeling{fragile{3}, labeling.Degree}, 50, 0)
		if e := table[0]; best != 1 || e.Error == "" || e.Theta != nil || e.SE != nil || e.Diff != nil {
			t.Errorf("best %d, %+v", best, e)
		}
		if *table[1].Diff != 0 || *table[1].DiffSE != 0 {
			t.Errorf("the best differs from itself: %+v", table[1])
		}
		if got := table[0].Error; text == "" {
			text = got
		} else if got != text {
			t.Errorf("%d workers: %s, one: %s", workers, got, text)
		}
	}
	by, table, err := (&comparison{k: 5}).choose(t.Context(), flow.From(sources.Families{Graphs: 6}), []labeling.Labeling{fragile{}}, 50, 0)
	if by != nil || len(table) != 1 || !errors.Is(err, errFragile) || !strings.Contains(err.Error(), "every labeling failed") {
		t.Errorf("%v %v %v", by, table, err)
	}
	if _, _, err := (&comparison{k: 5}).choose(t.Context(), flow.From(sources.Graphs{}), allLabelings(), 50, 0); err == nil || !strings.Contains(err.Error(), "no graph has a node") {
		t.Errorf("no graph: %v", err)
	}
}

func TestThetaCancellation(t *testing.T) {
	race.Skip(t)
	ctx, cancel := context.WithCancel(t.Context())
	c := &comparison{graphs: graphsOfSizes(t, 2, 10, false), k: 10}
	time.AfterFunc(20*time.Millisecond, cancel)
	if err := c.draw(maxPairs, 0); err != nil {
		t.Fatal(err)
	}
	if err := c.run(ctx, allLabelings()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
