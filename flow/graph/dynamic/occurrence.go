package dynamic

import (
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/rows"
)

// occurrences stores additions of edges, each in its own slot: with a window or Gone all of them, else those
// of edges with more than one occurrence. The row of an edge has the attributes of a single occurrence. A slot takes 44
// bytes, and 4 bytes for each attribute. An edge with slots takes about 20 bytes more.
type occurrences struct {
	slots []occurrence
	cat   []int32   // (slots, EdgeCats)
	attr  []float32 // (slots, EdgeAttrs)
	free  []int32
	last  map[graph.Edge]int32 // the slot of the last occurrence of an edge
	// window has the slots of the window in the order of their ages. A late occurrence costs O(1) for each
	// younger one.
	window []int32
	added  int64 // number of occurrences added so far
}

// occurrence is an addition of an edge.
type occurrence struct {
	age    int64 // time of the addition if Settings.Within is set, else number
	number int64 // number of occurrences added before
	pos    int64 // position of the event, or -1
	u, v   int32
	next   int32 // slot of the next occurrence of the edge, in a cycle; taken = removed
}

const (
	taken = -1
	none  = -1 // the edge has no slot
)

// of returns the last occurrence of an edge, or none.
func (k *occurrences) of(e graph.Edge) int32 {
	if last, ok := k.last[e]; ok {
		return last
	}
	return none
}

// chain calls do for each occurrence of an edge, in the order of addition. last is the last one.
func (k *occurrences) chain(last int32, do func(slot int32)) {
	for slot := k.slots[last].next; ; {
		next := k.slots[slot].next // do may free the slot
		do(slot)
		if slot == last {
			return
		}
		slot = next
	}
}

// key returns an edge in its canonical direction: from the smaller node if the graph is undirected.
func (g *Graph) key(u, v int32) graph.Edge {
	if !g.settings.Directed && u > v {
		u, v = v, u
	}
	return graph.Edge{U: u, V: v}
}

func (g *Graph) windowed() bool { return g.settings.Last > 0 || g.settings.Within > 0 }

// outside reports whether the time of an addition is before the window.
func (g *Graph) outside(time int64) bool {
	since := g.now - g.settings.Within
	return g.settings.Within > 0 && since < g.now && time <= since // after an overflow the window has all times
}

// keep stores an occurrence of an edge behind last, and returns its slot.
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

func (g *Graph) setSlot(slot int32, cat []int32, attr []float32) {
	c, a := g.slot(slot)
	assign(c, cat)
	assign(a, attr)
}

func (g *Graph) slot(slot int32) ([]int32, []float32) {
	return rows.Values(g.kept.cat, slot, g.settings.EdgeCats), rows.Values(g.kept.attr, slot, g.settings.EdgeAttrs)
}

// union returns the attributes of an edge, borrowed until the next call. last is its last occurrence.
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

// repeat updates an edge, at an item of g.out, after its last occurrence has come. O(1) in the number of occurrences.
func (g *Graph) repeat(e graph.Edge, last, at int32) {
	s := &g.settings
	switch {
	case s.EdgeCats+s.EdgeAttrs == 0:
	case s.Union != nil:
		g.stale[e] = true
	default:
		was, had := g.out.At(at)
		if cat, attr := g.slot(last); rows.Compare(cat, attr, was, had) < 0 {
			g.setItems(e.U, e.V, cat, attr)
		}
	}
}

// settle updates an edge after a removal or a setting of its occurrences. An edge without occurrences is removed.
func (g *Graph) settle(e graph.Edge, last int32) {
	k := &g.kept
	if last == none {
		g.removeEdge(e.U, e.V)
		return
	}
	switch isOne := k.slots[last].next == last; {
	case g.settings.EdgeCats+g.settings.EdgeAttrs == 0:
	case g.settings.Union != nil && !isOne:
		g.stale[e] = true
	default:
		delete(g.stale, e)
		cat, attr := g.union(last)
		g.setItems(e.U, e.V, cat, attr)
	}
	if k.slots[last].next == last && !g.windowed() && (g.settings.Gone == nil || k.slots[last].pos < 0) { // the row has its attributes, so no slot is needed
		delete(k.last, e)
		k.free = append(k.free, last)
	}
}

// take removes the oldest occurrence of an edge, or all.
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

// discard frees the slot of a removed occurrence. With a window, expire frees the slot later.
func (g *Graph) discard(slot int32) {
	g.gone(g.kept.slots[slot].pos)
	if g.windowed() {
		g.kept.slots[slot].next = taken
	} else {
		g.kept.free = append(g.kept.free, slot)
	}
}

func (g *Graph) gone(pos int64) {
	if g.settings.Gone != nil {
		g.settings.Gone(pos)
	}
}

// unlink removes an occurrence from the chain of its edge, and returns the last one of the chain, or none.
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

// expire removes the occurrences before the window, with space for room more additions.
func (g *Graph) expire(room int) {
	k, s := &g.kept, &g.settings
	for len(k.window) > 0 && (s.Last > 0 && k.slots[k.window[0]].age < k.added+int64(room-s.Last) || g.outside(k.slots[k.window[0]].age)) {
		slot := k.window[0]
		k.window = k.window[1:] // append moves the rest when the capacity is used up
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

// push inserts an occurrence into the window by its age.
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
