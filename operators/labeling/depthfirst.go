package labeling

import (
	"fmt"

	"github.com/sanflow/sanflow/flow/graph"
)

// DepthFirst returns the nodes of g in the order of a depth-first traversal that
// is guided by order, all nodes ranked, as Rank returns them: it starts at the
// first node of order, goes on to the highest-ranked neighbour that it has not
// met, back if there is none, and starts again at the highest-ranked node not
// met where a component is finished (Niepert et al. 2016, "Node Sequence
// Selection", the alternative to sorting). Nodes that follow each other then
// tend to be near each other. Arcs are followed both ways.
//
// The traversal is a function of the structure and the ranking, so renumbering
// renumbers it wherever order is canonical. Not recursive; O(n + m), since the
// rows are sorted by rank all at once. An order that is no permutation of the
// nodes panics, and so do more than 2³⁰ arcs.
func DepthFirst(g *graph.Graph, order []int32) []int32 {
	n := g.N()
	check(n, order)
	off, nbr, err := bothWays(g)
	if err != nil {
		panic("labeling: depth-first: " + err.Error())
	}
	// Appending the nodes by rank to the rows of their neighbours sorts all rows by rank.
	sorted := make([]int32, len(nbr))
	next := append([]int32(nil), off[:min(n, len(off))]...)
	for _, v := range order {
		for _, u := range nbr[off[v]:off[v+1]] {
			sorted[next[u]] = v
			next[u]++
		}
	}
	copy(next, off) // position of the next neighbour in each row
	met := make([]bool, n)
	walk := make([]int32, 0, n)
	var path []int32
	meet := func(v int32) {
		met[v] = true
		walk = append(walk, v)
		path = append(path, v)
	}
	for _, start := range order {
		if met[start] {
			continue
		}
		for meet(start); len(path) > 0; {
			v := path[len(path)-1]
			for next[v] < off[v+1] && met[sorted[next[v]]] {
				next[v]++
			}
			if next[v] == off[v+1] {
				path = path[:len(path)-1]
			} else {
				meet(sorted[next[v]])
			}
		}
	}
	return walk
}

func check(n int, order []int32) {
	seen := make([]bool, n)
	for _, v := range order {
		if len(order) != n || v < 0 || int(v) >= n || seen[v] {
			panic(fmt.Sprintf("labeling: depth first: the order is no permutation of %d nodes", n))
		}
		seen[v] = true
	}
	if len(order) != n {
		panic(fmt.Sprintf("labeling: depth first: the order has %d nodes, want %d", len(order), n))
	}
}
