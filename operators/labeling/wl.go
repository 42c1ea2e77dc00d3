package labeling

import (
	"fmt"
	"sync"

	"github.com/sanflow/sanflow/operators/internal/refine"
)

// WL is colour refinement to the stable colouring.
var WL = WeisfeilerLehman{}

// WeisfeilerLehman labels nodes by colour refinement, the one-dimensional
// Weisfeiler–Lehman algorithm. The label of a node is n minus the place of the
// first node of its colour class in the order of classes, so the first class
// has label n. The order is made by splitting: starting from one class, or the
// hop distances in a neighbourhood, classes are split by the number of
// neighbours in another class, more neighbours first, in an order of classes
// that is itself a function of structure (see the package's refinement rule,
// operators/internal/refine). In directed graphs arcs that leave and arcs that
// arrive are counted apart. Edge types take no part.
//
// O((n + m) log n), Berkholz, Bonsma and Grohe 2013; O(h (n + m) log n) for h
// rounds.
type WeisfeilerLehman struct {
	// Rounds is h, the number of synchronous rounds; 0 refines until nothing
	// splits any more.
	Rounds int
	// Uniform starts from one colour in neighbourhoods too, the paper read
	// literally. The default are the hop distances, which give a finer
	// partition with fewer ties.
	Uniform bool
	// Attributes starts from the discrete node attributes, ascending, within
	// equal distances. The default leaves attributes out.
	Attributes bool
}

// String returns "wl", with the settings that differ from the default.
func (l WeisfeilerLehman) String() string {
	s := "wl"
	if l.Rounds > 0 {
		s = fmt.Sprintf("wl-%d", l.Rounds)
	}
	if l.Uniform {
		s += "-uniform"
	}
	if l.Attributes {
		s += "-attributes"
	}
	return s
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
	s := wlPool.Get().(*wlScratch)
	defer wlPool.Put(s)
	r := &s.refiner
	r.Reset(g.N())
	if in.Dist != nil && !l.Uniform {
		r.SplitLevels(in.Dist)
	}
	if l.Attributes && g.NodeCats > 0 {
		r.SplitFunc(func(u, v int32) int { return refine.CompareCats(g, u, v) })
	}
	rows := s.rows.Rows(g, false)
	if l.Rounds == 0 {
		r.QueueAll()
		r.Refine(rows)
	}
	for range l.Rounds {
		if err := in.Err(); err != nil {
			return err
		}
		if !r.Round(rows) {
			break
		}
	}
	for v := range labels {
		labels[v] = float64(g.N() - r.Start(int32(v)))
	}
	return nil
}
