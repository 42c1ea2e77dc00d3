package sinks_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/count"
)

// cyclesThrough is a counter of one's own: the simple cycles through each root, by their length, 3 to 6. A
// length for which the search reads more than 16 384 neighbours is left out, and all longer ones.
type cyclesThrough struct{}

func (cyclesThrough) String() string                 { return "rings" }
func (cyclesThrough) Prepare() (count.Worker, error) { return cyclesThrough{}, nil }
func (r cyclesThrough) Count(in count.Input, bag *count.Bag) error {
	return r.Find(in, count.Dictionary{}, func(o count.Occurrence) { bag.Add(o.ID, o.Count) })
}

func (cyclesThrough) Find(in count.Input, _ count.Dictionary, emit func(count.Occurrence)) error {
	const size, mostSteps = 6, 1 << 14
	g := in.Graph
	for _, root := range in.Roots {
		if root < 0 {
			continue
		}
		far := map[int32]int{root: 0} // distances from the root
		for at, queue := 0, []int32{root}; at < len(queue) && far[queue[at]] < size/2; at++ {
			for _, u := range g.Adj(queue[at]) {
				if _, ok := far[u]; !ok {
					far[u] = far[queue[at]] + 1
					queue = append(queue, u)
				}
			}
		}
		for n := 3; n <= size; n++ {
			path, steps := []int32{root}, 0
			var found [][]int32
			var walk func() bool
			walk = func() bool {
				if len(path) == n {
					if path[1] < path[n-1] {
						found = append(found, slices.Clone(path))
					}
					return true
				}
				row := g.Adj(path[len(path)-1])
				if steps += len(row); steps > mostSteps {
					return false
				}
				for _, u := range row {
					if f, ok := far[u]; !ok || f == 0 || f > n-len(path) || slices.Contains(path, u) {
						continue
					}
					path = append(path, u)
					if !walk() {
						return false
					}
					path = path[:len(path)-1]
				}
				return true
			}
			if !walk() {
				break
			}
			for _, ring := range found {
				edges := make([]graph.Edge, n)
				for i, v := range ring {
					u := ring[(i+1)%n]
					edges[i] = graph.Edge{U: min(u, v), V: max(u, v)}
				}
				emit(count.Occurrence{
					ID: uint64(count.Kind("ring").Add(uint64(n))), Count: 1, Edges: edges,
					Members: func() ([]int32, []graph.Edge) { return ring, edges },
					Text:    func() string { return fmt.Sprintf("cycle of %d through the root", n) },
				})
			}
		}
	}
	return nil
}

// Cycles are those of trying all sequences of nodes.
func TestRings(t *testing.T) {
	rng := rand.New(rand.NewPCG(28, 7))
	for range 40 {
		n := 3 + rng.IntN(6)
		var list []graph.Edge
		for u := range int32(n) {
			for v := range u {
				if rng.IntN(2) == 0 {
					list = append(list, graph.Edge{U: u, V: v})
				}
			}
		}
		g := must(graph.New(n, false, list))
		for root := range int32(n) {
			got, want := map[int]float64{}, map[int]float64{}
			check(cyclesThrough{}.Find(count.Input{Graph: g, Roots: []int32{root}}, count.Dictionary{}, func(o count.Occurrence) { got[len(o.Edges)]++ }))
			var try func(path []int32)
			try = func(path []int32) {
				last := path[len(path)-1]
				if len(path) >= 3 && g.Entry(last, root) >= 0 {
					want[len(path)] += 0.5 // each is found in both directions
				}
				for v := range int32(n) {
					if len(path) < 6 && !slices.Contains(path, v) && g.Entry(last, v) >= 0 {
						try(append(path, v))
					}
				}
			}
			try([]int32{root})
			if !maps.Equal(got, want) {
				t.Errorf("root %d: %v, want %v", root, got, want)
			}
		}
	}
}
