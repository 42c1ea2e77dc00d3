package refine

import (
	"math/bits"
	"slices"
)

// worklist is the queue of cells of RefineAll and RefineFrom. Names work as in Partition: the
// largest fragment of a cell keeps its name and its place in the queue.
type worklist struct {
	queue  [64]uint8 // ring of names
	head   int
	length int
	queued uint64    // set of the names in queue
	at     [64]uint8 // by name: first position of the cell
	name   [64]uint8 // by first position of a cell: its name
	names  int
}

func (l *worklist) push(name uint8) {
	if l.queued>>name&1 == 0 {
		l.queued |= 1 << name
		l.queue[(l.head+l.length)&63] = name
		l.length++
	}
}

func (l *worklist) pop() uint8 {
	name := l.queue[l.head]
	l.head = (l.head + 1) & 63
	l.length--
	l.queued &^= 1 << name
	return name
}

// nameAll names the cells in order and empties the queue.
func (w *Words) nameAll() {
	l := &w.list
	l.length, l.queued, l.names = 0, 0, 0
	for s := w.starts; s != 0; s &= s - 1 {
		at := bits.TrailingZeros64(s)
		l.name[at], l.at[l.names] = uint8(l.names), uint8(at)
		l.names++
	}
}

// RefineAll is Refiner.QueueAll and Refine: it splits cells until the partition is stable.
func (w *Words) RefineAll(rows []uint64) {
	w.nameAll()
	for name := range w.list.names {
		w.list.push(uint8(name))
	}
	w.refine(rows)
}

// RefineFrom is Refiner.Individualize and Refine: it splits v off in front of its cell and refines.
// The partition must be stable before, and v must share its cell.
func (w *Words) RefineFrom(rows []uint64, v int32) {
	at := 0
	for s := w.open; s != 0; s &= s - 1 {
		if at = bits.TrailingZeros64(s); w.cell[at]>>v&1 == 1 {
			break
		}
	}
	rest := w.cell[at] &^ (1 << v)
	w.nameAll()
	w.divide(at, 1<<v, rest)
	l := &w.list
	l.at[l.name[at]], l.name[at+1] = uint8(at+1), l.name[at]
	l.name[at], l.at[l.names] = uint8(l.names), uint8(at)
	l.push(uint8(l.names))
	l.names++
	w.refine(rows)
}

func (w *Words) refine(rows []uint64) {
	for w.list.length > 0 && w.open != 0 {
		w.count(rows, w.cell[w.list.at[w.list.pop()]])
		for s := w.open; s != 0; s &= s - 1 {
			w.splitNamed(bits.TrailingZeros64(s))
		}
	}
}

// splitNamed splits the cell that begins at a position by the counts in w.plane, higher ones first,
// and queues all fragments except the largest.
func (w *Words) splitNamed(begin int) {
	x := w.cell[begin]
	at := begin
	for i := w.planes - 1; i >= 0; i-- {
		if in := x & w.plane[i]; in != 0 && in != x {
			break
		} else if i == 0 {
			return
		}
	}
	// Each plane, from the highest, divides every fragment in two.
	fragments := append(w.fragments[:0], x)
	for i := w.planes - 1; i >= 0; i-- {
		for j := 0; j < len(fragments); j++ {
			if in := fragments[j] & w.plane[i]; in != 0 && in != fragments[j] {
				fragments[j] &^= in
				fragments = slices.Insert(fragments, j, in)
				j++
			}
		}
	}
	largest := 0
	for i, f := range fragments {
		if bits.OnesCount64(f) > bits.OnesCount64(fragments[largest]) {
			largest = i
		}
	}
	l := &w.list
	old := l.name[begin]
	for i, f := range fragments {
		w.set(at, f)
		name := old
		if i != largest {
			name = uint8(l.names)
			l.names++
		}
		l.name[at], l.at[name] = name, uint8(at)
		if i != largest {
			l.push(name)
		}
		at += bits.OnesCount64(f)
	}
}

// Alike is Refiner.Alike for the cell that covers a position. The cell has more than one node.
func (w *Words) Alike(rows []uint64, position int) Likeness {
	_, cell := w.At(position)
	var tree [64]joint
	var cells [64]uint64
	cells[0], tree[0] = cell, joint{bits.OnesCount64(cell), -1, false}
	n := 1
	for i := 0; i < n; i++ {
		x := cells[i]
		size := bits.OnesCount64(x)
		row := rows[bits.TrailingZeros64(x)]
		for s := w.open; s != 0; s &= s - 1 {
			y := w.cell[bits.TrailingZeros64(s)]
			d, other := bits.OnesCount64(row&y), bits.OnesCount64(y)
			if d == 0 {
				continue
			}
			if y == x {
				switch {
				case d == size-1:
				case d == 1, d == size-2, d == 2 && size == 5:
					tree[i].heterogeneous = true
				default:
					return Unknown
				}
				continue
			}
			if d == other {
				continue
			}
			back := size * d / other // neighbours in x of each node in y
			if d != 1 && back != 1 && d != other-1 && back != size-1 {
				return Unknown
			}
			if p := tree[i].parent; p >= 0 && cells[p] == y {
				continue
			}
			if slices.Contains(cells[:n], y) {
				return Unknown
			}
			cells[n], tree[n] = y, joint{other, i, false}
			n++
		}
	}
	if n == 1 && !tree[0].heterogeneous {
		return Twins
	}
	if !monotone(tree[:n]) {
		return Unknown
	}
	return Alike
}
