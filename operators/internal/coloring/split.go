package coloring

import (
	"cmp"
	"slices"
)

// fragment is a part of a cell in the making: its nodes, or those that are not
// dirty, and the list of one of them.
type fragment struct {
	nodes []int32
	clean bool
	list  []uint32
}

// split finds the fragments of cells that are not taken yet, puts their nodes
// in order, and writes where they begin. Names stay as they are, since lists are
// made of those.
func (c *Coloring) split(int) {
	var parts []fragment
	var lists []uint32
	var nodes []int32
	for {
		i := int(c.next.Add(1)) - 1
		if i >= len(c.hit) || i%64 == 0 && c.stopped() {
			return
		}
		h := &c.hit[i]
		begin, size := c.first[h.cell], c.size[h.cell]
		dirty := c.elems[begin : begin+h.dirty]
		slices.SortFunc(dirty, func(a, b int32) int {
			x, y := &c.delta[a], &c.delta[b]
			return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]))
		})
		nodes = append(nodes[:0], dirty...)
		parts, lists = parts[:0], lists[:0]
		for from, to := 0, 0; from < len(nodes); from = to {
			for to = from + 1; to < len(nodes) && c.delta[nodes[to]] == c.delta[nodes[from]]; to++ {
			}
			parts = append(parts, fragment{nodes: nodes[from:to]})
		}
		for _, v := range nodes {
			c.delta[v] = [2]uint64{}
		}
		if h.dirty < size {
			parts = append(parts, fragment{nodes: c.elems[begin+h.dirty : begin+size], clean: true})
		}
		if len(parts) > 1 {
			for p := range parts {
				at := len(lists)
				lists = c.appendList(lists, parts[p].nodes[0])
				parts[p].list = lists[at:len(lists):len(lists)]
			}
			slices.SortFunc(parts, func(a, b fragment) int { return slices.Compare(a.list, b.list) })
		}
		c.place(h, begin, size, parts)
	}
}

// appendList appends the ascending list of the colours of the neighbours of v; where
// the graph is directed, with the side on which they are told of as the lowest bit.
func (c *Coloring) appendList(lists []uint32, v int32) []uint32 {
	at := len(lists)
	if !c.Directed {
		for _, u := range c.nbr[c.off[v]:c.off[v+1]] {
			lists = append(lists, uint32(c.first[c.cell[u]]))
		}
	} else {
		for _, u := range c.in[c.inOff[v]:c.inOff[v+1]] {
			lists = append(lists, uint32(c.first[c.cell[u]])<<1|atTail)
		}
		for _, u := range c.nbr[c.off[v]:c.off[v+1]] {
			lists = append(lists, uint32(c.first[c.cell[u]])<<1|atHead)
		}
	}
	slices.Sort(lists[at:])
	return lists
}

// place writes the fragments into their cell, in order. Of the nodes that are not
// dirty, which are nearly all of a large cell at times, no more move than dirty
// ones do.
func (c *Coloring) place(h *hitCell, begin, size int32, parts []fragment) {
	after, seen := int32(0), false // dirty nodes behind the clean ones
	for _, p := range parts {
		if p.clean {
			seen = true
		} else if seen {
			after += int32(len(p.nodes))
		}
	}
	if clean := size - h.dirty; after > 0 {
		moved := min(after, clean)
		to := begin + h.dirty - after
		copy(c.elems[to:to+moved], c.elems[begin+size-moved:begin+size])
	}
	h.bounds = append(h.bounds, begin)
	at := begin
	for _, p := range parts {
		if !p.clean {
			copy(c.elems[at:], p.nodes)
		}
		at += int32(len(p.nodes))
		h.bounds = append(h.bounds, at)
	}
	clean := begin + h.dirty - after
	for i := begin; i < begin+size; i++ {
		if i == clean+min(after, size-h.dirty) && size > h.dirty {
			i = begin + size - after // those between have not moved
			if i >= begin+size {
				break
			}
		}
		c.pos[c.elems[i]] = i
	}
}
