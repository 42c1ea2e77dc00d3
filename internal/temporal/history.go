package temporal

import (
	"fmt"
	"math"

	"github.com/sanflow/sanflow/flow/event"
)

// mostWalked bounds the neighbours of a node that are visited: its last targets, and as many of its last
// sources.
const mostWalked = 16

// Time constants of decayed counts, in units of History.hour.
var (
	pairScales = [3]float64{1. / 6, 2, 24}
	nodeScales = [4]float64{1. / 6, 1, 6, 72}
)

// History keeps the edges so far. The zero value keeps all. It is used by one goroutine at a time.
type History struct {
	// Last keeps that many edges. Within keeps the edges whose time is greater than the last time minus
	// Within. 0 = all.
	Last   int
	Within int64

	nodes []node
	pairs []pair
	free  []int32          // unused places in pairs
	index map[uint64]int32 // places in pairs
	edges int64            // edges so far
	both  bool             // some node was a source and a target

	queue []edge // the window

	near   walk // paths of 2 hops
	far    walk // paths of 3 hops
	stamp  []int32
	round  int32
	start  int64   // time of the first edge
	hour   float64 // mean time of 200 edges
	list   []int32
	pairOf []int32 // by target of one source: place in pairs + 1
	found  []int32 // pair of the source and each candidate; -1 = none
}

type edge struct {
	source, target int32
	time           int64
}

// pair is a source and a target with an edge in the window.
type pair struct {
	source, target int32
	newer, older   int32 // in the list of the source; -1 = none
	begin, time    int64 // times of the first and the last edge
	at             int64 // number of the last edge
	count          int32 // edges in the window
	sent, got      int32 // edges of the source, and of the target, at the last edge
	decayed        [3]float32
	value          float32 // value of the last edge
}

// node is the state of a node, as a source and as a target.
type node struct {
	outTime      int64
	sent, outs   int32 // edges so far, edges in the window
	targets      int32 // distinct targets in the window
	newest       int32 // the pair of the last edge
	last, before int32 // targets of the last two edges
	run          int32 // consecutive edges to the last target
	outNew       float32
	outGap       float32
	inTime       int64
	inAt         int64
	got, ins     int32
	sources      int32
	inNew        float32
	inGap        float32
	decayed      [4]float32
	fresh        [2]float32 // decayed count of new sources
	path         ring       // targets of the last edges
	visitors     ring
	followers    ring // targets that followed an edge to this node
}

// ring is the last mostWalked nodes of a sequence.
type ring struct {
	at [mostWalked]int32
	n  int32 // below 2·mostWalked; from mostWalked on the ring is full
}

func (r *ring) add(v int32) {
	r.at[r.n%mostWalked] = v
	if r.n++; r.n == 2*mostWalked {
		r.n = mostWalked
	}
}

func (r *ring) len() int { return int(min(r.n, mostWalked)) }

// newest returns the i-th last node.
func (r *ring) newest(i int) int32 { return r.at[(r.n-1-int32(i))%mostWalked] }

// followed returns how often v followed u, and how often any node did.
func (r *ring) followed(u, v int32) (n, of int) {
	for i := r.len() - 1; i > 0; i-- {
		if r.newest(i) == u {
			if of++; r.newest(i-1) == v {
				n++
			}
		}
	}
	return n, of
}

func (r *ring) count(v int32) (n int) {
	for _, w := range r.at[:r.len()] {
		if w == v {
			n++
		}
	}
	return n
}

// Add adds an AddEdge event, and ignores all others. The first continuous attribute, if any, is the value of
// the edge. Events must be in order of time.
func (h *History) Add(e event.Event) error {
	if e.Kind != event.AddEdge {
		return nil
	}
	if e.Source < 0 || e.Target < 0 {
		return fmt.Errorf("temporal: event %d: edge from %d to %d, want nodes from 0", e.Pos, e.Source, e.Target)
	}
	if h.Last < 0 || h.Within < 0 {
		return fmt.Errorf("temporal: Last is %d, Within %d, want at least 0", h.Last, h.Within)
	}
	h.grow(max(e.Source, e.Target))
	if h.edges == 0 {
		h.start = e.Time
	}
	h.hour = max(1, 200*elapsed(h.start, e.Time)/float64(h.edges+1))
	s, d := &h.nodes[e.Source], &h.nodes[e.Target]
	i, known := h.index[key(e.Source, e.Target)]
	fresh := float32(0)
	if !known {
		i, fresh = h.insert(e), 1
	}
	p := &h.pairs[i]
	h.raise(s, i)
	if s.sent == 0 {
		s.outNew, s.outGap, s.last = 0.5, 6, -1
	} else {
		s.outGap += 0.2 * (logOf(elapsed(s.outTime, e.Time)) - s.outGap)
	}
	if d.got == 0 {
		d.inNew, d.inGap = 0.5, 8
	} else {
		d.inGap += 0.2 * (logOf(elapsed(d.inTime, e.Time)) - d.inGap)
	}
	s.outNew += 0.1 * (fresh - s.outNew)
	d.inNew += 0.1 * (fresh - d.inNew)
	if s.last >= 0 {
		if s.last != e.Target {
			h.nodes[s.last].followers.add(e.Target)
		}
	}
	if s.before = s.last; s.last == e.Target {
		s.run++
	} else {
		s.run = 1
	}
	s.last = e.Target
	s.path.add(e.Target)
	if d.visitors.n == 0 || d.visitors.newest(0) != e.Source {
		d.visitors.add(e.Source)
	}
	for k, scale := range nodeScales {
		d.decayed[k] = d.decayed[k]*h.faded(d.inTime, e.Time, scale) + 1
		if k == 1 || k == 2 {
			d.fresh[k-1] = d.fresh[k-1]*h.faded(d.inTime, e.Time, scale) + fresh
		}
	}
	for k, scale := range pairScales {
		p.decayed[k] = p.decayed[k]*h.faded(p.time, e.Time, scale) + 1
	}
	s.sent, s.outs, s.outTime = s.sent+1, s.outs+1, e.Time
	d.got, d.ins, d.inTime, d.inAt = d.got+1, d.ins+1, e.Time, h.edges
	p.count, p.time, p.at, p.sent, p.got = p.count+1, e.Time, h.edges, s.sent, d.got
	if len(e.Attr) > 0 && e.Attr[0] == e.Attr[0] { // a missing value is NaN
		p.value = e.Attr[0]
	}
	h.both = h.both || s.got > 0 || d.sent > 0
	h.edges++
	h.slide(edge{e.Source, e.Target, e.Time})
	return nil
}

func key(source, target int32) uint64 { return uint64(source)<<32 | uint64(target) }

func (h *History) grow(v int32) {
	if h.index == nil {
		h.index = map[uint64]int32{}
	}
	for int32(len(h.nodes)) <= v {
		h.nodes = append(h.nodes, node{newest: -1, last: -1, before: -1})
	}
}

// insert adds a pair, which is in no list yet.
func (h *History) insert(e event.Event) int32 {
	var i int32
	if n := len(h.free); n > 0 {
		i, h.free = h.free[n-1], h.free[:n-1]
	} else {
		i = int32(len(h.pairs))
		h.pairs = append(h.pairs, pair{})
	}
	h.pairs[i] = pair{source: e.Source, target: e.Target, newer: -1, older: -1, begin: e.Time, at: h.edges}
	h.index[key(e.Source, e.Target)] = i
	h.nodes[e.Source].targets++
	h.nodes[e.Target].sources++
	return i
}

// raise moves pair i to the front of the list of its source.
func (h *History) raise(s *node, i int32) {
	if s.newest == i {
		return
	}
	h.unlink(s, i)
	h.pairs[i].older, h.pairs[i].newer = s.newest, -1
	if s.newest >= 0 {
		h.pairs[s.newest].newer = i
	}
	s.newest = i
}

// unlink removes pair i from the list of its source, if it is in it.
func (h *History) unlink(s *node, i int32) {
	p := &h.pairs[i]
	if p.newer >= 0 {
		h.pairs[p.newer].older = p.older
	} else if s.newest == i {
		s.newest = p.older
	}
	if p.older >= 0 {
		h.pairs[p.older].newer = p.newer
	}
}

// slide adds an edge to the window, and drops the edges that leave it.
func (h *History) slide(e edge) {
	if h.Last == 0 && h.Within == 0 {
		return
	}
	h.queue = append(h.queue, e)
	for h.Last > 0 && len(h.queue) > h.Last || h.Within > 0 && h.queue[0].time <= e.time-h.Within && e.time-h.Within < e.time {
		h.drop(h.queue[0])
		h.queue = h.queue[1:] // append copies what is left when the memory ends
	}
}

func (h *History) drop(e edge) {
	s, d := &h.nodes[e.source], &h.nodes[e.target]
	s.outs--
	d.ins--
	i := h.index[key(e.source, e.target)]
	if h.pairs[i].count--; h.pairs[i].count > 0 {
		return
	}
	h.unlink(s, i)
	delete(h.index, key(e.source, e.target))
	h.free = append(h.free, i)
	s.targets--
	d.sources--
}

// Recent appends the last targets of a source to dst, the newest first, at most n.
func (h *History) Recent(dst []int32, source int32, n int) []int32 {
	if int(source) >= len(h.nodes) {
		return dst
	}
	for i := h.nodes[source].newest; i >= 0 && n > 0; i, n = h.pairs[i].older, n-1 {
		dst = append(dst, h.pairs[i].target)
	}
	return dst
}

// faded returns the decay of a count from then to now.
func (h *History) faded(then, now int64, scale float64) float32 {
	return float32(math.Exp(-elapsed(then, now) / (scale * h.hour)))
}

// elapsed returns the time from then to now, or 0 if now is not later. The difference can exceed an int64.
func elapsed(then, now int64) float64 {
	if now <= then {
		return 0
	}
	return float64(uint64(now) - uint64(then))
}
