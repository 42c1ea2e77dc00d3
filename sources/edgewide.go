package sources

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sanflow/sanflow/flow/graph"
)

// wideEdge is an edge of which an end has an id outside 0 … 2³¹-1. Such edges are kept
// apart: all others are pairs of 32-bit numbers from the first.
type wideEdge struct {
	u, v   int64
	weight float32
}

// widePart is those of a piece of the text, in their order.
type widePart struct {
	at    int
	edges []wideEdge
}

// wideBytes is what such an edge takes until it is one of the graph: itself, and its ends
// in a list that is sorted.
const wideBytes = 48

// wideOf reads a line with an edge whose ids are any 64-bit integers, and returns what is
// behind its nodes.
func wideOf(row []byte) (u, v int64, rest []byte, err error) {
	if u, rest, err = wideID(row); err != nil {
		return 0, 0, nil, err
	}
	if len(rest) == 0 {
		return 0, 0, nil, fmt.Errorf("%s, want two nodes", quote(row))
	}
	v, rest, err = wideID(rest)
	return u, v, rest, err
}

// wideID reads the id of a node, and returns what is behind it.
func wideID(line []byte) (id int64, rest []byte, err error) {
	f, rest := field(line)
	id, err = strconv.ParseInt(string(f), 10, 64)
	switch {
	case err == nil:
		return id, rest, nil
	case len(f) > 0 && len(bytes.Trim(bytes.TrimLeft(f, "+-"), "0123456789")) == 0 && len(f) > 18:
		return 0, nil, fmt.Errorf("node %s is beyond 64 bits", quote(f))
	}
	return 0, nil, fmt.Errorf("%s, want the id of a node: an integer; sources.Tables reads strings", quote(f))
}

// wide keeps an edge apart.
func (p *edgeParser) wide(u, v int64, weight float32) error {
	if p.scan.below > 0 {
		return fmt.Errorf("a node outside 0 to %d", p.scan.below-1)
	}
	p.apart = append(p.apart, wideEdge{u, v, weight})
	p.piece.edges++
	return nil
}

// handWide hands over the edges that a piece has kept apart.
func (p *edgeParser) handWide() error {
	if len(p.apart) == 0 {
		return nil
	}
	if err := p.scan.take(wideBytes * int64(len(p.apart))); err != nil {
		return err
	}
	s := p.scan
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wide = append(s.wide, widePart{p.piece.at, slices.Clone(p.apart)})
	p.apart = p.apart[:0]
	return nil
}

// numberWide is number where some ids are outside 0 … 2³¹-1. A comment that states a
// number of nodes is ignored, as wherever ids are larger.
func (e *edgeScan) numberWide(n *Network, more []int64) (int, error) {
	slices.SortFunc(e.wide, func(a, b widePart) int { return a.at - b.at })
	var small []int32
	var wide []int64
	put := func(id int64) {
		if 0 <= id && id <= math.MaxInt32 {
			small = append(small, int32(id))
		} else {
			wide = append(wide, id)
		}
	}
	edges := 0
	for _, p := range e.wide {
		edges += len(p.edges)
		for _, x := range p.edges {
			put(x.u)
			put(x.v)
		}
	}
	for _, id := range more {
		put(id)
	}
	slices.Sort(wide)
	wide = slices.Compact(wide)
	ids, err := e.edges.IDs(small)
	if err != nil {
		return 0, err
	}
	count := ids.Len() + len(wide)
	if count >= math.MaxInt32 {
		return 0, &FileError{e.l.file, 0, fmt.Errorf("%d nodes, want less than %d", count, math.MaxInt32)}
	}
	if err := e.take(8*int64(count) + 12*int64(edges)); err != nil {
		return 0, err
	}
	negative, _ := slices.BinarySearch(wide, 0)
	all := append(make([]int64, 0, count), wide[:negative]...)
	all = append(append(all, ids.List()...), wide[negative:]...)
	n.IDs = graph.IDsOf(all)
	node := func(id int64) int32 {
		v, _ := slices.BinarySearch(all, id)
		return int32(v)
	}
	list := make([]graph.Edge, 0, edges)
	var weights []float32
	for i, p := range e.wide {
		if err := e.l.alive(); err != nil {
			return 0, err
		}
		for _, x := range p.edges {
			list = append(list, graph.Edge{U: node(x.u), V: node(x.v)})
			if e.weighted {
				weights = append(weights, x.weight)
			}
		}
		e.l.give(wideBytes * int64(len(p.edges)))
		e.wide[i].edges = nil
	}
	if e.weighted {
		e.weights = append(e.weights, weights)
	}
	return count, e.edges.Join(ids, int32(negative), list)
}
