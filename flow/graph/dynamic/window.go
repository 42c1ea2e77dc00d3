package dynamic

import (
	"cmp"
	"slices"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph"
)

// window holds the occurrences of edges in a heap, the oldest on top: 24 bytes each.
type window struct {
	heap  []occurrence
	added int64 // occurrences so far
	// gone holds the removals whose occurrences are still in the heap, by edge and in
	// their order.
	gone map[graph.Edge][]removal
}

// occurrence is an addition of an edge.
type occurrence struct {
	age    int64 // the time where the window is one of time, else the number
	number int64 // of the occurrences before it
	u, v   int32
}

// older orders occurrences by age. Of two of one age, the one that came first is older.
func (o *occurrence) older(p *occurrence) bool {
	return o.age < p.age || o.age == p.age && o.number < p.number
}

// removal takes n occurrences of an edge, each with a number below before.
type removal struct {
	before int64
	n      int32
}

// key names an edge, whichever way it was written.
func (g *Graph) key(u, v int32) graph.Edge {
	if !g.settings.Directed && u > v {
		u, v = v, u
	}
	return graph.Edge{U: u, V: v}
}

// outside reports whether the time of an addition is out of the window.
func (g *Graph) outside(time int64) bool {
	since := g.now - g.settings.Within
	return g.settings.Within > 0 && since < g.now && time <= since // a later since is before all times
}

// remember puts an occurrence into the window.
func (g *Graph) remember(e *event.Event) {
	w, k := &g.window, g.key(e.Source, e.Target)
	o := occurrence{w.added, w.added, k.U, k.V}
	switch {
	case g.settings.Within > 0:
		o.age = e.Time
	case g.settings.Last == 0:
		return
	}
	w.added++
	w.heap = append(w.heap, o)
	for i := len(w.heap) - 1; i > 0 && w.heap[i].older(&w.heap[(i-1)/2]); i = (i - 1) / 2 {
		w.heap[i], w.heap[(i-1)/2] = w.heap[(i-1)/2], w.heap[i]
	}
}

// forget notes that the n oldest occurrences of an edge were removed.
func (w *window) forget(k graph.Edge, n int32, s *Settings) {
	if s.Last == 0 && s.Within == 0 {
		return
	}
	if w.gone == nil {
		w.gone = map[graph.Edge][]removal{}
	}
	w.gone[k] = append(w.gone[k], removal{w.added, n})
}

// taken reports whether a removal took o, which is the oldest occurrence of the window. If so, the
// removal is the first one after o that has not found all its occurrences: when it came, o
// was the oldest occurrence of its edge.
func (w *window) taken(o *occurrence) bool {
	k := graph.Edge{U: o.u, V: o.v}
	list := w.gone[k]
	i, _ := slices.BinarySearchFunc(list, o.number+1, func(r removal, least int64) int { return cmp.Compare(r.before, least) })
	if i == len(list) {
		return false
	}
	if list[i].n--; list[i].n > 0 {
		return true
	}
	switch {
	case len(list) == 1:
		delete(w.gone, k)
	case i == 0:
		w.gone[k] = list[1:]
	default:
		w.gone[k] = slices.Delete(list, i, i+1)
	}
	return true
}

// expire takes what is out of the window when as many occurrences as given are to come.
func (g *Graph) expire(room int) {
	w, s := &g.window, &g.settings
	for len(w.heap) > 0 && (s.Last > 0 && len(w.heap)+room > s.Last || g.outside(w.heap[0].age)) {
		o := w.pop()
		if w.taken(&o) {
			continue
		}
		g.stats.Expired++
		g.drop(o.u, o.v, 1)
	}
}

func (w *window) pop() occurrence {
	h := w.heap
	top, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < last; c++ {
			if h[c].older(&h[least]) {
				least = c
			}
		}
		if least == i {
			break
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
	w.heap = h
	return top
}
