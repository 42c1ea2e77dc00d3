package labeling_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/labeling"
)

// plainBetweenness is Algorithm 1 of Brandes 2001 as it stands there, in
// float64: no blocks, no twins, no fixed point.
func plainBetweenness(g *graph.Graph) []float64 {
	n := int32(g.N())
	total := make([]float64, n)
	for s := range n {
		var stack []int32
		pred := make([][]int32, n)
		sigma, dist, delta := make([]float64, n), make([]int, n), make([]float64, n)
		for v := range dist {
			dist[v] = -1
		}
		sigma[s], dist[s] = 1, 0
		queue := []int32{s}
		for len(queue) > 0 {
			v := queue[0]
			queue = queue[1:]
			stack = append(stack, v)
			for _, w := range g.Adj(v) {
				if dist[w] < 0 {
					dist[w] = dist[v] + 1
					queue = append(queue, w)
				}
				if dist[w] == dist[v]+1 {
					sigma[w] += sigma[v]
					pred[w] = append(pred[w], v)
				}
			}
		}
		for _, w := range slices.Backward(stack) {
			for _, v := range pred[w] {
				delta[v] += sigma[v] / sigma[w] * (1 + delta[w])
			}
			if w != s {
				total[w] += delta[w]
			}
		}
	}
	if !g.Directed {
		for v := range total {
			total[v] /= 2
		}
	}
	return total
}

// checkBetweenness compares with the plain algorithm, and a renumbered copy to
// the last bit.
func checkBetweenness(t *testing.T, name string, rng *rand.Rand, g *graph.Graph) {
	t.Helper()
	got, want := label(t, labeling.Betweenness, g), plainBetweenness(g)
	for v, w := range want {
		if math.Abs(got[v]-w) > 1e-6*(1+w) {
			t.Fatalf("%s: node %d has %v, want %v", name, v, got[v], w)
		}
	}
	perm := permutation(rng, g.N())
	moved := label(t, labeling.Betweenness, g.Renumber(perm))
	for v := range got {
		if got[v] != moved[perm[v]] {
			t.Fatalf("%s: node %d has %v, renumbered %v", name, v, got[v], moved[perm[v]])
		}
	}
}

// Every graph of up to five nodes, and every fifth of six.
func TestBetweennessOfSmallGraphs(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 1))
	for n := range 7 {
		step := uint(1 + 4*(n/6))
		for mask := uint(0); mask < 1<<(n*(n-1)/2); mask += step {
			var edges []graph.Edge
			bit := mask
			for u := range int32(n) {
				for v := range u {
					if bit&1 == 1 {
						edges = append(edges, graph.Edge{U: u, V: v})
					}
					bit >>= 1
				}
			}
			checkBetweenness(t, fmt.Sprintf("n=%d mask=%b", n, mask), rng, build(t, n, false, edges))
		}
	}
}

// withTwins adds nodes that have the neighbours of others, joined to them or
// not, and trees.
func withTwins(rng *rand.Rand, n int, edges []graph.Edge) (int, []graph.Edge) {
	for range 1 + n/3 {
		of, v := int32(rng.IntN(n)), int32(n)
		n++
		switch rng.IntN(4) {
		case 0:
			edges = append(edges, graph.Edge{U: of, V: v}) // a leaf
			continue
		case 1:
			edges = append(edges, graph.Edge{U: of, V: v}) // a joined twin
		}
		for _, e := range edges[:len(edges):len(edges)] {
			switch {
			case e.U == of && e.V != v:
				edges = append(edges, graph.Edge{U: v, V: e.V})
			case e.V == of && e.U != v:
				edges = append(edges, graph.Edge{U: v, V: e.U})
			}
		}
	}
	return n, edges
}

// Graphs that the reduction takes apart: trees, blocks, twins, several
// components, and what is none of these.
func TestBetweennessOfReducibleGraphs(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 2))
	for i := range 150 {
		n := 2 + rng.IntN(25)
		edges := randomEdges(rng, n, rng.IntN(2*n))
		if i%3 == 0 { // blocks that share nodes
			n = 0
			edges = nil
			for range 1 + rng.IntN(6) {
				size := int32(2 + rng.IntN(6))
				at := int32(max(0, n-1))
				edges = append(edges, cycle(at, size)...)
				n = int(at + size)
				edges = append(edges, graph.Edge{U: at, V: at + int32(rng.IntN(int(size)))})
			}
		}
		for range i % 4 {
			n, edges = withTwins(rng, n, edges)
		}
		checkBetweenness(t, fmt.Sprint("graph ", i), rng, build(t, n, false, edges))
		if i%5 == 0 {
			checkBetweenness(t, fmt.Sprint("directed graph ", i), rng, build(t, n, true, edges))
		}
	}
}

// A ring of joints, each tied to the next by three sides of which two are
// joined: 3⁷⁵ shortest paths lead to the opposite joint, more than 2⁵³ and not
// exact in a float64, and no node parts the ring.
func TestBetweennessOfManyPathsInOneBlock(t *testing.T) {
	const joints = 150
	rng := rand.New(rand.NewPCG(41, 3))
	for _, directed := range []bool{false, true} {
		var edges []graph.Edge
		for i := range int32(joints) {
			a, b := 4*i, 4*(i+1)%(4*joints)
			for side := a + 1; side < a+4; side++ {
				edges = append(edges, graph.Edge{U: a, V: side}, graph.Edge{U: side, V: b})
			}
			edges = append(edges, graph.Edge{U: a + 1, V: a + 2})
		}
		checkBetweenness(t, fmt.Sprint("ring, directed ", directed), rng, build(t, 4*joints, directed, edges))
	}
}
