package field

import "github.com/sanflow/sanflow/flow/graph"

// NodeCats writes the discrete attributes of the members to out, (k, NodeCats) row-major. A
// dummy has -1, which one-hot encodes to zeros.
func NodeCats(g *graph.Graph, members []int32, out []int32) {
	gather(g.NodeCat, g.NodeCats, members, out, -1)
}

// NodeAttrs writes the continuous attributes of the members to out, (k,
// NodeAttrs) row-major, 0 for dummies.
func NodeAttrs(g *graph.Graph, members []int32, out []float32) {
	gather(g.NodeAttr, g.NodeAttrs, members, out, 0)
}

func gather[T int32 | float32](values []T, width int, members []int32, out []T, none T) {
	if width == 0 {
		return
	}
	out = out[:len(members)*width]
	if width == 1 { // a call of copy costs more than one value
		for i, v := range members {
			out[i] = none
			if v >= 0 {
				out[i] = values[v]
			}
		}
		return
	}
	for i, v := range members {
		if v < 0 {
			for j := range width {
				out[i*width+j] = none
			}
			continue
		}
		copy(out[i*width:(i+1)*width], row(values, v, width))
	}
}

// Adjacency writes to out, (k, k) row-major, 1 for each edge in entry, the result of
// EdgeFinder, and 0 elsewhere.
func Adjacency(entry []int32, out []float32) {
	out = out[:len(entry)]
	for i, e := range entry {
		out[i] = 0
		if e >= 0 {
			out[i] = 1
		}
	}
}

// EdgeCats writes to out, (k, k, EdgeCats) row-major, the discrete attributes of the edges in
// entry, the result of EdgeFinder, and -1 without an edge.
func EdgeCats(g *graph.Graph, entry []int32, out []int32) {
	gather(g.EdgeCat, g.EdgeCats, entry, out, -1)
}

// EdgeAttrs writes to out, (k, k, EdgeAttrs) row-major, the continuous
// attributes of the edges in entry, 0 if there is no edge.
func EdgeAttrs(g *graph.Graph, entry []int32, out []float32) {
	gather(g.EdgeAttr, g.EdgeAttrs, entry, out, 0)
}
