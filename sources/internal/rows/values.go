package rows

import (
	"math"
	"slices"
	"unsafe"

	"github.com/sanflow/sanflow/flow/graph"
)

// Values returns the value of each entry of the rows that Rows has made of the edges,
// whose lists stand in the order in which they came and have the values in lists
// beside them, all of them finite. Of an edge that comes again the first value holds,
// for both directions; others are counted. Each worker looks at all edges for those of
// its rows, so that nobody waits: O(edges · (workers + log degree)). The values stand in
// the memory of 8 bytes an edge in which Rows has sorted them.
func (e *Edges) Values(offsets, neighbors []int32, directed bool, values [][]float32) (of []float32, conflicts int64, err error) {
	if n := len(neighbors); n <= 2*len(e.arena) { // the lists were kept
		of = unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(e.arena))), n)
	} else {
		if err := e.take(4 * int64(n)); err != nil {
			return nil, 0, err
		}
		of = make([]float32, n)
	}
	e.arena = nil
	none := float32(math.NaN())
	n := len(offsets) - 1
	shares := make([]int64, e.workers(e.Len())) // conflicts
	row := func(w int) int32 {
		if w == len(shares) {
			return int32(n)
		}
		v, _ := slices.BinarySearch(offsets[:n], int32(int64(len(neighbors))*int64(w)/int64(len(shares))))
		return int32(v)
	}
	err = each(shares, func(w int, _ int64) error {
		first, last := row(w), row(w+1)
		for i := offsets[first]; i < offsets[last]; i++ {
			of[i] = none
		}
		// set reports whether the edge had another value.
		set := func(u, v int32, x float32) bool {
			i, _ := slices.BinarySearch(neighbors[offsets[u]:offsets[u+1]], v)
			at := &of[int(offsets[u])+i]
			if *at != *at {
				*at = x
			}
			return *at != x
		}
		other := int64(0)
		for l, list := range e.Lists {
			at := 0
			if err := e.pieces([][]graph.Edge{list}, func(piece []graph.Edge) {
				for i, x := range piece {
					value := values[l][at+i]
					if x.U == x.V {
						continue
					}
					if first <= x.U && x.U < last && set(x.U, x.V, value) {
						other++
					}
					if !directed && first <= x.V && x.V < last {
						set(x.V, x.U, value)
					}
				}
				at += len(piece)
			}); err != nil {
				return err
			}
		}
		shares[w] = other
		return nil
	})
	for _, c := range shares {
		conflicts += c
	}
	return of, conflicts, err
}
