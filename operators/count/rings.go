package count

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
)

// Rings counts the simple cycles through each root, for the classification of nodes, one root a
// row. A word is the length of a cycle with the labels of its nodes, from the root on, in the
// direction whose sequence of hashes is smaller. Types of edges are ignored. The graph is
// undirected.
//
// Lengths are counted from the shortest one on. A length is counted as a whole or not at all, so
// words do not depend on node numbers: a length for which the search reads more than 16 384
// neighbours is left out, and all longer ones; so is a length that may lead beyond the 1024 nodes
// that are nearest. A worker keeps two bytes for each node of the graph.
type Rings struct {
	// Size is the length of the longest cycles, 3 to 12. 0 stands for 6.
	Size int
	// Plain leaves out all attributes.
	Plain bool
}

// String returns "rings" with all settings that are not the default.
func (r Rings) String() string { return describe(r) }

// Count implements Counter.
func (r Rings) Count(in Input, bag *Bag) error { return fresh(r, in, bag) }

// Prepare implements Preparer.
func (r Rings) Prepare() (Counter, error) {
	size := cmp.Or(r.Size, 6)
	if size < 3 || size > mostRing {
		return nil, fmt.Errorf("Size is %d, want 3 to %d", size, mostRing)
	}
	return &ringCounter{Rings: r, size: size}, nil
}

const (
	mostRing      = 12
	mostRingSteps = 1 << 14 // neighbours that are read for the cycles of a root and of a length
)

var kindRing = Kind("ring")

type ringCounter struct {
	Rings
	size int

	labels labeler
	hood   aroundCounter
	far    []uint8         // the distance from the root, plus one; 0 = not reached
	path   [mostRing]int32 // the root first
	steps  int
	rings  []int32 // of one length, one after the other
	hashes [2][mostRing]uint64
}

func (r *ringCounter) Count(in Input, bag *Bag) error {
	return r.each(in, func(id uint64, _ []int32) { bag.Add(id, 1) })
}

// each shows the cycles of each root, in the direction of their words.
func (r *ringCounter) each(in Input, show func(id uint64, ring []int32)) (err error) {
	g := in.Graph
	switch {
	case in.Roots == nil:
		return errNoRoots
	case g.Directed:
		return errors.New("the graph is directed, want an undirected one")
	case r.Plain:
		if g, err = plain(g); err != nil {
			return err
		}
	}
	if err := r.labels.reset(g, Bins{}); err != nil {
		return err
	}
	if len(r.far) < g.N() {
		r.hood.seen, r.far = make([]bool, g.N()), make([]uint8, g.N())
	}
	for _, root := range in.Roots {
		if root < 0 {
			continue
		}
		longest := r.reach(g, root)
		r.path[0] = root
		for n := 3; n <= longest; n++ {
			if r.steps, r.rings = 0, r.rings[:0]; !r.walk(g, n, 1) {
				break
			}
			for ring := range slices.Chunk(r.rings, n) {
				show(r.word(ring), ring)
			}
		}
		for _, v := range r.hood.around {
			r.hood.seen[v], r.far[v] = false, 0
		}
	}
	return nil
}

// reach sets the distances from a root, and returns the length of the longest cycles that
// lead no further.
func (r *ringCounter) reach(g *graph.Graph, root int32) int {
	a := &r.hood
	a.around, a.seen[root] = append(a.around[:0], root), true
	for begin, ring := 0, 0; ; ring++ {
		end := len(a.around)
		for _, v := range a.around[begin:end] {
			r.far[v] = uint8(ring + 1)
		}
		if ring == r.size/2 {
			return r.size
		}
		if !a.next(g, begin) {
			if len(a.around) == end {
				return r.size // there are no more nodes
			}
			return min(r.size, 2*ring+1)
		}
		begin = end
	}
}

// walk collects the cycles of n nodes that begin with the first ones of the path, each in one
// direction. It reports false once it has taken too many steps.
func (r *ringCounter) walk(g *graph.Graph, n, at int) bool {
	if at == n {
		if r.path[1] < r.path[n-1] {
			r.rings = append(r.rings, r.path[:n]...)
		}
		return true
	}
	row := g.Adj(r.path[at-1])
	if r.steps += len(row); r.steps > mostRingSteps {
		return false
	}
	for _, u := range row {
		// The root is at 1; the others lead back to it by the edges that are left.
		if f := int(r.far[u]); f <= 1 || f-1 > n-at || slices.Contains(r.path[1:at], u) {
			continue
		}
		r.path[at] = u
		if !r.walk(g, n, at+1) {
			return false
		}
	}
	return true
}

// word hashes a cycle, and turns it into the direction of the word.
func (r *ringCounter) word(ring []int32) uint64 {
	h := kindRing.Add(uint64(len(ring)))
	if !r.labels.nodes {
		return uint64(h)
	}
	ahead, back := r.hashes[0][:len(ring)], r.hashes[1][:len(ring)]
	for i, v := range ring {
		ahead[i] = r.labels.node(v)
		back[(len(ring)-i)%len(ring)] = ahead[i]
	}
	if slices.Compare(back, ahead) < 0 {
		slices.Reverse(ring[1:])
		ahead = back
	}
	for _, x := range ahead {
		h = h.Add(x)
	}
	return uint64(h)
}

// Find implements Finder. A word concerns the edges of its cycle.
func (r Rings) Find(in Input, names Dictionary, emit func(Occurrence)) error {
	_, err := Find(r, in, names, emit)
	return err
}

func (r *ringCounter) Find(in Input, names Dictionary, emit func(Occurrence)) error {
	var edges []graph.Edge
	return r.each(in, func(id uint64, ring []int32) {
		edges = scratch.Resize(edges, len(ring))
		for i, v := range ring {
			u := ring[(i+1)%len(ring)]
			edges[i] = graph.Edge{U: min(u, v), V: max(u, v)}
		}
		emit(Occurrence{
			ID: id, Count: 1, Edges: edges, Members: func() ([]int32, []graph.Edge) { return ring, edges },
			Text: func() string {
				text := fmt.Sprintf("cycle of %d through the root", len(ring))
				if !r.labels.nodes {
					return text
				}
				atoms := make([]string, len(ring))
				for i, v := range ring {
					atoms[i] = names.atom(&r.labels, v)
				}
				return text + ": " + strings.Join(atoms, " ")
			},
		})
	})
}
