package count

import (
	"fmt"

	"github.com/sanflow/sanflow/internal/scratch"
)

// WL counts colours of the one-dimensional Weisfeiler–Lehman algorithm: the labels of the nodes,
// round 0, and the colours after each of Height rounds. In a round the new colour of a node is the
// colour of (its colour, the multiset of its neighbours' colours). The linear kernel of these
// counts is the subtree kernel of Shervashidze et al., "Weisfeiler–Lehman graph kernels", JMLR 12,
// 2011. The first colours are the labels, or degrees without labels (see the package comment).
//
// A neighbour's colour includes the label of its edge. Leaving and arriving arcs are two
// multisets. O(Height · (n + m)); 24 bytes per node.
type WL struct {
	// Height is h, the number of rounds. 0 counts the labels alone; the PATCHY-SAN
	// paper takes 2.
	Height int
	// Triangles starts from finer colours: the label, the degree and the number of triangles of a
	// node, without directions. In graphs of small diameter, such as ego networks, one such round
	// separates more graphs than many rounds without. Triangles cost O(m^1.5) more, and 24 bytes
	// per node and 2 per CSR entry.
	Triangles bool
	// Rounded counts coarsely: colours start with the degree too, and each degree, number of
	// triangles or number of neighbours of one colour is rounded down to a power of 2, so that
	// hubs of 1000 and of 1010 neighbours are equal.
	Rounded bool
	// Coarse leaves out attributes of nodes that have several discrete ones, so that more nodes share a colour: 1 leaves the
	// first discrete attribute of nodes and of edges, 2 the first of nodes alone. Other graphs have no such words.
	Coarse int
}

// String returns "wl(height=2)" with all other settings that are not the default.
func (w WL) String() string { return describe(w) }

// Prepare implements Counter.
func (w WL) Prepare() (Worker, error) {
	if w.Height < 0 || w.Height > maxHeight {
		return nil, fmt.Errorf("Height is %d, want 0 to %d", w.Height, maxHeight)
	}
	if w.Coarse < 0 || w.Coarse > 2 {
		return nil, fmt.Errorf("Coarse is %d, want 0 to 2", w.Coarse)
	}
	return &wlCounter{WL: w}, nil
}

// maxHeight bounds Height far above what distinguishes graphs.
const maxHeight = 1 << 16

type wlCounter struct {
	WL
	labels    labeler
	colors    []uint64
	outs, ins []uint64 // hashes of the multisets of the neighbours' colours
	triangles triangles
	around    []uint64 // hashes of the neighbours of one node
}

var (
	kindWL      = Kind("wl")
	kindFiner   = Kind("wl triangles")
	kindRounded = Kind("wl rounded")
	kindCoarse  = Kind("wl coarse")
)

func (w *wlCounter) Count(in Input, bag *Bag) error {
	return w.run(in, func(colors []uint64) {
		for _, c := range colors {
			bag.Add(c, 1)
		}
	})
}

// Contexts implements Contexter. A context has the colours of all nodes after one round.
func (w *wlCounter) Contexts(in Input, emit func(ids []uint64)) error { return w.run(in, emit) }

// run calls show with the colours of each round.
func (w *wlCounter) run(in Input, show func(colors []uint64)) (err error) {
	g := in.Graph
	if w.Coarse > 0 {
		if g.NodeCats < 2 {
			return nil
		}
		g = firstAttributes(g, w.Coarse)
	}
	w.labels.reset(g)
	n := g.N()
	w.colors, w.outs = scratch.Resize(w.colors, n), scratch.Resize(w.outs, n)
	if g.Directed {
		w.ins = scratch.Resize(w.ins, n)
	}
	if (w.Triangles || w.Rounded) && g.Directed {
		w.labels.countArriving()
	}
	if w.Triangles {
		if err := w.triangles.count(in, g); err != nil {
			return err
		}
	}
	kind := w.kind()
	for v := range w.colors {
		w.colors[v] = uint64(w.first(kind, int32(v)))
	}
	show(w.colors)
	for range w.Height {
		if err := in.Err(); err != nil {
			return err
		}
		if w.Rounded {
			w.gatherRounded()
		} else {
			w.gather()
		}
		for v, c := range w.colors {
			h := kind.Add(c).Add(w.outs[v])
			if g.Directed {
				h = h.Add(w.ins[v])
			}
			w.colors[v] = uint64(h)
		}
		show(w.colors)
	}
	return nil
}

// gather sets outs, and ins in a directed graph, to the sums of the hashes of the neighbours'
// colours.
func (w *wlCounter) gather() {
	g := w.labels.g
	if !g.Directed && !w.labels.edges {
		for v := range w.outs {
			sum := uint64(0)
			for _, u := range g.Adj(int32(v)) {
				sum += uint64(kindEdge.Add(w.colors[u]))
			}
			w.outs[v] = sum
		}
		return
	}
	clear(w.outs)
	if g.Directed {
		clear(w.ins)
	}
	for v := range int32(g.N()) {
		for i := g.Offsets[v]; i < g.Offsets[v+1]; i++ {
			u, edge := g.Neighbors[i], w.labels.entry(i)
			w.outs[v] += uint64(edge.Add(w.colors[u]))
			if g.Directed {
				w.ins[u] += uint64(edge.Add(w.colors[v]))
			}
		}
	}
}
