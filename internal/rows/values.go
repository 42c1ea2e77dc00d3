package rows

import (
	"cmp"
	"slices"
	"unsafe"
)

// Lines returns the line of each entry of the rows that Rows has made of the edges, whose lists stand in the order in
// which they came: a line is counted over all lists. Of lines of the same edge both says which holds, and
// whether they have the same values, for both directions; others are counted. Each worker looks at all edges for
// those of its rows, so that no worker waits: O(edges · (workers + log degree)). The lines stand in the memory of 8
// bytes an edge in which Rows has sorted them; beside it there are 4 bytes for each node, and for each worker less
// than Rows had.
func (e *Edges) Lines(offsets, neighbors []int32, directed bool, both func(a, b int32) (line int32, same bool)) (of []int32, conflicts int64, err error) {
	entries, n := len(neighbors), len(offsets)-1
	if err := e.take(4 * int64(n)); err != nil {
		return nil, 0, err
	}
	defer e.give(4 * int64(n))
	if entries <= 2*len(e.arena) { // Rows has kept the lists
		of = unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(e.arena))), entries)
	} else {
		if err := e.take(4 * int64(entries)); err != nil {
			return nil, 0, err
		}
		of = make([]int32, entries)
	}
	e.arena = nil
	v := valuer{both: both, Edges: e, offsets: offsets, neighbors: neighbors, directed: directed, of: of}
	shares := v.share(e.workers(e.Len()))
	others := make([]int64, len(shares))
	err = each(shares, func(i int, rows span) (err error) {
		others[i], err = v.lines(rows)
		return err
	})
	if err == nil && !directed {
		err = each(shares, func(_ int, rows span) error { return v.mirror(rows) })
	}
	for _, c := range others {
		conflicts += c
	}
	return of, conflicts, err
}

// valuer is one finding of values:
//
//	lines     9-3 0.5   3-4 0.1   5-3 0.2 …     as they came
//	a batch   3-4 0.1   3-5 0.2   3-9 0.5 …     by the row of the smaller end, or the tail
//	upper     3: · 4 0.1  5 0.2  9 0.5          looked for in rows that follow each other
//	lower     4: 3 0.1   5: 3 0.2   9: 3 0.5    as rows come, each has its next one
type valuer struct {
	both func(a, b int32) (holds int32, same bool) // of an edge that comes again: a came before b

	*Edges
	offsets, neighbors []int32
	directed           bool
	of                 []int32
}

// span is rows from first to last-1.
type span struct{ first, last int32 }

// share cuts the rows into w spans of about as many entries.
func (v *valuer) share(w int) []span {
	n := len(v.offsets) - 1
	shares, first := make([]span, w), int32(0)
	for i := range shares {
		last := n
		if i < w-1 {
			last, _ = slices.BinarySearch(v.offsets[:n], int32(int64(len(v.neighbors))*int64(i+1)/int64(w)))
		}
		shares[i] = span{first, int32(last)}
		first = int32(last)
	}
	return shares
}

// batchSize is how many lines are sorted by their rows, so that those are looked
// through one after the other, and not anywhere in memory.
const batchSize = 1 << 18

// entry is the other end of a line, and the line.
type entry struct{ to, line int32 }

// lines sets the entries of lines at their smaller ends, or their tails, in the rows
// of a span, and returns how many lines had another value than the first.
func (v *valuer) lines(rows span) (others int64, err error) {
	for i := v.offsets[rows.first]; i < v.offsets[rows.last]; i++ {
		v.of[i] = -1
	}
	most := min(cmp.Or(v.bucket, batchSize), v.Len())
	keys, tmp, batch := make([]uint64, 0, most), make([]uint64, most), make([]entry, 0, most)
	line := int32(-1)
	for _, list := range v.Lists {
		if err := v.pieces([][]Edge{list}, func(piece []Edge) {
			for _, x := range piece {
				line++
				from, to := x.U, x.V
				if !v.directed {
					from, to = min(from, to), max(from, to)
				}
				if from == to || from < rows.first || from >= rows.last {
					continue
				}
				// The row is below, where three passes of the sort look.
				keys = append(keys, uint64(len(batch))<<(3*digit)|uint64(from-rows.first))
				batch = append(batch, entry{to, line})
				if len(batch) == most {
					others += v.set(rows, keys, tmp, batch)
					keys, batch = keys[:0], batch[:0]
				}
			}
		}); err != nil {
			return 0, err
		}
	}
	return others + v.set(rows, keys, tmp, batch), nil
}

// set sets the entries of a batch, of an edge that comes again in the order in which
// it came, which the sort keeps.
func (v *valuer) set(rows span, keys, tmp []uint64, batch []entry) (others int64) {
	if len(keys) == 0 {
		return 0
	}
	for _, k := range countingSort(keys, tmp[:len(keys)], 3*digit) {
		row, x := rows.first+int32(uint32(k)), batch[k>>(3*digit)]
		from := v.offsets[row]
		i, _ := slices.BinarySearch(v.neighbors[from:v.offsets[row+1]], x.to)
		at := &v.of[int(from)+i]
		if *at < 0 {
			*at = x.line
			continue
		}
		same := false
		if *at, same = v.both(*at, x.line); !same {
			others++
		}
	}
	return others
}

// mirror sets the entries of larger ends, in the rows of a span. Their smaller
// neighbours come in order, since all rows do.
func (v *valuer) mirror(rows span) error {
	next := slices.Clone(v.offsets[rows.first:rows.last])
	for u := range rows.last {
		if u%(1<<12) == 0 {
			if err := v.alive(); err != nil {
				return err
			}
		}
		from, to := v.offsets[u], v.offsets[u+1]
		i, _ := slices.BinarySearch(v.neighbors[from:to], max(u+1, rows.first))
		for at := from + int32(i); at < to && v.neighbors[at] < rows.last; at++ {
			k := &next[v.neighbors[at]-rows.first]
			v.of[*k] = v.of[at]
			*k++
		}
	}
	return nil
}
