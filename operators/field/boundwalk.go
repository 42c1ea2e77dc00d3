package field

import (
	"fmt"
	"slices"
)

// bounded is Assemble for a bounded index. Nodes go by their rows until the end.
func (a *Assembler) bounded(ix *Index, root int32, k int) (hood []int32, dist []uint8) {
	b := &ix.bound
	if k > b.most {
		panic(fmt.Sprintf("field: k is %d, want at most the bound, %d", k, b.most))
	}
	a.few = fewNodes{}
	if b.most > maxWords {
		a.seen.next(len(b.rows) / rowUnit)
	}
	a.fresh(b.at[root], b.most)
	a.hood = append(a.hood[:0], b.at[root])
	a.dist = append(a.dist[:0], 0)
	for begin := 0; len(a.hood) < k; {
		end := len(a.hood)
		a.look(b, begin)
		for _, u := range a.hood[begin:end] {
			a.merge(b.rows[int(u)*rowUnit+1:], end, b.most)
		}
		if len(a.hood) == end {
			break
		}
		d := a.dist[end-1] + 1
		for range a.hood[end:] {
			a.dist = append(a.dist, d)
		}
		begin = end
	}
	for i, at := range a.hood {
		a.hood[i] = ^b.rows[int(at)*rowUnit]
	}
	for i := 1; i < len(a.hood); {
		end := i
		for end < len(a.hood) && a.dist[end] == a.dist[i] {
			end++
		}
		slices.Sort(a.hood[i:end])
		i = end
	}
	return a.hood, a.dist
}

// look reads the rows of the nodes of a.hood from a place on. In a large graph each of
// them is somewhere else in memory: the processor fetches what is read here at
// once, and what merge reads, which waits for what it has found, one by one.
func (a *Assembler) look(b *bound, begin int) {
	sum := int32(0)
	for _, at := range a.hood[begin:] {
		sum += b.rows[int(at)*rowUnit]
	}
	a.looked = sum // so that the reads stay
}

// Prefetch loads the memory that Assemble reads first for the next roots, up to 16, if ix is
// bounded and large. It saves 6 to 16 % of a field (RMAT of 29 million edges, bounds of 10 and
// 16). It has no other effect and skips roots of -1.
func (a *Assembler) Prefetch(ix *Index, roots []int32) {
	b := &ix.bound
	if b.most == 0 || len(b.rows) <= inCache {
		return
	}
	var at [16]int32
	roots = roots[:min(len(roots), len(at))]
	for i, v := range roots {
		if v >= 0 {
			at[i] = b.at[v]
		}
	}
	looked := int32(0)
	for _, p := range at[:len(roots)] {
		looked += b.rows[int(p)*rowUnit]
	}
	for _, p := range at[:len(roots)] {
		for _, q := range b.rows[int(p)*rowUnit+1:] {
			if q < 0 {
				break
			}
			looked += b.rows[int(q)*rowUnit]
		}
	}
	a.looked = looked
}

// merge adds what is new in a row, up to its end, to the level that begins at a place
// of a.hood, so that it ascends and a.hood holds the first most nodes.
func (a *Assembler) merge(row []int32, begin, most int) {
	for _, at := range row {
		n := len(a.hood)
		full := n == most
		if at < 0 || full && at > a.hood[n-1] {
			return // as all behind it
		}
		if !a.fresh(at, most) {
			continue
		}
		if full {
			n--
		} else {
			a.hood = append(a.hood, 0)
		}
		for ; n > begin && a.hood[n-1] > at; n-- {
			a.hood[n] = a.hood[n-1]
		}
		a.hood[n] = at
	}
}

// fresh reports whether the node at a place is new to the walk. Up to 64 nodes it needs
// no memory of the size of the graph, which would not be in the processor's cache.
func (a *Assembler) fresh(at int32, most int) bool {
	if most > maxWords {
		return a.seen.add(at)
	}
	if a.few.maybe(at) && slices.Contains(a.hood, at) {
		return false
	}
	a.few.add(at)
	return true
}

// fewNodes is a filter for a set of a few dozen nodes: it knows for nearly all
// others that they are not in the set.
type fewNodes [64]uint64

func (f *fewNodes) add(v int32)        { f[v>>6&63] |= 1 << (v & 63) }
func (f *fewNodes) maybe(v int32) bool { return f[v>>6&63]>>(v&63)&1 == 1 }
