package field

import (
	"slices"

	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/operators/internal/scatter"
)

// cuts is what Kept knows of the cuts of its fields, for undirected graphs without
// attributes.
//
// Nodes before the last level of a walk are members. Those of the last level are ranked by
// one round of refinement first, and by all others within that: by their numbers of
// neighbours in the level before, a, and in their own, b. Those with b = 0 come first, by
// rising a; then the others, by falling a, then rising b. If a rank is divided, a second round
// ranks its nodes by the ranks of their neighbours. If that divides those taken
// from the others, but for nodes with the same neighbours, of which the smallest numbers are taken,
// then the members depend on nothing else.
//
// An edge at the last level changes the ranks of a few nodes. The members, and with them
// the field, which is a function of the graph that they induce, stay as they are if none of
// these nodes is taken, or comes as early as the last one taken, or is of the rank that was divided or beside one
// of that; and if the node before the last level whose row changes is a neighbour of all
// nodes of that rank, or of none.
type cuts struct {
	ranked bool
	worst  []uint32 // by root: the rank of the last node taken, or 0 where this does not hold
	tender []uint64 // by root a tenderOf: about the nodes whose ranks decide
	maybe  []candidate
	place  numbering
	keys   []uint32 // of the last level
	before []uint32 // neighbours in the level before
	tied   []int32
	colors []uint64
	rows   [2][]int32
}

// tenderOf is a set of nodes, and a few others.
type tenderOf [4]uint64

func (c *cuts) tenderAt(root int32) *tenderOf { return (*tenderOf)(c.tender[4*int(root):]) }

func (t *tenderOf) add(v int32) {
	h := uint32(v) * 0x9e3779b1 >> 24
	t[h>>6] |= 1 << (h & 63)
}

func (t *tenderOf) has(v int32) bool {
	h := uint32(v) * 0x9e3779b1 >> 24
	return t[h>>6]>>(h&63)&1 > 0
}

// candidate is a root whose last level an edge changes.
type candidate struct {
	root       int32
	far, other int32 // the ends; far is in the last level, or was, or is now
	inner      bool  // other is there too; or it is one level before
	fresh      bool  // far was not reached before
}

// rankSteps bounds the entries of rows that are read for the ranks of a field.
const rankSteps = 1 << 16

// ranks reports whether the fields are of the kind.
func (k *Kept) ranks() bool {
	g := k.d.ix.g
	k.norm.begin(nil)
	return k.bound == 0 && !g.Directed && k.norm.K <= maxWords && !k.norm.Uniform && k.norm.lists.refines() &&
		(k.norm.IgnoreAttributes || g.NodeCats+g.NodeAttrs+g.EdgeCats+g.EdgeAttrs == 0)
}

// key is the rank of a node of the last level, which begins at base; earlier is smaller.
func (k *Kept) key(v int32, base int) uint32 {
	a, b := uint32(0), uint32(0)
	for _, w := range k.d.g.Adj(v) {
		switch at := int(k.place.place[w]); {
		case at > base:
			b++
		case at > 0:
			a++
		}
	}
	return rankOf(a, b)
}

func rankOf(a, b uint32) uint32 {
	if b == 0 {
		return a
	}
	return 1<<31 | (maxWords-a)<<24 | min(b, 1<<24-1)
}

// learn notes what the cut of a field depends on; see cuts.
func (k *Kept) learn(root int32, hood []int32, dist []uint8, members []int32) {
	tender := k.tenderAt(root)
	k.worst[root], *tender = 0, tenderOf{}
	base, _ := slices.BinarySearch(dist, dist[len(dist)-1])
	last, taken := hood[base:], members[base:]
	steps := 0
	for _, v := range last {
		if steps += k.d.ix.short.degree(v); steps > rankSteps {
			return
		}
	}
	k.place.number(k.d.ix.N(), hood)
	defer k.place.forget(hood)
	k.rank(hood, base)
	worst := uint32(0)
	for _, v := range taken {
		worst = max(worst, k.keys[int(k.place.place[v])-1-base])
	}
	k.tied = k.tied[:0]
	left := false // a node of that rank is not taken
	for j, v := range last {
		out := !slices.Contains(taken, v)
		if out && k.keys[j] < worst {
			return
		}
		if k.keys[j] == worst {
			k.tied = append(k.tied, v)
			left = left || out
		}
	}
	steps = 0
	for _, v := range k.tied {
		steps += k.d.ix.adj.degree(v)
	}
	if left && (steps > rankSteps || !k.divided(hood, dist, base, taken, tender)) {
		return
	}
	k.worst[root] = worst
}

// rank makes k.keys the ranks of the last level.
func (k *Kept) rank(hood []int32, base int) {
	last := hood[base:]
	k.keys, k.before = scratch.Resize(k.keys, len(last)), scratch.Resize(k.before, len(last))
	clear(k.keys)
	clear(k.before)
	for _, v := range hood[:base] {
		for _, w := range k.d.g.Adj(v) {
			if at := int(k.place.place[w]); at > base {
				k.before[at-1-base]++
			}
		}
	}
	for j, v := range last {
		for _, w := range k.d.short.Row(v) {
			if at := int(k.place.place[w]); at > base {
				k.keys[j]++
				k.keys[at-1-base]++
			}
		}
	}
	for j, b := range k.keys {
		k.keys[j] = rankOf(k.before[j], b)
	}
}

// divided reports whether a second round, or twins, divide the tied nodes, and adds those to t whose ranks
// decide that.
func (k *Kept) divided(hood []int32, dist []uint8, base int, taken []int32, t *tenderOf) bool {
	k.colors = k.colors[:0]
	for i, v := range hood[:base] {
		color := uint64(0)
		for _, w := range k.d.g.Adj(v) {
			if at := k.place.place[w]; at > 0 { // in the level before, the same or the next
				color += 1 << (20 * (dist[at-1] + 1 - dist[i]))
			}
		}
		k.colors = append(k.colors, scatter.Bits(color))
	}
	plain, begin := true, len(k.colors) // plain: all are twins of the first
	for _, v := range k.tied {
		plain = plain && (v == k.tied[0] || k.twins(k.tied[0], v))
		sum := uint64(0)
		for _, w := range k.d.g.Adj(v) {
			switch at := int(k.place.place[w]); {
			case at > base:
				sum += scatter.Bits(^uint64(k.keys[at-1-base]))
			case at > 0:
				sum += k.colors[at-1]
			}
		}
		k.colors = append(k.colors, sum)
	}
	if plain {
		return true
	}
	second := k.colors[begin:]
	for i, u := range k.tied {
		if !slices.Contains(taken, u) {
			continue
		}
		for j, v := range k.tied {
			if second[i] == second[j] && !slices.Contains(taken, v) && !k.twins(u, v) {
				return false
			}
		}
	}
	beside := k.ends[:0]
	for _, v := range k.tied {
		t.add(v)
		for _, w := range k.d.g.Adj(v) {
			if at := int(k.place.place[w]); at > base {
				t.add(w)
			} else if at > 0 {
				beside = append(beside, w)
			}
		}
	}
	slices.Sort(beside)
	for i := 0; i < len(beside); {
		begin, v := i, beside[i]
		for i < len(beside) && beside[i] == v {
			i++
		}
		if i-begin < len(k.tied) {
			t.add(v)
		}
	}
	k.ends = beside
	return true
}

// twins reports whether two of the numbered nodes have the same neighbours among these, but
// for each other.
func (k *Kept) twins(u, v int32) bool {
	for i, w := range [2]int32{u, v} {
		k.rows[i] = k.rows[i][:0]
		for _, x := range k.d.g.Adj(w) {
			if k.place.place[x] > 0 {
				k.rows[i] = append(k.rows[i], x)
			}
		}
	}
	return equalBut(k.rows[0], k.rows[1], v, u)
}

// touchMaybe touches those roots whose members an edge, which was added or taken, may have
// changed.
func (k *Kept) touchMaybe(added bool) {
	k.steps += 256 * len(k.maybe) // each takes a walk
	for _, c := range k.maybe {
		if k.holds(&c, added) {
			k.stats.Kept++
		} else {
			k.touch(c.root)
		}
	}
	k.maybe = k.maybe[:0]
}

// holds reports whether the members of a root are what they were.
func (k *Kept) holds(c *candidate, added bool) bool {
	members, tender := k.Members(c.root), k.tenderAt(c.root)
	switch {
	case slices.Contains(members, c.far) || tender.has(c.far) || tender.has(c.other) || c.inner && slices.Contains(members, c.other):
		return false
	case c.inner && added:
		return true // both come later
	}
	hood, dist := k.walk.Assemble(&k.d.ix, c.root, k.norm.K)
	if len(hood) < k.norm.K || dist[len(dist)-1] != k.reach[c.root] {
		return false
	}
	base, _ := slices.BinarySearch(dist, dist[len(dist)-1])
	k.place.number(k.d.ix.N(), hood)
	defer k.place.forget(hood)
	stays := func(v int32) bool { return k.key(v, base) > k.worst[c.root] }
	reached := k.place.place[c.far] > 0
	if reached && !stays(c.far) || c.inner && !stays(c.other) {
		return false
	}
	if added && !c.fresh || !added && reached {
		return true
	}
	// A node has come to the last level, or has left it: the ranks of its neighbours there
	// have changed.
	for _, v := range k.d.g.Adj(c.far) {
		if int(k.place.place[v]) > base && (slices.Contains(members, v) || tender.has(v) || !stays(v)) {
			return false
		}
	}
	return true
}
