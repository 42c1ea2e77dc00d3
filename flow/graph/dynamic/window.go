package dynamic

import (
	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph"
)

// window holds the occurrences of edges, the oldest on top of a heap: 16 bytes each.
type window struct {
	heap  []occurrence
	added int64 // occurrences so far
	// gone counts, by edge, occurrences in the heap that were removed: the oldest, so the
	// first to come out.
	gone map[graph.Edge]int32
}

// occurrence is one of an edge; age is its number, or its time where the window is one of
// time.
type occurrence struct {
	age  int64
	u, v int32
}

// key names an edge, whichever way it was written.
func (g *Graph) key(u, v int32) graph.Edge {
	if !g.settings.Directed && u > v {
		u, v = v, u
	}
	return graph.Edge{U: u, V: v}
}

// since is the time of the latest additions that are out of the window.
func (g *Graph) since() int64 {
	if s := g.now - g.settings.Within; s < g.now {
		return s
	}
	return -1 << 63 // of times before which there is none
}

// remember puts an occurrence into the window.
func (g *Graph) remember(e *event.Event) {
	w, k := &g.window, g.key(e.Source, e.Target)
	o := occurrence{w.added, k.U, k.V}
	switch {
	case g.settings.Within > 0:
		o.age = e.Time
	case g.settings.Last == 0:
		return
	}
	w.added++
	w.heap = append(w.heap, o)
	for i := len(w.heap) - 1; i > 0 && w.heap[(i-1)/2].age > w.heap[i].age; i = (i - 1) / 2 {
		w.heap[i], w.heap[(i-1)/2] = w.heap[(i-1)/2], w.heap[i]
	}
}

// forget notes that the n oldest occurrences of an edge were removed.
func (w *window) forget(k graph.Edge, n int32, s *Settings) {
	if s.Last == 0 && s.Within == 0 {
		return
	}
	if w.gone == nil {
		w.gone = map[graph.Edge]int32{}
	}
	w.gone[k] += n
}

// expire takes what is out of the window when as many occurrences as given are to come.
func (g *Graph) expire(room int) {
	w, s := &g.window, &g.settings
	for len(w.heap) > 0 && (s.Last > 0 && len(w.heap)+room > s.Last || s.Within > 0 && w.heap[0].age <= g.since()) {
		o := w.pop()
		k := graph.Edge{U: o.u, V: o.v}
		if n := w.gone[k]; n > 0 {
			if w.gone[k]--; n == 1 {
				delete(w.gone, k)
			}
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
			if h[c].age < h[least].age {
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
