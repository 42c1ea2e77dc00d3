package refine

import (
	"slices"

	"github.com/sanflow/sanflow/internal/scratch"
)

// keepMaps is the largest number of automorphisms that Automorphisms stores.
const keepMaps = 64

// Automorphisms has the automorphisms that a search has found at equal leaves. For each depth of the search tree it has the orbits of the
// automorphisms that fix all nodes of the path to that depth. The zero value is ready.
type Automorphisms struct {
	maps  [][]int32 // maps[:used] are valid; the others are memory for later automorphisms
	used  int
	roots [][]int32 // by depth: orbits as a union-find forest; empty until an automorphism fixes the path
	image []int32
}

// Reset forgets all automorphisms.
func (a *Automorphisms) Reset() {
	a.used = 0
	for depth, root := range a.roots {
		a.roots[depth] = root[:0]
	}
}

// Enter computes the orbits at the end of a path, before its candidates are visited.
func (a *Automorphisms) Enter(path []int32) {
	depth := len(path)
	a.grow(depth)
	a.roots[depth] = a.roots[depth][:0]
	for _, m := range a.maps[:a.used] {
		a.join(path, m)
	}
}

func (a *Automorphisms) grow(depth int) {
	for len(a.roots) <= depth {
		a.roots = append(a.roots, nil)
	}
}

// Mapping returns the map that takes from[i] to to[i], borrowed.
func (a *Automorphisms) Mapping(from, to []int32) []int32 {
	a.image = scratch.Resize(a.image, len(from))
	for i, v := range from {
		a.image[v] = to[i]
	}
	return a.image
}

// Add adds the automorphism m from the leaf at the end of the path best to the leaf at the end of path. It returns the first depth
// at which the paths differ, to which a search may return: all below it is an image of visited nodes.
func (a *Automorphisms) Add(m, best, path []int32) (fork int) {
	if a.used < keepMaps {
		if a.used == len(a.maps) {
			a.maps = append(a.maps, nil)
		}
		a.maps[a.used] = append(a.maps[a.used][:0], m...)
		a.used++
	}
	for fork < len(path) && path[fork] == best[fork] {
		fork++
	}
	a.grow(fork)
	for depth := 0; depth <= fork && depth < len(path); depth++ {
		a.join(path[:depth], m)
	}
	return fork
}

// join merges the orbits of m at the end of a path that m fixes.
func (a *Automorphisms) join(path, m []int32) {
	for _, v := range path {
		if m[v] != v {
			return
		}
	}
	root := a.roots[len(path)]
	if len(root) == 0 {
		for v := range m {
			root = append(root, int32(v))
		}
		a.roots[len(path)] = root
	}
	for v, w := range m {
		if x, y := find(root, int32(v)), find(root, w); x != y {
			root[max(x, y)] = min(x, y)
		}
	}
}

// Covers reports whether v is an image of a visited candidate at a depth.
func (a *Automorphisms) Covers(depth int, v int32, visited []int32) bool {
	root := a.roots[depth]
	return len(root) > 0 && slices.ContainsFunc(visited, func(u int32) bool { return find(root, u) == find(root, v) })
}

func find(root []int32, v int32) int32 {
	for root[v] != v {
		root[v] = root[root[v]]
		v = root[v]
	}
	return v
}

// rowsCheck tests whether a map of the nodes is an automorphism of rows.
type rowsCheck struct {
	stamp []int32
	a, b  []uint64
}

// automorphism reports whether the map m preserves all relations of g. O(n + m), and O(m log m) with codes.
func (c *rowsCheck) automorphism(g Rows, m []int32) bool {
	if g.Code != nil {
		return c.coded(g, m)
	}
	c.stamp = scratch.Resize(c.stamp, len(m))
	for v := range c.stamp {
		c.stamp[v] = -1
	}
	for v, w := range m {
		row, image := g.Row(int32(v)), g.Row(w)
		if len(row) != len(image) {
			return false
		}
		for _, u := range image {
			c.stamp[u] = w
		}
		for _, u := range row {
			if c.stamp[m[u]] != w {
				return false
			}
		}
	}
	return true
}

func (c *rowsCheck) coded(g Rows, m []int32) bool {
	for v, w := range m {
		c.a, c.b = c.a[:0], c.b[:0]
		for i := g.Off[v]; i < g.Off[v+1]; i++ {
			c.a = append(c.a, uint64(m[g.Nbr[i]])<<32|uint64(g.Code[i]))
		}
		for i := g.Off[w]; i < g.Off[w+1]; i++ {
			c.b = append(c.b, uint64(g.Nbr[i])<<32|uint64(g.Code[i]))
		}
		slices.Sort(c.a)
		slices.Sort(c.b)
		if !slices.Equal(c.a, c.b) {
			return false
		}
	}
	return true
}
