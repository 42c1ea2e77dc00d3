package field

import (
	"fmt"
	"slices"
)

// keptBound is what Kept knows of bounded fields.
//
// A bounded neighbourhood is that of Algorithm 2, with the last level cut to the first nodes
// in rank: see Index.SetBound. A bounded field therefore depends on the rows of the nodes
// before the last level, on the ranks of the nodes of the last level where that is cut, and on the
// edges and attributes among the nodes of the neighbourhood, but on no other edge beside the
// last level. The rank of a node depends on the degrees, rows and attributes within two steps.
//
// So a change makes those fields stale in whose neighbourhood both ends lie, and those whose
// walk expands an end. And it makes those stale whose walk is cut and reaches an end, or a
// node within two steps of an end if its degree is the one that the cut parts. The
// latter are found by one search for all changes since the last Refresh, from all these nodes at once
// with a set of degrees (Then et al., "The more the merrier", VLDB 2014). Refresh gathers the
// neighbourhood of a stale field, and orders it only where it is not the one that is kept, or
// where something among its nodes has changed.
type keptBound struct {
	most  int     // 0 without a bound
	hoods []int32 // (n, most): neighbourhoods, then -1; nil where members are not kept
	cut   []uint8 // by root: rankCut.class
	moved []int32 // ends of changes since the last Refresh, perhaps repeatedly

	within [2][]int32
	got    []uint64 // by node: what has arrived; zero between calls, as are now and later
	now    []uint64
	later  []uint64
	all    []int32 // nodes with an entry in got
	beside []int32
}

// SetBound bounds the fields from now on as Index.SetBound does; 0 is no bound. All fields
// are stale. Beside the index a Kept takes 25 bytes more for each node, and with members
// 4·most + 25. most is at least the size of a field.
func (k *Kept) SetBound(most int) {
	if most > 0 && most < k.K() {
		panic(fmt.Sprintf("field: bound is %d, want at least k, %d", most, k.K()))
	}
	k.d.SetBound(most)
	k.keptBound = keptBound{most: most}
	k.ranked, k.worst, k.tender = k.keeps && k.ranks(), nil, nil
	k.growCuts(k.d.ix.N())
	k.growBound(k.d.ix.N())
	for v := range int32(k.d.ix.N()) {
		k.touch(v, isAltered)
	}
}

// growBound makes room for new nodes.
func (k *Kept) growBound(n int) {
	if k.most == 0 {
		return
	}
	k.cut = append(k.cut, make([]uint8, n)...)
	if k.keeps {
		k.hoods = append(k.hoods, make([]int32, n*k.most)...)
	}
}

// hood returns the neighbourhood of root that is kept, and -1 behind it.
func (k *Kept) hood(root int32) []int32 {
	return k.hoods[int(root)*k.most : (int(root)+1)*k.most]
}

// inside reports whether both nodes are in the bounded neighbourhood of root, or may be.
func (k *Kept) inside(root, u, v int32) bool {
	if k.hoods == nil {
		return true
	}
	hood := k.hood(root)
	return slices.Contains(hood, u) && slices.Contains(hood, v)
}

// isKept reports whether a neighbourhood is the one that is kept, without a change among its
// nodes.
func (k *Kept) isKept(root int32, hood []int32) bool {
	if k.hoods == nil || k.flags[root]&(isAltered|isInner) != 0 {
		return false
	}
	own := k.hood(root)
	return slices.Equal(own[:len(hood)], hood) && (len(hood) == len(own) || own[len(hood)] < 0)
}

// keep notes what a bounded field depends on.
func (k *Kept) keep(root int32, hood []int32) {
	if k.most == 0 {
		return
	}
	k.cut[root] = k.walk.cut.class()
	if k.hoods != nil {
		own := k.hood(root)
		for i := copy(own, hood); i < len(own); i++ {
			own[i] = -1
		}
	}
}

// touchRanked touches the roots whose cut may take other nodes since ranks have changed.
func (k *Kept) touchRanked() {
	if len(k.moved) == 0 {
		return
	}
	ix := &k.d.ix
	n := ix.N()
	for _, x := range []*[]uint64{&k.got, &k.now, &k.later} {
		*x = append(*x, make([]uint64, n-len(*x))...)
	}
	for i, from := range [2][]int32{k.moved, nil} {
		if i == 1 {
			from = k.within[0]
		}
		k.seen.next(n)
		k.within[i] = ix.around(from, k.within[i][:0], &k.seen)
	}
	begin := k.queue[:0]
	for _, v := range k.within[1] {
		k.now[v] = 1 << degreeClass(ix.degree(v))
		begin = append(begin, v)
	}
	for _, v := range k.moved {
		k.now[v] |= 1 << otherRow
	}
	for _, v := range begin {
		k.got[v] = k.now[v]
	}
	k.all = append(k.all[:0], begin...)
	k.moved = k.moved[:0]
	k.spread(begin)
	for _, v := range k.all {
		k.got[v] = 0
	}
}

// spread carries what the nodes of queue have in k.now to the roots whose walks reach them.
func (k *Kept) spread(queue []int32) {
	ix, next := &k.d.ix, k.beside[:0]
	for d := 1; len(queue) > 0; d++ {
		next = next[:0]
		for _, v := range queue {
			set := k.now[v]
			k.now[v] = 0
			if c := k.cut[v]; c > 0 && set&(1<<otherRow|1<<(c-2)) != 0 {
				k.touch(v, 0)
			}
			ix.walkedFrom(v, func(row []int32) {
				for _, w := range row {
					fresh := set &^ k.got[w]
					if fresh == 0 || int(k.reach[w]) < min(d, endless) {
						continue
					}
					if k.got[w] == 0 {
						k.all = append(k.all, w)
					}
					if k.later[w] == 0 {
						next = append(next, w)
					}
					k.got[w] |= fresh
					k.later[w] |= fresh
				}
			})
		}
		queue, next = next, queue
		k.now, k.later = k.later, k.now
	}
	k.queue, k.beside = queue, next
}
