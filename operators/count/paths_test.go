package count_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/count"
)

// pathTexts looks for shortest paths by Floyd and Warshall.
func pathTexts(g *graph.Graph, label func(v int32) string) map[string]float64 {
	n := g.N()
	d := make([][]float64, n)
	for v := range d {
		d[v] = make([]float64, n)
		for u := range d[v] {
			d[v][u] = math.Inf(1)
			if g.Entry(int32(v), int32(u)) >= 0 {
				d[v][u] = 1
			}
		}
	}
	for w := range n {
		for v := range n {
			for u := range n {
				d[v][u] = min(d[v][u], d[v][w]+d[w][u])
			}
		}
	}
	found := map[string]float64{}
	for v := range n {
		for u := range n {
			a, b := label(int32(v)), label(int32(u))
			if u == v || math.IsInf(d[v][u], 1) || !g.Directed && v > u {
				continue
			}
			if !g.Directed && a > b {
				a, b = b, a
			}
			found[fmt.Sprint(a, "—", d[v][u], "—", b)]++
		}
	}
	return found
}

func TestPathsAreTheirDefinition(t *testing.T) {
	for i, k := range kindsOfGraphs {
		rng := rand.New(rand.NewPCG(uint64(i), 21))
		all := classes{}
		for range often(40) {
			g := random(rng, 7, k)
			label := func(v int32) string { return nodeText(g, v) }
			all.check(t, counted(t, g, count.Paths{}), pathTexts(g, label))
		}
	}
}

// The mean of what is counted from some nodes is what is counted from all.
func TestPathsFromSomeNodes(t *testing.T) {
	for _, k := range []kindOfGraph{{}, {directed: true, nodes: true}} {
		g := random(rand.New(rand.NewPCG(5, 22)), 40, k)
		meanIs(t, counted(t, g, count.Paths{}), often(100), func(seed uint64) map[uint64]float64 {
			perm := make([]int32, g.N()) // the sample depends on the numbers
			for v, p := range rand.New(rand.NewPCG(seed, 23)).Perm(g.N()) {
				perm[v] = int32(p)
			}
			return counted(t, g.Renumber(perm), count.Paths{Sources: 5})
		})
	}
}

// meanIs compares the mean of estimates with what they estimate, by their standard
// error: of all things together, and of each that is not so rare that its error is
// not known.
func meanIs(t *testing.T, want map[uint64]float64, seeds int, estimate func(seed uint64) map[uint64]float64) {
	t.Helper()
	const all = 0 // an id of nothing else
	total := 0.0
	for _, x := range want {
		total += x
	}
	want[all] = total
	met, sum, squares := map[uint64]int{}, map[uint64]float64{}, map[uint64]float64{}
	for seed := range seeds {
		total := 0.0
		add := func(id uint64, x float64) {
			met[id]++
			sum[id] += x
			squares[id] += x * x
			total += x
		}
		for id, x := range estimate(uint64(seed)) {
			if _, ok := want[id]; !ok {
				t.Fatalf("%#x is not there", id)
			}
			add(id, x)
		}
		add(all, total)
	}
	n := float64(seeds)
	for id, x := range want {
		mean := sum[id] / n
		dev := math.Sqrt(max(0, squares[id]/n-mean*mean) / (n - 1))
		if met[id] >= 20 && math.Abs(mean-x) > 5*dev+1e-9*x {
			t.Errorf("%#x: the mean is %v ± %v, want %v", id, mean, dev, x)
		}
	}
}
