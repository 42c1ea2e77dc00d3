package count_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/count"
)

// The words of a node are those of its degree and the degrees around it, which are
// found again from a matrix.
func TestProfiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	near := func(x float64) uint64 { // the exponent of the nearest power of √2
		if x == 0 {
			return 0
		}
		at := -100
		for math.Pow(2, (float64(at)+0.5)/2) < x {
			at++
		}
		return uint64(at + 1<<32)
	}
	bits := func(x int) (n uint64) {
		for ; x > 0; x /= 2 {
			n++
		}
		return n
	}
	for range often(200) {
		n := 1 + rng.IntN(40)
		p := rng.Float64() * rng.Float64()
		joined := make([][]bool, n)
		for u := range joined {
			joined[u] = make([]bool, n)
		}
		var edges []graph.Edge
		degree := make([]int, n)
		for u := range n {
			for v := range u {
				if rng.Float64() < p || u == n-1 && p > 0.2 { // a hub
					joined[u][v], joined[v][u] = true, true
					edges = append(edges, graph.Edge{U: int32(v), V: int32(u)})
					degree[u]++
					degree[v]++
				}
			}
		}
		want := map[uint64]float64{}
		for u := range n {
			if degree[u] == 0 {
				continue
			}
			least, most, mean, square := n, 0, 0.0, 0.0
			for v := range n {
				if joined[u][v] {
					least, most = min(least, degree[v]), max(most, degree[v])
					mean += float64(degree[v]) / float64(degree[u])
				}
			}
			for v := range n {
				if joined[u][v] {
					square += (float64(degree[v]) - mean) * (float64(degree[v]) - mean)
				}
			}
			if square < 1e-9 {
				square = 0
			}
			h := count.Kind("profile").Add(bits(degree[u]))
			for _, word := range []count.Hash{
				h.Add(1).Add(bits(least)), h.Add(2).Add(bits(most)), h.Add(3).Add(near(mean)),
				h.Add(4).Add(near(math.Sqrt(square / float64(degree[u])))), h.Add(5).Add(bits(least)).Add(bits(most)),
			} {
				want[uint64(word)]++
			}
		}
		g, err := graph.New(n, false, edges)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "random graph", counted(t, g, count.Profiles{}), want)
	}
}

// Neighbours of a hub that have one degree all deviate by nothing, however many they
// are multiplied: all neighbours of equal degree still deviate by nothing.
func TestProfilesOfHubs(t *testing.T) {
	const hubs, leaves = 300, 300
	var edges []graph.Edge
	n := int32(hubs + 1)
	for h := range int32(hubs) {
		edges = append(edges, graph.Edge{U: 0, V: h + 1})
		for range leaves {
			edges = append(edges, graph.Edge{U: h + 1, V: n})
			n++
		}
	}
	g, err := graph.New(int(n), false, edges)
	if err != nil {
		t.Fatal(err)
	}
	got := counted(t, g, count.Profiles{})
	center := count.Kind("profile").Add(9).Add(4) // degree 300
	if got[uint64(center.Add(0))] != 1 {
		t.Fatalf("the hub in the middle deviates: %v", got)
	}
}
