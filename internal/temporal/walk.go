package temporal

import "math"

// walk is the ends of the paths from a source, with the number and the weight of the paths to each.
type walk struct {
	count, weight, latest []float32 // by node; 0 outside ends
	ends                  []int32
}

func (w *walk) clear(n int) {
	for _, v := range w.ends {
		w.count[v], w.weight[v], w.latest[v] = 0, 0, 0
	}
	w.ends = w.ends[:0]
	for _, x := range []*[]float32{&w.count, &w.weight, &w.latest} {
		if len(*x) < n {
			*x = append(*x, make([]float32, n-len(*x))...)
		}
	}
}

func (w *walk) add(v int32, weight, latest float32) {
	if w.count[v] == 0 {
		w.ends = append(w.ends, v)
	}
	w.count[v]++
	w.weight[v] += weight
	w.latest[v] = max(w.latest[v], latest)
}

// begin empties the set of nodes. in adds v to it, and reports whether v was new.
func (h *History) begin() {
	if h.round++; h.round == math.MaxInt32 {
		clear(h.stamp)
		h.round = 1
	}
	if len(h.stamp) < len(h.nodes) {
		h.stamp = append(h.stamp, make([]int32, len(h.nodes)-len(h.stamp))...)
	}
}

func (h *History) in(v int32) bool {
	if h.stamp[v] == h.round {
		return false
	}
	h.stamp[v] = h.round
	return true
}

// neighbours appends the distinct last neighbours of v: mostWalked targets, and up to mostWalked sources.
func (h *History) neighbours(dst []int32, v int32) []int32 {
	h.begin()
	for i, n := h.nodes[v].newest, 0; i >= 0 && n < mostWalked; i, n = h.pairs[i].older, n+1 {
		if u := h.pairs[i].target; h.in(u) {
			dst = append(dst, u)
		}
	}
	for i := range h.nodes[v].visitors.len() {
		if u := h.nodes[v].visitors.newest(i); h.in(u) {
			dst = append(dst, u)
		}
	}
	return dst
}

// adamicAdar returns the weight of a path through v.
func (h *History) adamicAdar(v int32) float32 {
	return float32(1 / math.Log(2+float64(h.nodes[v].targets+h.nodes[v].sources)))
}

// paths finds the ends of paths from source over the last neighbours: near by source–p–v in any direction,
// far by source→p←u→v. O(mostWalked²) and O(mostWalked³/6).
func (h *History) paths(source int32, now int64) {
	h.near.clear(len(h.nodes))
	h.far.clear(len(h.nodes))
	if h.both {
		first := h.neighbours(h.list[:0], source)
		for _, p := range first {
			weight := h.adamicAdar(p)
			h.list = h.neighbours(first, p)
			for _, v := range h.list[len(first):] {
				if v != source {
					h.near.add(v, weight, 0)
				}
			}
		}
	}
	for i, n := h.nodes[source].newest, 0; i >= 0 && n < mostWalked/3; i, n = h.pairs[i].older, n+1 {
		p := h.pairs[i].target
		visitors := &h.nodes[p].visitors
		for j := range visitors.len() {
			u := visitors.newest(j)
			if u == source {
				continue
			}
			weight := h.adamicAdar(u)
			for k, m := h.nodes[u].newest, 0; k >= 0 && m < mostWalked/2; k, m = h.pairs[k].older, m+1 {
				if to := &h.pairs[k]; to.target != p {
					h.far.add(to.target, weight, 1/(1+float32(elapsed(to.time, now)/h.hour)))
				}
			}
		}
	}
}
