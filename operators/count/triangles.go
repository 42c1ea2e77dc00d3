package count

import (
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
)

// triangles counts the triangles of each node. It ignores directions.
type triangles struct {
	of []int64

	rank   []int32 // by node: rank by degree
	order  []int32 // nodes by rank
	starts []int32 // by node: start of its neighbours in later
	later  []int32 // neighbours of higher rank, node by node
	mark   []int32 // number of the node plus one whose later neighbours are marked
}

// count sets of to the number of triangles of each node. Each edge leads from the end of lower rank
// to that of higher rank, so a node has at most √(2m) of them, and each triangle is found once, at
// its first node (Chiba and Nishizeki, "Arboricity and subgraph listing algorithms", 1985).
// O(m^1.5).
func (t *triangles) count(in Input, g *graph.Graph) error {
	if g.Directed {
		var err error
		if g, err = plain(g); err != nil {
			return err
		}
	}
	n := g.N()
	t.of, t.mark = scratch.Resize(t.of, n), scratch.Resize(t.mark, n)
	clear(t.of)
	clear(t.mark)
	t.rankByDegree(g)
	t.starts, t.later = scratch.Resize(t.starts, n+1), t.later[:0]
	for v := range int32(n) {
		t.starts[v] = int32(len(t.later))
		for _, u := range g.Adj(v) {
			if t.rank[u] > t.rank[v] {
				t.later = append(t.later, u)
			}
		}
	}
	t.starts[n] = int32(len(t.later))
	for v := range int32(n) {
		if v&1023 == 0 {
			if err := in.Err(); err != nil {
				return err
			}
		}
		own := t.later[t.starts[v]:t.starts[v+1]]
		for _, u := range own {
			t.mark[u] = v + 1
		}
		for _, u := range own {
			for _, x := range t.later[t.starts[u]:t.starts[u+1]] {
				if t.mark[x] == v+1 {
					t.of[v]++
					t.of[u]++
					t.of[x]++
				}
			}
		}
	}
	return nil
}

// rankByDegree ranks the nodes by degree, then number, with a counting sort.
func (t *triangles) rankByDegree(g *graph.Graph) {
	n := g.N()
	t.rank, t.order = scratch.Resize(t.rank, n), scratch.Resize(t.order, n+1)
	at := t.order
	clear(at)
	for v := range int32(n) {
		if d := g.Degree(v) + 1; d < len(at) {
			at[d]++
		}
	}
	for d := 1; d < len(at); d++ {
		at[d] += at[d-1]
	}
	for v := range int32(n) {
		d := g.Degree(v)
		t.rank[v] = at[d]
		at[d]++
	}
}
