package field

import "github.com/sanflow/sanflow/flow/graph"

// ErrNoRoot is the error of a neighbourhood without nodes.
var ErrNoRoot = errNoRoot

// Joined reports whether ix has an edge u–v, or an arc u→v.
func Joined(ix *Index, u, v int32) bool { return ix.adj.find(u, v) >= 0 }

// General makes z compute every field on lists, which is the reference for all other
// ways.
func General(z *Normalizer) { z.general = true }

// Without makes z do without one of the paths that are there for speed alone; see
// BenchmarkPaths.
func Without(z *Normalizer, path string) {
	switch path {
	case "engine on words, cut":
		z.general = true
	case "memo":
		z.Cache = nil
	case "ends at the cut":
		z.cut.noEnding = true
	}
}

// DynamicIndex is the index of a graph that changes.
type DynamicIndex = dynamicIndex

// NewDynamicIndex returns the index of g, which is told of each change.
var NewDynamicIndex = newDynamicIndex

// IndexOf returns the index of the graph of k.
func IndexOf(k *Kept) *DynamicIndex { return k.d }

// AllInBulk makes k take changes without a search from the first step on.
func AllInBulk(k *Kept) { k.perNode = -1 }

// Steps is how many entries the searches since the last Refresh have read.
func Steps(k *Kept) int { return k.steps }

// Edges is what an EdgeFinder does, written down plainly.
func Edges(g *graph.Graph, members []int32, entry []int32) {
	k := len(members)
	entry = entry[:k*k]
	for i, u := range members {
		for j, v := range members {
			e := -1
			if u >= 0 && v >= 0 && u != v {
				e = g.Entry(u, v)
			}
			entry[i*k+j] = int32(e)
		}
	}
}

// Bytes returns the size of the array in use of a cache.
func Bytes(c *Cache) int {
	if g := c.current.Load(); g != nil {
		return 8 * g.size
	}
	return 0
}
