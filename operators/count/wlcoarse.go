package count

import (
	"math/bits"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
)

// kind returns the start of the hashes of colours, which differs between the settings of WL.
func (w *wlCounter) kind() Hash {
	h := kindWL
	if w.Triangles {
		h = h.Add(uint64(kindFiner))
	}
	if w.Rounded {
		h = h.Add(uint64(kindRounded))
	}
	if w.Coarse > 0 {
		h = h.Add(uint64(kindCoarse)).Add(uint64(w.Coarse))
	}
	return h
}

// firstAttributes returns a graph with the first discrete attributes only, as Coarse describes.
func firstAttributes(g *graph.Graph, coarse int) *graph.Graph {
	h := *g
	h.SparseCard, h.NodeCats, h.NodeCat, h.EdgeCats, h.EdgeCat = 0, 1, nil, 0, nil
	for i := 0; i < len(g.NodeCat); i += g.NodeCats {
		h.NodeCat = append(h.NodeCat, g.NodeCat[i])
	}
	if coarse == 1 && g.EdgeCats > 0 {
		h.EdgeCats = 1
		for i := 0; i < len(g.EdgeCat); i += g.EdgeCats {
			h.EdgeCat = append(h.EdgeCat, g.EdgeCat[i])
		}
	}
	return &h
}

// first returns the hash of the first colour of a node: its label and, with Triangles or Rounded,
// its degrees and triangles. With Rounded, a degree as label is left out, since it would be exact.
func (w *wlCounter) first(h Hash, v int32) Hash {
	if w.labels.nodes || !w.Rounded {
		h = h.Add(w.labels.node(v))
	}
	if w.Triangles || w.Rounded {
		h = h.Add(w.round(w.labels.g.Degree(v)))
		if w.labels.g.Directed {
			h = h.Add(w.round(int(w.labels.ins[v])))
		}
	}
	if w.Triangles {
		h = h.Add(w.round(int(w.triangles.of[v])))
	}
	return h
}

// round returns x, or, if Rounded is set, the number of bits of x.
func (w *wlCounter) round(x int) uint64 {
	if w.Rounded {
		return uint64(bits.Len(uint(x)))
	}
	return uint64(x)
}

// gatherRounded is gather with rounded multiplicities.
func (w *wlCounter) gatherRounded() {
	g := w.labels.g
	for v := range int32(g.N()) {
		w.around = w.around[:0]
		for i := g.Offsets[v]; i < g.Offsets[v+1]; i++ {
			w.around = append(w.around, uint64(w.labels.entry(i).Add(w.colors[g.Neighbors[i]])))
		}
		w.outs[v] = w.multiset()
	}
	if !g.Directed {
		return
	}
	offsets, tails, entry := g.Transpose()
	for v := range int32(g.N()) {
		w.around = w.around[:0]
		for i := offsets[v]; i < offsets[v+1]; i++ {
			w.around = append(w.around, uint64(w.labels.entry(entry[i]).Add(w.colors[tails[i]])))
		}
		w.ins[v] = w.multiset()
	}
}

// multiset returns the hash of the colours in around and their rounded multiplicities.
func (w *wlCounter) multiset() uint64 {
	slices.Sort(w.around)
	sum := uint64(0)
	for i := 0; i < len(w.around); {
		j := i + 1
		for j < len(w.around) && w.around[j] == w.around[i] {
			j++
		}
		sum += uint64(Hash(w.around[i]).Add(w.round(j - i)))
		i = j
	}
	return sum
}
