package count_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/count"
)

// Each statistic, found again by brute force, lies in the eight intervals that
// the documentation promises: ids are what a graph of the same numbers has.
func TestStatisticsOfKnownGraphs(t *testing.T) {
	of := func(n int, edges ...graph.Edge) map[uint64]float64 {
		g, err := graph.New(n, false, edges)
		if err != nil {
			t.Fatal(err)
		}
		return counted(t, g, count.Statistics{})
	}
	want := func(numbers ...float64) map[uint64]float64 {
		ids := map[uint64]float64{}
		for i, x := range numbers {
			h := count.Kind("statistic").Add(uint64(i))
			if x == 0 {
				ids[uint64(h)] = 1
				continue
			}
			for shift := range int64(8) {
				ids[uint64(h.Add(uint64(int64(math.Floor(4*math.Log2(x)+1e-9))-shift)))] = 1
			}
		}
		return ids
	}
	// A triangle with a tail, and a node alone.
	got := of(5, graph.Edge{U: 0, V: 1}, graph.Edge{U: 1, V: 2}, graph.Edge{U: 0, V: 2}, graph.Edge{U: 2, V: 3})
	same(t, "triangle with a tail", got, want(5, 4, 2, 1, 1, 5, 1, 3, 2, 0.8, 0.4, 0.6, 0.6, 0.2, 0.4, 18.*5/64))
	same(t, "one node", of(1), want(1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0))
	same(t, "none", of(0), nil)
}

// The core is that of taking nodes away one by one.
func TestStatisticsCore(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for range 200 {
		n := 1 + rng.IntN(14)
		var edges []graph.Edge
		p := rng.Float64()
		for u := range int32(n) {
			for v := range u {
				if rng.Float64() < p {
					edges = append(edges, graph.Edge{U: v, V: u})
				}
			}
		}
		g, err := graph.New(n, false, edges)
		if err != nil {
			t.Fatal(err)
		}
		core, there := 0, make([]bool, n)
		for v := range there {
			there[v] = true
		}
		for range n { // the node of the fewest neighbours goes
			at, fewest := -1, n
			for v := range int32(n) {
				d := 0
				for _, u := range g.Adj(v) {
					if there[u] {
						d++
					}
				}
				if there[v] && d < fewest {
					at, fewest = int(v), d
				}
			}
			core, there[at] = max(core, fewest), false
		}
		h := count.Kind("statistic").Add(8)
		id := uint64(h)
		if core > 0 {
			id = uint64(h.Add(uint64(int64(math.Floor(4*math.Log2(float64(core)) + 1e-9)))))
		}
		got := counted(t, g, count.Statistics{})
		higher := uint64(h.Add(uint64(int64(math.Floor(4*math.Log2(float64(core))+1e-9)) + 1)))
		if got[id] != 1 || core > 0 && got[higher] != 0 {
			t.Fatalf("n %d, edges %v: want a core of %d", n, edges, core)
		}
	}
}

func same(t *testing.T, name string, got, want map[uint64]float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d ids, want %d", name, len(got), len(want))
	}
	for id := range want {
		if got[id] != want[id] {
			t.Errorf("%s: %#x counts %v, want %v", name, id, got[id], want[id])
		}
	}
}
