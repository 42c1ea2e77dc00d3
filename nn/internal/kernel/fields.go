package kernel

import (
	"fmt"
	"math"
)

// A layer with one-hot inputs is a table lookup. Input j owns count[j] rows of the table, and its value
// selects the row that is added to the output. RowOffsets computes the offsets of the rows, GatherFields
// adds the rows, and ScatterFields computes the gradient of the table.

// RowOffsets computes offsets into a table with rows of c values:
//
//	dst[i] = first[i mod n] + c·values[i]
//
// where n = len(first), first[j] is the offset of the first row of input j, and a value of input j is 0
// to count[j]-1, or -1, for which dst is -1. It returns the position of the first value out of range,
// or -1.
//
// first and count may repeat the inputs. Longer lists are faster.
func RowOffsets(dst, first, count, values []int32, c int) (bad int) {
	n := len(first)
	if n == 0 || len(count) != n || len(dst) != len(values) || c < 1 || c > math.MaxInt32 {
		panic(fmt.Sprintf("kernel: RowOffsets: %d first, %d count, %d values, %d places, c=%d", n, len(count), len(values), len(dst), c))
	}
	for at := 0; at < len(values); at += n {
		end := min(at+n, len(values))
		if rowOffsets(dst[at:end], first, count, values[at:end], int32(c)) {
			for i, v := range values[at:end] {
				if v < -1 || v >= count[i] {
					return at + i
				}
			}
		}
	}
	return -1
}

// GatherFields adds rows of a table to each of w rows:
//
//	dst[f][:c] += Σ_j table[idx[f][j]:][:c]
//
// dst is (w, c) and idx, of RowOffsets, (w, len(idx)/w). An offset of -1 adds nothing. Rows are added
// in the order of j.
func GatherFields(dst []float32, w, c int, table []float32, idx []int32) {
	n := checkFields("GatherFields", dst, w, c, table, idx)
	if n > 0 && gatherFields(w, n, dst, c, table, idx) {
		panic(badOffset("GatherFields", idx, table, c))
	}
}

// ScatterFields adds each of w rows to rows of a table. It is the transpose of GatherFields:
//
//	table[idx[f][j]:][:c] += src[f][:c] for each f and j
func ScatterFields(table []float32, idx []int32, src []float32, w, c int) {
	n := checkFields("ScatterFields", src, w, c, table, idx)
	if n > 0 && scatterFields(w, n, table, c, idx, src) {
		panic(badOffset("ScatterFields", idx, table, c))
	}
}

// checkFields checks the arguments and returns the number of offsets of a field, or 0 if there is no work.
func checkFields(op string, rows []float32, w, c int, table []float32, idx []int32) (n int) {
	if w < 0 || c < 1 || len(rows) < w*c || w == 0 && len(idx) > 0 || w > 0 && len(idx)%w != 0 {
		panic(fmt.Sprintf("kernel: %s: %d values and %d places for %d fields of %d", op, len(rows), len(idx), w, c))
	}
	if len(idx) == 0 {
		return 0
	}
	if len(table) < c {
		panic(fmt.Sprintf("kernel: %s: the table has %d values, want rows of %d", op, len(table), c))
	}
	return len(idx) / w
}

func badOffset(op string, idx []int32, table []float32, c int) string {
	for i, at := range idx {
		if int(at) > len(table)-c {
			return fmt.Sprintf("kernel: %s: place %d is %d, the table has %d values in rows of %d", op, i, at, len(table), c)
		}
	}
	return "kernel: " + op
}

// The loops below return bad for a value or an offset out of range. The output is then undefined.
// rowOffsetsGeneric has no branch for -1, because dummy nodes cannot be predicted.
func rowOffsetsGeneric(dst, first, count, values []int32, c int32) (bad bool) {
	dst, first, count = dst[:len(values)], first[:len(values)], count[:len(values)]
	for i, v := range values {
		if uint32(v+1) > uint32(count[i]) {
			return true
		}
		dst[i] = (first[i] + c*v) | v>>31 // v>>31 is -1 for -1, otherwise 0
	}
	return false
}

func gatherFieldsGeneric(w, n int, dst []float32, c int, table []float32, idx []int32) (bad bool) {
	for f := range w {
		row := dst[f*c : f*c+c]
		for _, at := range idx[f*n : f*n+n] {
			if at < 0 {
				continue
			}
			if int(at) > len(table)-c {
				return true
			}
			for i, x := range table[at : int(at)+c] {
				row[i] += x
			}
		}
	}
	return false
}

func scatterFieldsGeneric(w, n int, table []float32, c int, idx []int32, src []float32) (bad bool) {
	for f := range w {
		row := src[f*c : f*c+c]
		for _, at := range idx[f*n : f*n+n] {
			if at < 0 {
				continue
			}
			if int(at) > len(table)-c {
				return true
			}
			to := table[at : int(at)+c]
			for i, x := range row {
				to[i] += x
			}
		}
	}
	return false
}
