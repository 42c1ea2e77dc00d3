package field

import "math/bits"

// rowsBounded is rows for all of at most 64 nodes, from the rows of a bound. The nodes
// need not be numbered.
func (l *numbering) rowsBounded(b *bound, nodes []int32, rows []uint64) {
	var at [maxWords]int32
	var chain [maxWords]uint8 // one plus the next place with the same slot, or 0
	var slots [256]uint8      // one plus a place
	for i, v := range nodes {
		at[i&63] = b.at[v]
	}
	n := len(nodes)
	full := uint64(0)
	for i, p := range at[:n] {
		slot := &slots[slotOf(p)]
		chain[i&63], *slot = *slot, uint8(i)+1
		if b.full(p) {
			full |= 1 << (i & 63)
		}
	}
	clear(rows[:n])
	rows = rows[:maxWords]
	for i, p := range at[:n] {
		for _, q := range b.rows[int(p)*rowUnit+1:] {
			if q < 0 {
				break
			}
			for j := slots[slotOf(q)]; j > 0; j = chain[(j-1)&63] {
				if at[(j-1)&63] == q && int(j) != i+1 {
					rows[i&63] |= 1 << ((j - 1) & 63)
					rows[(j-1)&63] |= 1 << (i & 63)
				}
			}
		}
	}
	if full&(full-1) != 0 {
		l.addFar(b, &at, full, rows)
	}
}

// slotOf spreads places over a byte.
func slotOf(at int32) uint8 { return uint8(uint32(at) * 0x9e3779b1 >> 24) }

// addFar adds the edges of the far lists between the nodes of a set. In a large graph
// the places of lists where they would be are read first, and so fetched at once.
func (l *numbering) addFar(b *bound, at *[maxWords]int32, full uint64, rows []uint64) {
	var lists [maxWords][]uint32
	var hash [maxWords]uint32
	for m := full; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m) & 63
		own := b.list(at[i])
		lists[i], hash[i] = b.far.hash[own.begin:own.end], farHash(at[i])
	}
	if len(b.far.hash) > inCache {
		looked := uint32(0)
		for m := full; m != 0; m &= m - 1 {
			i := bits.TrailingZeros64(m) & 63
			if list := lists[i]; len(list) > 0 {
				for o := full &^ rows[i]; o != 0; o &= o - 1 {
					looked += list[guess(list, hash[bits.TrailingZeros64(o)&63])]
				}
			}
		}
		l.looked = int32(looked)
	}
	for m := full; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m) & 63
		list := lists[i]
		if len(list) == 0 {
			continue
		}
		for o := full &^ rows[i]; o != 0; o &= o - 1 {
			j := bits.TrailingZeros64(o) & 63
			if at[j] > at[i] && holds(list, hash[j]) {
				rows[i] |= 1 << j
				rows[j] |= 1 << i
			}
		}
	}
}
