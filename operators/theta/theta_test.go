package theta

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/sanflow/sanflow/flow/flowtest/leak"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// collection returns graphs of many sizes, none among them without a node.
func collection(tb testing.TB, seed uint64, count int, directed bool) []*graph.Graph {
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

// clocked takes the times out of a table.
func clocked(table []Estimate) []Estimate {
	for i := range table {
		table[i].Time = 0
	}
	return table
}

// The estimates are those of matrices written out one by one.
func TestEqualsOracle(t *testing.T) {
	for _, directed := range []bool{false, true} {
		graphs := collection(t, 5, 12, directed)
		o := Options{K: 6, Pairs: 80, Seed: 9, Workers: 2, OwnCrop: true}
		candidates := []labeling.Labeling{labeling.Betweenness, labeling.WL, labeling.Clustering, labeling.Degree}
		table, err := Compare(context.Background(), graphs, candidates, o)
		if err != nil {
			t.Fatal(err)
		}
		pairs, err := draw(graphs, o)
		if err != nil {
			t.Fatal(err)
		}
		distances := make([][]float64, len(candidates))
		best, bestTheta := 0, math.Inf(1)
		for l, by := range candidates {
			ones := 0
			for _, p := range pairs {
				a, b := matrix(t, graphs, p[0], by, o.K), matrix(t, graphs, p[1], by, o.K)
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
			if e.Labeling != by || e.Pairs != o.Pairs || e.Err != nil || e.Stats.Fields != int64(2*o.Pairs) {
				t.Errorf("%s: %+v", by, e)
			}
			if !near(e.Theta, mean) || !near(e.SE, stat.StdErr(sd, 80)) || !near(e.Entries, float64(ones)/160) {
				t.Errorf("directed %v: %s: %v ± %v, %v entries; want %v ± %v, %v entries", directed, by,
					e.Theta, e.SE, e.Entries, mean, stat.StdErr(sd, 80), float64(ones)/160)
			}
		}
		for l := range candidates {
			diff := make([]float64, len(pairs))
			for i := range diff {
				diff[i] = distances[l][i] - distances[best][i]
			}
			mean, sd := stat.MeanStdDev(diff, nil)
			if e := table[l]; !near(e.Diff, mean) || !near(e.DiffSE, stat.StdErr(sd, 80)) {
				t.Errorf("%s: difference %v ± %v, want %v ± %v", e.Labeling, e.Diff, e.DiffSE, mean, stat.StdErr(sd, 80))
			}
		}
		chosen, _, err := Choose(context.Background(), graphs, candidates, o)
		if err != nil || chosen != candidates[best] {
			t.Errorf("chose %v, %v, want %v", chosen, err, candidates[best])
		}
	}
}

// The mean over all pairs of roots is what the estimates scatter about, by as
// much as their standard errors say.
func TestStandardError(t *testing.T) {
	graphs := collection(t, 6, 5, false)
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
			o := Options{K: k, Pairs: pairs, Seed: seed, OwnCrop: true, Workers: 1}
			table, err := Compare(context.Background(), graphs, candidates, o)
			if err != nil {
				t.Fatal(err)
			}
			thetas = append(thetas, table[l].Theta)
			squares = append(squares, table[l].SE*table[l].SE)
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

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

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

func TestWorkersDoNotMatter(t *testing.T) {
	graphs := collection(t, 3, 10, false)
	var want []Estimate
	for _, workers := range []int{1, 2, 7} {
		var last int
		table, err := Compare(context.Background(), graphs, Default(), Options{
			K: 5, Pairs: 60, Workers: workers, Progress: func(done, total int) {
				if done != last+1 || total != 60 {
					t.Errorf("progress %d of %d after %d", done, total, last)
				}
				last = done
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range table {
			if table[i].Err != nil {
				table[i] = Estimate{Labeling: table[i].Labeling} // NaN is not equal to itself
			}
		}
		if clocked(table); want == nil {
			want = table
		} else if !reflect.DeepEqual(table, want) {
			t.Errorf("%d workers: %+v, want %+v", workers, table, want)
		}
		if last != 60 {
			t.Errorf("progress ended at %d", last)
		}
	}
}

// The same pairs in renumbered graphs have the same distances.
func TestRenumbering(t *testing.T) {
	graphs := collection(t, 8, 15, false)
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
	for _, own := range []bool{false, true} {
		o, err := Options{K: 7, Pairs: 100, OwnCrop: own}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		pairs, err := draw(graphs, o)
		if err != nil {
			t.Fatal(err)
		}
		a := newComparison(graphs, Default(), pairs, o)
		pairs = append([][2]root(nil), pairs...)
		for i := range pairs {
			for j, r := range pairs[i] {
				pairs[i][j].node = int32(perms[r.graph][r.node])
			}
		}
		b := newComparison(moved, Default(), pairs, o)
		if err := errors.Join(a.run(context.Background()), b.run(context.Background())); err != nil {
			t.Fatal(err)
		}
		for l, by := range a.candidates {
			if !reflect.DeepEqual(a.results[l].distance, b.results[l].distance) {
				t.Errorf("%s: renumbering changes distances", by)
			}
		}
	}
}

// With one cut for all, every labeling orders the same graphs: their matrices
// have as many entries.
func TestCropIsShared(t *testing.T) {
	graphs := collection(t, 6, 20, false)
	free, err := Compare(context.Background(), graphs, Default(), Options{K: 5, Pairs: 200, OwnCrop: true})
	if err != nil {
		t.Fatal(err)
	}
	shared, err := Compare(context.Background(), graphs, Default(), Options{K: 5, Pairs: 200})
	if err != nil {
		t.Fatal(err)
	}
	differ := false
	for i := range shared {
		differ = differ || free[i].Entries != free[0].Entries
		if shared[i].Entries != shared[0].Entries {
			t.Errorf("%s: %v entries, %s has %v", shared[i].Labeling, shared[i].Entries, shared[0].Labeling, shared[0].Entries)
		}
		if shared[i].Labeling == labeling.WL && shared[i].Theta != free[i].Theta {
			t.Errorf("WL, cut by itself: %v and %v", shared[i].Theta, free[i].Theta)
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

func TestFailures(t *testing.T) {
	graphs := collection(t, 2, 10, false)
	ctx := context.Background()
	o := Options{K: 5, Pairs: 50}
	var text string
	for workers := 1; workers < 5; workers++ {
		o.Workers = workers
		best, table, err := Choose(ctx, graphs, []labeling.Labeling{fragile{3}, labeling.Degree}, o)
		if err != nil || best != labeling.Degree {
			t.Fatal(best, err)
		}
		if e := table[0]; !errors.Is(e.Err, errFragile) || !math.IsNaN(e.Theta) || !math.IsNaN(e.SE) || !math.IsNaN(e.Diff) {
			t.Errorf("%+v", e)
		}
		if table[1].Diff != 0 || table[1].DiffSE != 0 {
			t.Errorf("the best differs from itself: %+v", table[1])
		}
		if got := table[0].Err.Error(); text == "" {
			text = got
		} else if got != text {
			t.Errorf("%d workers: %s, one: %s", workers, got, text)
		}
	}
	best, table, err := Choose(ctx, graphs, []labeling.Labeling{fragile{}}, o)
	if best != nil || len(table) != 1 || !errors.Is(err, errFragile) || !strings.Contains(err.Error(), "every labeling failed") {
		t.Errorf("%v %v %v", best, table, err)
	}
}

func TestBadSettings(t *testing.T) {
	graphs := collection(t, 2, 3, false)
	empty, err := graph.New(0, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	by := []labeling.Labeling{labeling.WL}
	for _, c := range []struct {
		graphs []*graph.Graph
		by     []labeling.Labeling
		o      Options
		want   string
	}{
		{graphs, by, Options{K: -1}, "K is -1"},
		{graphs, by, Options{K: field.MaxK + 1}, "K is 257"},
		{graphs, by, Options{Pairs: 1}, "Pairs is 1"},
		{graphs, by, Options{K: 5, Bound: 4}, "Bound is 4"},
		{graphs, by, Options{Pairs: MaxPairs + 1}, "Pairs is 10000001"},
		{graphs, by, Options{Workers: -1}, "Workers is -1"},
		{graphs, by, Options{Direction: 7}, "Direction is 7"},
		{graphs, nil, Options{}, "no labelings"},
		{graphs, []labeling.Labeling{nil}, Options{}, "labeling 0 is nil"},
		{nil, by, Options{}, "no graph has a node"},
		{[]*graph.Graph{empty}, by, Options{}, "no graph has a node"},
		{[]*graph.Graph{nil}, by, Options{}, "a graph is nil"},
	} {
		if _, err := Compare(context.Background(), c.graphs, c.by, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

func TestCancellation(t *testing.T) {
	graphs := collection(t, 2, 10, false)
	ctx, cancel := context.WithCancel(context.Background())
	_, err := Compare(ctx, graphs, Default(), Options{Pairs: 100000, Progress: func(done, _ int) {
		if done == 3 {
			cancel()
		}
		if done > 3+64 {
			t.Errorf("went on for %d pairs", done-3)
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A damaged graph that was not checked is an error.
func TestDamagedGraph(t *testing.T) {
	for _, directed := range []bool{true, false} {
		g, err := graph.New(4, directed, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 3}})
		if err != nil {
			t.Fatal(err)
		}
		g.Neighbors[1] = 9
		_, err = Compare(context.Background(), []*graph.Graph{g}, []labeling.Labeling{labeling.Degree}, Options{K: 3, Pairs: 50, Workers: 3})
		if err == nil || !strings.HasPrefix(err.Error(), "theta: panic: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("directed %t: %v", directed, err)
		}
	}
}
