package count

import "fmt"

// WL counts colours of the one-dimensional Weisfeiler–Lehman algorithm: the labels
// of the nodes, round 0, and the colours after each of Height rounds, in which a
// node's colour becomes that of (its colour, the multiset of its neighbours'
// colours). The linear kernel of these counts is the subtree kernel of
// Shervashidze et al., "Weisfeiler–Lehman graph kernels", JMLR 12, 2011, their
// definition: all rounds count, and the first colours are the labels, or degrees
// where there are none (see the package comment).
//
// A neighbour's colour takes the label of the edge with it, and leaving and
// arriving arcs are two multisets. O(Height · (n + m)); 24 bytes per node.
type WL struct {
	// Height is h, the number of rounds. 0 counts the labels alone; the PATCHY-SAN
	// paper takes 2.
	Height int
	// Plain leaves out all attributes and the direction of arcs; the label is then
	// the degree.
	Plain bool
	// Bins lets continuous attributes take part. The default leaves them out.
	Bins Bins
}

// String returns "wl(height=2)", with what else differs from the default.
func (w WL) String() string { return describe(w) }

// Count implements Counter.
func (w WL) Count(in Input, bag *Bag) error { return fresh(w, in, bag) }

// Fork implements Forker.
func (w WL) Fork() (Counter, error) {
	if w.Height < 0 || w.Height > maxHeight {
		return nil, fmt.Errorf("Height is %d, want 0 to %d", w.Height, maxHeight)
	}
	return &wlCounter{WL: w}, w.Bins.check()
}

// maxHeight is far beyond what distinguishes graphs in practice.
const maxHeight = 1 << 16

type wlCounter struct {
	WL
	labels    labeler
	colors    []uint64
	outs, ins []uint64 // multisets of neighbours' colours
}

var kindWL = Kind("wl")

func (w *wlCounter) Count(in Input, bag *Bag) (err error) {
	g := in.Graph
	if w.Plain {
		if g, err = plain(g); err != nil {
			return err
		}
	}
	if err := w.labels.reset(g, w.bins()); err != nil {
		return err
	}
	n := g.N()
	w.colors, w.outs = resize(w.colors, n), resize(w.outs, n)
	if g.Directed {
		w.ins = resize(w.ins, n)
	}
	for v := range w.colors {
		w.colors[v] = uint64(kindWL.Add(w.labels.node(int32(v))))
		bag.Add(w.colors[v], 1)
	}
	for range w.Height {
		if err := in.Err(); err != nil {
			return err
		}
		w.gather()
		for v, c := range w.colors {
			h := kindWL.Add(c).Add(w.outs[v])
			if g.Directed {
				h = h.Add(w.ins[v])
			}
			w.colors[v] = uint64(h)
			bag.Add(uint64(h), 1)
		}
	}
	return nil
}

func (w *wlCounter) bins() Bins {
	if w.Plain {
		return Bins{}
	}
	return w.Bins
}

// gather sums the hashes of the neighbours' colours of every node.
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
