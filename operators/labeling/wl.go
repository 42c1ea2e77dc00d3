package labeling

import (
	"fmt"
	"sync"

	"github.com/sanflow/sanflow/operators/internal/refine"
)

// WL is colour refinement to the stable colouring.
var WL = WeisfeilerLehman{}

// WeisfeilerLehman labels nodes by colour refinement, the one-dimensional Weisfeiler–Lehman
// algorithm, with the textbook numbering of colours: in each round the new colour of a node is the
// rank of (old colour, ascending list of the neighbours' old colours); lists are compared colour by
// colour, and a proper prefix is smaller. A colour is the number of nodes of smaller colour.
//
// On a whole graph all nodes start with one colour and the label is the colour,
// so that nodes of high degree come first. In a neighbourhood the hop distances
// are the first colours and the label is n minus the colour, so that near nodes
// come first, and of equally near ones those with few neighbours further out.
//
// Directed graphs distinguish incoming and outgoing arcs. Edge types take no part.
//
// O((n + m) log n), Berkholz, Bonsma and Grohe 2013. Directed graphs have at most 2³⁰ arcs.
type WeisfeilerLehman struct {
	// Rounds is h, the number of synchronous rounds; 0 refines until nothing
	// splits any more.
	Rounds int
	// Uniform starts from one colour in neighbourhoods too, the paper read
	// literally. The default are the hop distances, which give a finer
	// partition with fewer ties.
	Uniform bool
	// Attributes starts from the discrete node attributes, then the sparse one:
	// their order gives the first colours, within equal distances. The default
	// leaves them out.
	Attributes bool
}

// String returns "wl" or "wl-3", with the other settings that differ from the default.
func (l WeisfeilerLehman) String() string {
	name := "wl"
	if l.Rounds > 0 {
		name = fmt.Sprintf("wl-%d", l.Rounds)
	}
	return language.Describe(name, WeisfeilerLehman{Rounds: l.Rounds}, l)
}

type wlScratch struct {
	refiner refine.Refiner
	rows    refine.Builder
}

var wlPool = sync.Pool{New: func() any { return new(wlScratch) }}

// Label implements Labeling.
func (l WeisfeilerLehman) Label(in Input, labels []float64) error {
	if l.Rounds < 0 {
		return fmt.Errorf("%d rounds, want at least 0", l.Rounds)
	}
	g := in.Graph
	start := l.Attributes && g.NodeCats+g.SparseCard > 0
	if g.Directed {
		if err := bothFit(len(g.Neighbors)); err != nil {
			return err
		}
	}
	s := wlPool.Get().(*wlScratch)
	defer wlPool.Put(s)
	r := &s.refiner
	r.Reset(g.N())
	distances := in.Dist != nil && !l.Uniform
	if distances {
		r.SplitLevels(in.Dist)
	}
	if start {
		r.SplitFunc(func(u, v int32) int { return refine.CompareCats(g, u, v) })
	}
	rows := s.rows.Rows(g, false)
	var err error
	r.Stop = func() bool {
		err = in.Err()
		return err != nil
	}
	r.Number(rows, l.Rounds, 0)
	r.Stop = nil
	if err != nil {
		return err
	}
	for v := range labels {
		labels[v] = float64(r.Start(int32(v)))
		if distances {
			labels[v] = float64(g.N()) - labels[v]
		}
	}
	return nil
}
