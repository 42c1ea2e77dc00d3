package count

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/operators/canon"
)

// forms finds the ids of small sets of nodes: hashes of the canonical form of what
// they induce.
type forms struct {
	near   *nearness
	g      *graph.Graph
	labels labeler
	hashes []uint64 // of the nodes, where they have labels

	known  map[uint64]uint64 // ids by the hash of a form in the order in which it was met
	solver canon.Solver
	rows   [maxGraphlet]uint64
	codes  [maxGraphlet * maxGraphlet]uint16
	colors [maxGraphlet]int32
	edges  []uint64 // hashes of the labels of arcs, ascending
}

var kindGraphlet = Kind("graphlet")

// mostForms bounds what is remembered: about 40 bytes each.
const mostForms = 1 << 17

func (f *forms) reset(g *graph.Graph, bins Bins) error {
	if err := f.labels.reset(g, bins); err != nil {
		return err
	}
	f.g = g
	if f.known == nil || len(f.known) > mostForms {
		f.known = map[uint64]uint64{}
	}
	if f.labels.nodes {
		f.hashes = scratch.Resize(f.hashes, g.N())
		for v := range f.hashes {
			f.hashes[v] = f.labels.node(int32(v))
		}
	}
	return nil
}

// of returns the id of what some nodes induce.
func (f *forms) of(nodes []int32) uint64 {
	key, shift := uint64(0), 0
	for i, v := range nodes {
		row := uint64(0)
		for j, u := range nodes[:i] {
			if f.near.adjacent(v, u) {
				row |= 1 << j
			}
		}
		f.rows[i] = row
		key |= row << shift
		shift += i
	}
	if f.g.Directed {
		key |= 1 << 62
	}
	h := Hash(0).Add(key)
	if f.labels.nodes {
		for _, v := range nodes {
			h = h.Add(f.hashes[v])
		}
	}
	if f.g.Directed || f.labels.edges {
		h = f.addArcs(h, nodes)
	}
	if id, ok := f.known[uint64(h)]; ok {
		return id
	}
	id := f.canonical(nodes)
	if len(f.known) <= mostForms {
		f.known[uint64(h)] = id
	}
	return id
}

// ofMatrix returns the id of a structure of n nodes, by the bits below the diagonal
// of its matrix, row by row.
func (f *forms) ofMatrix(n int, key uint64) uint64 {
	rows := f.rows[:n]
	clear(rows)
	for i := range n {
		for j := range i {
			if key&1 != 0 {
				rows[i] |= 1 << j
				rows[j] |= 1 << i
			}
			key >>= 1
		}
	}
	colors := f.colors[:n]
	clear(colors)
	order, _ := f.solver.Bits(rows, colors)
	h := kindGraphlet.Add(uint64(n))
	for i, a := range order {
		row := uint64(0)
		for j, b := range order[:i] {
			row |= rows[a] >> b & 1 << j
		}
		h = h.Add(row)
	}
	return uint64(h)
}

// addArcs adds what the arcs, or the edges, among some nodes are.
func (f *forms) addArcs(h Hash, nodes []int32) Hash {
	for i := range nodes {
		for row := f.rows[i]; row != 0; row &= row - 1 {
			j := bits.TrailingZeros64(row)
			h = h.Add(f.arc(nodes[i], nodes[j]))
			if f.g.Directed {
				h = h.Add(f.arc(nodes[j], nodes[i]))
			}
		}
	}
	return h
}

// arc hashes the label of the arc from u to v, 0 if there is none.
func (f *forms) arc(u, v int32) uint64 {
	e := f.g.Entry(u, v)
	if e < 0 {
		return 0
	}
	return uint64(f.labels.entry(int32(e)))
}

// canonical hashes the number of nodes, their labels in canonical order, the bits
// of the matrix below the diagonal, for arcs those above it, and the labels of the
// edges.
func (f *forms) canonical(nodes []int32) uint64 {
	n := len(nodes)
	colors := f.colors[:n]
	clear(colors)
	if f.labels.nodes {
		f.rank(nodes, colors)
	}
	var order []int32
	if f.g.Directed || f.labels.edges {
		order, _ = f.solver.Matrix(n, f.matrix(nodes), colors)
	} else {
		for i := range n {
			for row := f.rows[i] & (1<<i - 1); row != 0; row &= row - 1 {
				f.rows[bits.TrailingZeros64(row)] |= 1 << i
			}
		}
		order, _ = f.solver.Bits(f.rows[:n], colors)
	}
	h := kindGraphlet.Add(uint64(n))
	if f.labels.nodes {
		for _, i := range order {
			h = h.Add(f.hashes[nodes[i]])
		}
	}
	for i, a := range order {
		row, back := uint64(0), uint64(0)
		for j, b := range order[:i] {
			there, here := f.g.Entry(nodes[a], nodes[b]) >= 0, f.g.Directed && f.g.Entry(nodes[b], nodes[a]) >= 0
			if there {
				row |= 1 << j
			}
			if here {
				back |= 1 << j
			}
		}
		if h = h.Add(row); f.g.Directed {
			h = h.Add(back)
		}
	}
	if f.labels.edges {
		for i, a := range order {
			for _, b := range order[:i] {
				h = f.addArc(h, nodes[a], nodes[b])
				if f.g.Directed {
					h = f.addArc(h, nodes[b], nodes[a])
				}
			}
		}
	}
	return uint64(h)
}

// addArc adds the label of the arc from u to v, if there is one.
func (f *forms) addArc(h Hash, u, v int32) Hash {
	if a := f.arc(u, v); a != 0 {
		h = h.Add(a)
	}
	return h
}

// rank colours the nodes by the hashes of their labels.
func (f *forms) rank(nodes, colors []int32) {
	for i, v := range nodes {
		for _, u := range nodes {
			if cmp.Less(f.hashes[u], f.hashes[v]) {
				colors[i]++
			}
		}
	}
}

// matrix codes the arcs by the ranks of the hashes of their labels.
func (f *forms) matrix(nodes []int32) []uint16 {
	n := len(nodes)
	codes := f.codes[:n*n]
	f.edges = f.edges[:0]
	for _, v := range nodes {
		for _, u := range nodes {
			if a := f.arc(v, u); a != 0 {
				f.edges = append(f.edges, a)
			}
		}
	}
	slices.Sort(f.edges)
	f.edges = slices.Compact(f.edges)
	for i, v := range nodes {
		for j, u := range nodes {
			codes[i*n+j] = 0
			if a := f.arc(v, u); a != 0 {
				at, _ := slices.BinarySearch(f.edges, a)
				codes[i*n+j] = uint16(at) + 1
			}
		}
	}
	return codes
}
