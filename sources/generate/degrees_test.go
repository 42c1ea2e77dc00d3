package generate

import (
	"math"
	"testing"
)

func TestRandomDegrees(t *testing.T) {
	weight := []float64{0, 1, 1. / 2, 1. / 3}
	g, err := RandomDegrees(10000, weight, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	var count [4]int
	for v := range int32(g.N()) {
		count[g.Degree(v)]++
	}
	// 6/11, 3/11 and 2/11 of the nodes, within five standard deviations.
	for d, share := range []float64{0, 6. / 11, 3. / 11, 2. / 11} {
		if got := float64(count[d]) / 10000; d > 0 && math.Abs(got-share) > 0.025 {
			t.Errorf("%.3f of the nodes have degree %d, want %.3f", got, d, share)
		}
	}
	if count[0] > 1 { // the odd end
		t.Errorf("%d nodes without an edge", count[0])
	}
	again, _ := RandomDegrees(10000, weight, 1)
	other, _ := RandomDegrees(10000, weight, 2)
	if !sameRows(g.Neighbors, again.Neighbors) || sameRows(g.Neighbors, other.Neighbors) {
		t.Error("a seed stands for one graph, and another for another")
	}
	for n := range 6 {
		for seed := range uint64(50) {
			g, err := RandomDegrees(n, weight, seed)
			if err != nil || g.N() != n || g.Check() != nil {
				t.Fatalf("n %d, seed %d: %v", n, seed, err)
			}
		}
	}
}

func sameRows(a, b []int32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestRandomDegreesErrors(t *testing.T) {
	for _, weight := range [][]float64{nil, {0, 0}, {1, -1}, {math.NaN()}, {math.Inf(1)}, {math.MaxFloat64, math.MaxFloat64}} {
		if _, err := RandomDegrees(10, weight, 1); err == nil {
			t.Errorf("weights %v: no error", weight)
		}
	}
	for _, n := range []int{-1, 1 << 29} {
		if _, err := RandomDegrees(n, []float64{0, 1}, 1); err == nil {
			t.Errorf("%d nodes: no error", n)
		}
	}
}
