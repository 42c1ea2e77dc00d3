package canon

import "github.com/sanflow/sanflow/internal/scratch"

// orbits stores the automorphisms found at equal leaves and, for every position of the search, the
// orbits of those that fix all nodes placed before it.
type orbits struct {
	n      int
	order  []int32 // nodes of the current path
	levels []orbitLevel
	maps   [][]int32
	used   int // number of valid maps
}

type orbitLevel struct {
	root []int32 // union-find; empty until an automorphism is found
}

const keepMaps = 64

func (o *orbits) reset(n int) {
	o.n, o.used = n, 0
	for len(o.levels) < n {
		o.levels = append(o.levels, orbitLevel{})
	}
	for at := range o.levels {
		o.levels[at].root = o.levels[at].root[:0]
	}
}

// enter computes the orbits of a position before its candidates are visited.
func (o *orbits) enter(at int) {
	o.levels[at].root = o.levels[at].root[:0]
	for _, m := range o.maps[:o.used] {
		o.join(at, m)
	}
}

// add stores the automorphism that maps from[i] to to[i]. It returns the first position at which
// the two orders differ. The search may return there, since all below it is an image of visited
// nodes.
func (o *orbits) add(from, to []int32) (fork int) {
	if o.used == len(o.maps) {
		o.maps = append(o.maps, make([]int32, 0, o.n))
	}
	m := scratch.Resize(o.maps[o.used], o.n)
	o.maps[o.used] = m
	for i, v := range from {
		m[v] = to[i]
	}
	for from[fork] == to[fork] {
		fork++
	}
	for at := range fork + 1 {
		o.join(at, m)
	}
	if o.used < keepMaps {
		o.used++
	}
	return fork
}

// join merges the orbits of m at a position if m fixes all nodes placed before it.
func (o *orbits) join(at int, m []int32) {
	for _, v := range o.order[:at] {
		if m[v] != v {
			return
		}
	}
	l := &o.levels[at]
	if len(l.root) == 0 {
		l.root = scratch.Resize(l.root, o.n)
		for v := range l.root {
			l.root[v] = int32(v)
		}
	}
	for v, w := range m {
		a, b := find(l.root, int32(v)), find(l.root, w)
		if a != b {
			l.root[max(a, b)] = min(a, b)
		}
	}
}

// covered reports whether v is an image of a visited node.
func (o *orbits) covered(at int, v int32, visited []int32) bool {
	root := o.levels[at].root
	if len(root) == 0 {
		return false
	}
	r := find(root, v)
	for _, u := range visited {
		if find(root, u) == r {
			return true
		}
	}
	return false
}

func find(root []int32, v int32) int32 {
	for root[v] != v {
		root[v] = root[root[v]]
		v = root[v]
	}
	return v
}
