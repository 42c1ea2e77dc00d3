package refine

import "math/bits"

// Words is an ordered partition of at most 64 nodes of an undirected graph without codes, stored as
// one word per cell. It corresponds to Partition and Refiner.Number. The zero value is a partition
// of no nodes. No method allocates.
type Words struct {
	n      int
	starts uint64     // bit p is set if a cell begins at position p
	open   uint64     // bit p is set if a cell of more than one node begins at position p
	many   uint64     // nodes of the open cells
	cell   [64]uint64 // nodes of the cell that begins at position p

	parts  [96]uint64 // splitters of the round
	near   [64]uint64 // by cell of the first round: neighbours of its nodes
	later  [64]uint64 // by cell of the first round: neighbours of the nodes of all cells behind it
	plane  [8]uint64  // bit i of plane j is bit j of the count of node i
	planes int
}

// Reset sets w to the partition of n nodes, at least one, by the levels that starts describes; see
// Starts.
func (w *Words) Reset(n int, starts uint64) {
	w.n, w.starts = n, starts
	w.open = starts &^ (starts>>1 | 1<<(n-1))
	w.many = below(n) &^ (starts &^ w.open)
	for s := starts; s != 0; {
		begin := bits.TrailingZeros64(s)
		s &= s - 1
		end := min(bits.TrailingZeros64(s), n)
		w.cell[begin&63] = below(end) &^ below(begin)
	}
}

// Starts returns the set of the first nodes of the levels: node 0 and each node i whose level
// differs from that of node i-1.
func Starts(levels []uint8) uint64 {
	starts, last := uint64(1), levels[0]
	for i, level := range levels {
		d := level - last
		last = level
		starts |= uint64((d|-d)>>7) << (i & 63)
	}
	return starts
}

// below returns the set of the nodes 0 … v-1.
func below(v int) uint64 { return 1<<v - 1 }

// Discrete reports whether every cell holds one node.
func (w *Words) Discrete() bool { return w.open == 0 }

// AppendCells appends the cells in order.
func (w *Words) AppendCells(cells []uint64) []uint64 {
	for s := w.starts; s != 0; s &= s - 1 {
		cells = append(cells, w.cell[bits.TrailingZeros64(s)])
	}
	return cells
}

// At returns the nodes before the cell that covers a position, and the nodes of the cell.
func (w *Words) At(position int) (before, cell uint64) {
	at := 63 - bits.LeadingZeros64(w.starts&below(position+1))
	for s := w.starts & below(at); s != 0; s &= s - 1 {
		before |= w.cell[bits.TrailingZeros64(s)]
	}
	return before, w.cell[at]
}

// Number refines to the textbook numbering, as Refiner.Number does, of the graph in which v is
// adjacent to u if bit u of rows[v] is set. If cut is positive and below the number of nodes, it
// stops as soon as a cell begins at that position or, if twins is set, as soon as the cell that
// covers it holds only twins, which no round separates. O(n²) at most.
//
// The rounds are those of Refiner.Number. Neighbours in a splitter are counted for all nodes at
// once, in bit planes. Ordering cells by a count means splitting them by its bits, from the
// highest.
func (w *Words) Number(rows []uint64, cut int, twins bool) {
	if w.settled(cut) {
		return
	}
	before := w.starts
	w.firstRound(rows)
	if w.settled(cut) {
		return
	}
	for w.starts != before {
		if cut > 0 && twins {
			if _, cell := w.At(cut); Interchangeable(rows, cell) {
				return
			}
		}
		n := w.collect(before)
		before = w.starts
		for i := 0; i < n; {
			size := int(w.parts[i])
			if w.splitByParts(rows, w.parts[i+1:i+1+size], cut) {
				return
			}
			i += 1 + size
		}
	}
}

// set stores a cell that begins at position at, and updates starts, open and many.
func (w *Words) set(at int, cell uint64) {
	w.cell[at&63] = cell
	bit := uint64(1) << (at & 63)
	w.starts |= bit
	more := several(cell)
	w.open = w.open&^bit | more<<(at&63)
	w.many = w.many&^cell | cell&-more
}

// several returns 1 for a set of two or more nodes and 0 for others.
func several(nodes uint64) uint64 {
	more := nodes & (nodes - 1)
	return (more | -more) >> 63
}

// firstRound splits by the current cells; see Refiner.endFirst for the order.
func (w *Words) firstRound(rows []uint64) {
	near, later := &w.near, &w.later
	n, all := 0, uint64(0)
	for s := w.starts; s != 0; s &= s - 1 {
		near[n] = neighbors(rows, w.cell[bits.TrailingZeros64(s)])
		w.parts[n] = w.cell[bits.TrailingZeros64(s)]
		n++
	}
	for i := n - 1; i >= 0; i-- {
		later[i] = all
		all |= near[i]
	}
	w.split(^all) // nodes without neighbours
	for i, s := range w.parts[:n] {
		// Lists that end here come first, shorter ones before longer ones.
		ends := near[i] &^ later[i]
		w.split(ends)
		w.splitBy(rows, s, ends)
	}
}

func neighbors(rows []uint64, nodes uint64) uint64 {
	all := uint64(0)
	for ; nodes != 0; nodes &= nodes - 1 {
		all |= rows[bits.TrailingZeros64(nodes)]
	}
	return all
}

// collect sets w.parts to the fragments of the cells that were split since starts was before: for
// each cell, in order, the number of fragments and the fragments. It returns the number of words.
func (w *Words) collect(before uint64) int {
	n := 0
	for fresh := w.starts &^ before; fresh != 0; {
		first := bits.TrailingZeros64(fresh)
		begin := 63 - bits.LeadingZeros64(before&below(first))
		end := bits.TrailingZeros64(before &^ below(first)) // 64 if there is none
		here := fresh & below(end)
		fresh &^= here
		w.parts[n], w.parts[n+1] = uint64(1+bits.OnesCount64(here)), w.cell[begin]
		n += 2
		for ; here != 0; here &= here - 1 {
			w.parts[n] = w.cell[bits.TrailingZeros64(here)]
			n++
		}
	}
	return n
}

// splitByParts splits by all fragments of a cell except the last. It reports whether the numbering
// is settled. More neighbours in a fragment mean fewer in all behind it, so it counts the smaller
// set.
func (w *Words) splitByParts(rows, parts []uint64, cut int) bool {
	rest := uint64(0)
	for _, s := range parts {
		rest |= s
	}
	for _, s := range parts[:len(parts)-1] {
		rest &^= s
		if bits.OnesCount64(s) <= bits.OnesCount64(rest) {
			w.splitBy(rows, s, 0)
		} else {
			w.splitBy(rows, rest, ^uint64(0))
		}
		if w.settled(cut) {
			return true
		}
	}
	return false
}

// settled reports whether further splits would not change the result.
func (w *Words) settled(cut int) bool {
	return w.open == 0 || cut > 0 && w.starts>>cut&1 == 1
}

// splitBy splits every cell by the number of neighbours in the splitter: higher numbers first, but
// lower numbers first among the nodes of flip.
func (w *Words) splitBy(rows []uint64, splitter, flip uint64) {
	if splitter&(splitter-1) == 0 {
		w.split(rows[bits.TrailingZeros64(splitter)] ^ flip)
		return
	}
	w.count(rows, splitter)
	for i := w.planes - 1; i >= 0; i-- {
		w.split(w.plane[i&7] ^ flip)
	}
}

// count sets w.plane to the number of neighbours in the splitter of each node of an open cell.
func (w *Words) count(rows []uint64, splitter uint64) {
	w.plane[0], w.planes = 0, 1
	for s := splitter; s != 0; s &= s - 1 {
		carry := rows[bits.TrailingZeros64(s)] & w.many
		for i := 0; carry != 0; i++ {
			if i == w.planes {
				w.plane[i&7] = 0
				w.planes++
			}
			w.plane[i&7], carry = w.plane[i&7]^carry, w.plane[i&7]&carry
		}
	}
}

// split splits every cell into the nodes of m and the others. Mostly m has no node of an open cell.
func (w *Words) split(m uint64) {
	if x := m & w.many; x == 0 || x == w.many {
		return
	}
	starts, open, many := w.starts, w.open, w.many
	for s := open; s != 0; s &= s - 1 {
		begin := bits.TrailingZeros64(s) & 63
		in, out := w.cell[begin]&m, w.cell[begin]&^m
		if in == 0 || out == 0 {
			continue
		}
		at := (begin + bits.OnesCount64(in)) & 63
		w.cell[begin], w.cell[at] = in, out
		starts |= 1 << at
		moreIn, moreOut := several(in), several(out)
		open = open&^(1<<begin) | moreIn<<begin | moreOut<<at
		many &^= in&(moreIn-1) | out&(moreOut-1)
	}
	w.starts, w.open, w.many = starts, open, many
}

// Interchangeable reports whether the nodes are twins: all have the same neighbours outside the
// set, and inside it all others or none.
func Interchangeable(rows []uint64, nodes uint64) bool {
	first := rows[bits.TrailingZeros64(nodes)]
	open, closed := true, true
	for m := nodes; m != 0; m &= m - 1 {
		v := bits.TrailingZeros64(m)
		open = open && rows[v] == first
		closed = closed && rows[v]|1<<v == first|nodes&-nodes
	}
	return open || closed
}

// SplitLeast splits every cell by an order of its nodes. least returns the first nodes of a set in
// that order; these stay together.
func (w *Words) SplitLeast(least func(nodes uint64) uint64) {
	for s := w.open; s != 0; s &= s - 1 {
		at := bits.TrailingZeros64(s)
		for w.open>>at&1 == 1 {
			first := least(w.cell[at&63])
			rest := w.cell[at&63] &^ first
			if rest == 0 {
				break
			}
			w.divide(at, first, rest)
			at += bits.OnesCount64(first)
		}
	}
}

// divide replaces the cell at begin by the cells in and out, in this order.
func (w *Words) divide(begin int, in, out uint64) {
	w.set(begin, in)
	w.set(begin+bits.OnesCount64(in), out)
}

// Squeeze moves the bits of x in mask to the low end and keeps their order.
func Squeeze(x, mask uint64) uint64 {
	out := uint64(0)
	for x &= mask; x != 0; x &= x - 1 {
		out |= 1 << bits.OnesCount64(mask&(x&-x-1))
	}
	return out
}

// SqueezeRows sets out to the squeezed row of each node of mask, and returns their number. It
// closes the gaps of mask one after the other, the highest first, in all rows at once, so its cost
// does not depend on the bits of the rows.
func SqueezeRows(out, rows []uint64, mask uint64) int {
	n := 0
	for m := mask; m != 0; m &= m - 1 {
		out[n&63] = rows[bits.TrailingZeros64(m)] & mask
		n++
	}
	out = out[:n]
	top := bits.Len64(mask)
	for gaps := ^mask & below(top); gaps != 0; {
		high := bits.Len64(gaps)               // end of the highest gap
		low := bits.Len64(^gaps & below(high)) // start of the highest gap
		width, keep := uint(high-low)&63, below(low&63)
		for i, x := range out {
			out[i] = x&keep | x>>width&^keep
		}
		gaps &= keep
	}
	return n
}
