package dynamic

import (
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/rows"
)

// occurrences are the additions of edges that are kept, each in a slot of its own: with a window or Gone all of them, else those
// of edges that occur more than once. The row of an edge has the attributes of an only occurrence. A slot takes 44
// bytes, and 4 for each attribute; an edge with slots takes about 20.
type occurrences struct {
	slots []occurrence
	cat   []int32   // (slots, EdgeCats)
	attr  []float32 // (slots, EdgeAttrs)
	free  []int32
	last  map[graph.Edge]int32 // the slot of the last occurrence of an edge
	// window is the slots of the window in the order of their ages. An occurrence that is late costs a step for each
	// younger one.
	window []int32
	added  int64 // occurrences so far
}

// occurrence is an addition of an edge.
type occurrence struct {
	age    int64 // the time where the window is one of time, else the number
	number int64 // of the occurrences before it
	pos    int64 // of the event, or -1
	u, v   int32
	next   int32 // the next one of the edge; of the last one, the first; taken if a removal took it
}

const (
	taken = -1
	none  = -1 // no occurrence of an edge is kept
)

// of returns the last occurrence of an edge, or none.
func (k *occurrences) of(e graph.Edge) int32 {
	if last, ok := k.last[e]; ok {
		return last
	}
	return none
}

// chain calls do with the occurrences of an edge, the last of which is given, in the order in which they came.
func (k *occurrences) chain(last int32, do func(slot int32)) {
	for slot := k.slots[last].next; ; {
		next := k.slots[slot].next // do may let go of the slot
		do(slot)
		if slot == last {
			return
		}
		slot = next
	}
}

// key names an edge, whichever way it was written.
func (g *Graph) key(u, v int32) graph.Edge {
	if !g.settings.Directed && u > v {
		u, v = v, u
	}
	return graph.Edge{U: u, V: v}
}

// windowed reports whether the graph has a window.
func (g *Graph) windowed() bool { return g.settings.Last > 0 || g.settings.Within > 0 }

// outside reports whether the time of an addition is out of the window.
func (g *Graph) outside(time int64) bool {
	since := g.now - g.settings.Within
	return g.settings.Within > 0 && since < g.now && time <= since // a later since is before all times
}

// keep keeps an occurrence of an edge, the last one of which is given, and returns the one that is the last now.
func (g *Graph) keep(e graph.Edge, last int32, pos, time int64, cat []int32, attr []float32) int32 {
	k, s := &g.kept, &g.settings
	o := occurrence{age: k.added, number: k.added, pos: pos, u: e.U, v: e.V}
	if s.Within > 0 {
		o.age = time
	}
	k.added++
	slot := int32(len(k.slots))
	if n := len(k.free); n > 0 {
		slot, k.free = k.free[n-1], k.free[:n-1]
	} else {
		k.slots = append(k.slots, o)
		k.cat, k.attr = append(k.cat, make([]int32, s.EdgeCats)...), append(k.attr, make([]float32, s.EdgeAttrs)...)
	}
	o.next = slot
	if last != none {
		o.next, k.slots[last].next = k.slots[last].next, slot
	}
	k.slots[slot], k.last[e] = o, slot
	g.setSlot(slot, cat, attr)
	if g.windowed() {
		k.push(slot)
	}
	return slot
}

// setSlot sets the attributes of an occurrence.
func (g *Graph) setSlot(slot int32, cat []int32, attr []float32) {
	c, a := g.slot(slot)
	assign(c, cat)
	assign(a, attr)
}

func (g *Graph) slot(slot int32) ([]int32, []float32) {
	return rows.Values(g.kept.cat, slot, g.settings.EdgeCats), rows.Values(g.kept.attr, slot, g.settings.EdgeAttrs)
}

// union returns what an edge has of its occurrences, the last of which is given, borrowed until the next call.
func (g *Graph) union(last int32) (cat []int32, attr []float32) {
	g.all = g.all[:0]
	g.kept.chain(last, func(slot int32) {
		c, a := g.slot(slot)
		g.all = append(g.all, Occurrence{c, a})
	})
	if len(g.all) > 1 && g.settings.Union != nil {
		return g.settings.Union(g.all)
	}
	held := slices.MinFunc(g.all, func(a, b Occurrence) int { return rows.Compare(a.Cat, a.Attr, b.Cat, b.Attr) })
	return held.Cat, held.Attr
}

// settle makes an edge what its occurrences are after some came or went: without any it goes.
func (g *Graph) settle(e graph.Edge, last int32) {
	k := &g.kept
	if last == none {
		g.removeEdge(e.U, e.V)
		return
	}
	if g.settings.EdgeCats+g.settings.EdgeAttrs > 0 {
		cat, attr := g.union(last)
		g.setItems(e.U, e.V, cat, attr)
	}
	if k.slots[last].next == last && !g.windowed() && (g.settings.Gone == nil || k.slots[last].pos < 0) { // the row has all that an only occurrence has
		delete(k.last, e)
		k.free = append(k.free, last)
	}
}

// take takes the oldest occurrence of an edge, or all.
func (g *Graph) take(u, v int32, all bool) {
	k, e := &g.kept, g.key(u, v)
	last := k.of(e)
	switch {
	case last == none:
		g.stats.Removed++
		g.gone(-1)
	case all:
		delete(k.last, e)
		k.chain(last, func(slot int32) {
			g.stats.Removed++
			g.discard(slot)
		})
		last = none
	default:
		oldest := k.slots[last].next
		if g.settings.Within > 0 {
			k.chain(last, func(slot int32) {
				if k.slots[slot].age < k.slots[oldest].age {
					oldest = slot
				}
			})
		}
		g.stats.Removed++
		last = k.unlink(oldest)
		g.discard(oldest)
	}
	g.settle(e, last)
}

// discard lets go of an occurrence that a removal took. One of a window counts until its time is over.
func (g *Graph) discard(slot int32) {
	g.gone(g.kept.slots[slot].pos)
	if g.windowed() {
		g.kept.slots[slot].next = taken
	} else {
		g.kept.free = append(g.kept.free, slot)
	}
}

// gone tells of an occurrence that has gone.
func (g *Graph) gone(pos int64) {
	if g.settings.Gone != nil {
		g.settings.Gone(pos)
	}
}

// unlink takes an occurrence from those of its edge, and returns the last one of these.
func (k *occurrences) unlink(slot int32) int32 {
	o := &k.slots[slot]
	e := graph.Edge{U: o.u, V: o.v}
	if o.next == slot {
		delete(k.last, e)
		return none
	}
	last := k.last[e]
	before := last
	for k.slots[before].next != slot {
		before = k.slots[before].next
	}
	k.slots[before].next = o.next
	if last == slot {
		last, k.last[e] = before, before
	}
	return last
}

// expire takes what is out of the window when as many occurrences as given are to come.
func (g *Graph) expire(room int) {
	k, s := &g.kept, &g.settings
	for len(k.window) > 0 && (s.Last > 0 && k.slots[k.window[0]].age < k.added+int64(room-s.Last) || g.outside(k.slots[k.window[0]].age)) {
		slot := k.window[0]
		k.window = k.window[1:] // append moves what is left when the room is used up
		o := k.slots[slot]
		k.free = append(k.free, slot)
		if o.next == taken {
			continue
		}
		g.stats.Expired++
		g.gone(o.pos)
		g.settle(graph.Edge{U: o.u, V: o.v}, k.unlink(slot))
	}
}

// push puts an occurrence into the window: at its end, unless it is late.
func (k *occurrences) push(slot int32) {
	at := len(k.window)
	k.window = append(k.window, slot)
	if age := k.slots[slot].age; at > 0 && age < k.slots[k.window[at-1]].age {
		at, _ = slices.BinarySearchFunc(k.window[:at], age, func(s int32, age int64) int {
			if k.slots[s].age <= age {
				return -1
			}
			return 1
		})
		copy(k.window[at+1:], k.window[at:])
		k.window[at] = slot
	}
}
