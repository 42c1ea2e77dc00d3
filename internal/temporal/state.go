package temporal

import (
	"fmt"
	"io"
	"math"

	"github.com/sanflow/sanflow/internal/state"
)

const (
	historyState = "sanflow history 2\n"
	most         = math.MaxInt32
)

// Save writes the settings and the edges so far.
func (h *History) Save(w io.Writer) error { return state.Save(w, historyState, h.state) }

// Load reads the output of Save and no byte behind it. The settings must equal those of h.
// After an error h is as before.
func (h *History) Load(r io.Reader) error {
	next := History{Last: h.Last, Within: h.Within}
	if err := state.Load(r, historyState, next.state); err != nil {
		return fmt.Errorf("temporal: history: state: %w", err)
	}
	*h = next
	return nil
}

func (h *History) state(c *state.Codec) {
	state.Same(c, "Last", int64(h.Last))
	state.Same(c, "Within", h.Within)
	both := uint8(0)
	if h.both {
		both = 1
	}
	state.Num(c, &h.edges, &h.start)
	state.Num(c, &h.hour)
	state.Num(c, &both)
	h.both = both > 0
	state.Each(c, "nodes", most, &h.nodes, func(n *node) {
		state.Num(c, &n.outTime, &n.inTime, &n.inAt)
		state.Num(c, &n.sent, &n.outs, &n.targets, &n.newest, &n.last, &n.before, &n.run, &n.got, &n.ins, &n.sources)
		state.Num(c, &n.outNew, &n.outGap, &n.inNew, &n.inGap)
		state.Fixed(c, n.decayed[:])
		state.Fixed(c, n.fresh[:])
		for _, r := range []*ring{&n.path, &n.visitors, &n.followers} {
			state.Num(c, &r.n)
			state.Fixed(c, r.at[:])
		}
	})
	state.Each(c, "pairs", most, &h.pairs, func(p *pair) {
		state.Num(c, &p.begin, &p.time, &p.at)
		state.Num(c, &p.source, &p.target, &p.newer, &p.older, &p.count, &p.sent, &p.got)
		state.Num(c, &p.value)
		state.Fixed(c, p.decayed[:])
	})
	state.Slice(c, "free places", len(h.pairs), &h.free)
	queue := make([]edge, h.held)
	for i := range queue {
		queue[i] = h.queue[(h.first+i)%len(h.queue)]
	}
	state.Each(c, "edges of the window", most, &queue, func(e *edge) {
		state.Num(c, &e.source, &e.target)
		state.Num(c, &e.time)
	})
	if c.Loading() {
		h.queue, h.first, h.held = queue, 0, len(queue)
		if err := h.check(); err != nil {
			c.Fail("%v", err)
		}
	}
}

// check reports the first way in which a history that was read breaks its rules, and makes
// the index.
func (h *History) check() error {
	n := int32(len(h.nodes))
	node := func(v, least int32) bool { return v >= least && v < n }
	h.index = map[uint64]int32{}
	for v := range h.nodes {
		s := &h.nodes[v]
		for _, r := range []*ring{&s.path, &s.visitors, &s.followers} {
			if r.n < 0 || r.n >= 2*mostWalked {
				return fmt.Errorf("node %d has %d neighbours", v, r.n)
			}
			for _, u := range r.at[:r.len()] {
				if !node(u, 0) {
					return fmt.Errorf("node %d has the neighbour %d, of %d nodes", v, u, n)
				}
			}
		}
		if !node(s.last, -1) || !node(s.before, -1) || s.got > 0 && s.visitors.n == 0 {
			return fmt.Errorf("node %d has the last targets %d and %d, and %d visitors", v, s.last, s.before, s.visitors.n)
		}
		targets, newer := int32(0), int32(-1)
		for i := s.newest; i != -1; i = h.pairs[i].older {
			if i < 0 || int(i) >= len(h.pairs) || h.pairs[i].source != int32(v) || h.pairs[i].newer != newer || h.pairs[i].count < 1 || !node(h.pairs[i].target, 0) {
				return fmt.Errorf("pair %d of node %d is not one of its list", i, v)
			}
			k := key(int32(v), h.pairs[i].target)
			if _, ok := h.index[k]; ok {
				return fmt.Errorf("nodes %d and %d are two pairs", v, h.pairs[i].target)
			}
			h.index[k], newer = i, i
			targets++
		}
		if targets != s.targets {
			return fmt.Errorf("node %d has %d targets, its list has %d", v, s.targets, targets)
		}
	}
	place := make([]bool, len(h.pairs))
	for _, i := range h.index {
		place[i] = true
	}
	for _, i := range h.free {
		if i < 0 || int(i) >= len(h.pairs) || place[i] {
			return fmt.Errorf("place %d is free, and is not", i)
		}
		place[i] = true
	}
	if len(h.free)+len(h.index) != len(h.pairs) {
		return fmt.Errorf("%d pairs and %d free places, want %d", len(h.index), len(h.free), len(h.pairs))
	}
	sources := make([]int32, n)
	for _, i := range h.index {
		sources[h.pairs[i].target]++
	}
	for v, k := range sources {
		if k != h.nodes[v].sources {
			return fmt.Errorf("node %d has %d sources, its pairs %d", v, h.nodes[v].sources, k)
		}
	}
	if h.Last == 0 && h.Within == 0 {
		if h.held > 0 {
			return fmt.Errorf("%d edges are held without a window", h.held)
		}
		return nil
	}
	left := make([]int32, len(h.pairs))
	for i, e := range h.queue {
		j, ok := h.index[key(e.source, e.target)]
		if !ok || i > 0 && e.time < h.queue[i-1].time {
			return fmt.Errorf("edge %d of the window has no pair, or is not in order of time", i)
		}
		left[j]++
	}
	for _, i := range h.index {
		if left[i] != h.pairs[i].count {
			return fmt.Errorf("pair %d has %d edges, %d in the window", i, h.pairs[i].count, left[i])
		}
	}
	return nil
}
