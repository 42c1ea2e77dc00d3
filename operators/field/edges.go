package field

import "github.com/sanflow/sanflow/flow/graph"

// EdgeFinder finds the edges between the members of a field. It keeps memory for the nodes of
// the largest graph so far. The zero value is ready. It serves one goroutine.
type EdgeFinder struct {
	place []int32 // place in the current field plus one; 0 for other nodes
}

// Edges writes to entry, (k, k) row-major, the CSR position in g of the edge or arc from member
// i to member j, or -1. Edge tensors are gathered from it. It scans short rows and searches the
// rows of hubs for the k members: O(k + degrees of the members). Members are different nodes,
// or -1.
func (f *EdgeFinder) Edges(g *graph.Graph, members []int32, entry []int32) {
	adj := adjacencyOf(g.Offsets, g.Neighbors)
	f.edges(&adj, members, entry)
}

// EdgesOf is Edges for the graph of an index. The entries are positions in the
// attributes of edges of ix.Graph().
func (f *EdgeFinder) EdgesOf(ix *Index, members []int32, entry []int32) {
	f.edges(&ix.adj, members, entry)
}

func (f *EdgeFinder) edges(adj *adjacency, members []int32, entry []int32) {
	k := len(members)
	entry = entry[:k*k]
	for i := range entry {
		entry[i] = -1
	}
	if n := len(adj.begin); len(f.place) < n {
		f.place = make([]int32, n)
	}
	for i, v := range members {
		if v >= 0 {
			f.place[v] = int32(i) + 1
		}
	}
	for i, u := range members {
		if u < 0 {
			continue
		}
		row := entry[i*k : (i+1)*k]
		if adj.degree(u) > 8*k {
			for j, v := range members {
				if v >= 0 && u != v {
					row[j] = adj.find(u, v)
				}
			}
			continue
		}
		for e, v := range adj.row(u) {
			if j := f.place[v]; j > 0 && u != v {
				row[j-1] = adj.begin[u] + int32(e)
			}
		}
	}
	for _, v := range members {
		if v >= 0 {
			f.place[v] = 0
		}
	}
}
