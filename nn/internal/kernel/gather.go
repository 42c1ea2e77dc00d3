package kernel

import "fmt"

// GatherAdd adds rows of a table to one row:
//
//	dst[:c] += Σ_j table[idx[j]]
//
// where the table has len(table)/c rows of c values. A negative index adds
// nothing. This is a dense layer whose input is one-hot: the indices are the
// ones, the table holds the weights.
func GatherAdd(dst []float32, c int, table []float32, idx []int32) {
	if c <= 0 || len(dst) < c {
		panic(fmt.Sprintf("kernel: GatherAdd: dst has %d values, want c=%d > 0", len(dst), c))
	}
	if bad := gatherAdd(dst[:c], table, len(table)/c, idx); bad < len(idx) {
		panic(badIndex("GatherAdd", idx, bad, table, c))
	}
}

// ScatterAdd adds one row to rows of a table, the transpose of GatherAdd:
//
//	table[idx[j]] += src[:c] for each j
//
// A row that is named twice is added to twice; a negative index does nothing.
// When an index is too large ScatterAdd panics, with part of the sum done.
func ScatterAdd(table []float32, c int, idx []int32, src []float32) {
	if c <= 0 || len(src) < c {
		panic(fmt.Sprintf("kernel: ScatterAdd: src has %d values, want c=%d > 0", len(src), c))
	}
	if bad := scatterAdd(table, len(table)/c, idx, src[:c]); bad < len(idx) {
		panic(badIndex("ScatterAdd", idx, bad, table, c))
	}
}

func badIndex(op string, idx []int32, j int, table []float32, c int) string {
	return fmt.Sprintf("kernel: %s: idx[%d] is %d, the table has %d rows of %d", op, j, idx[j], len(table)/c, c)
}

// gatherAddGeneric stops at the first index that is not below rows and returns
// its position, or len(idx).
func gatherAddGeneric(dst, table []float32, rows int, idx []int32) int {
	c := len(dst)
	for j, r := range idx {
		if r < 0 {
			continue
		}
		if int(r) >= rows {
			return j
		}
		for i, v := range table[int(r)*c : int(r)*c+c] {
			dst[i] += v
		}
	}
	return len(idx)
}

// scatterAddGeneric stops as gatherAddGeneric does.
func scatterAddGeneric(table []float32, rows int, idx []int32, src []float32) int {
	c := len(src)
	for j, r := range idx {
		if r < 0 {
			continue
		}
		if int(r) >= rows {
			return j
		}
		row := table[int(r)*c : int(r)*c+c]
		for i, v := range src {
			row[i] += v
		}
	}
	return len(idx)
}
