package kernel

import "fmt"

// Stride returns the values of a row of c that is padded to whole cache lines.
func Stride(c int) int { return (c + lineValues - 1) &^ (lineValues - 1) }

const lineValues = 16 // float32 values of a cache line of 64 bytes

// AddRows adds rows of a table, each by a factor of its own, to dst:
//
//	dst += Σ_j x[j]·table[idx[j]]
//
// where the table has rows of len(dst) values. The sum is taken in the order of idx.
func AddRows(dst, table []float32, idx []int32, x []float32) {
	if len(dst) == 0 || len(x) != len(idx) {
		panic(fmt.Sprintf("kernel: AddRows: dst has %d values, idx has %d, x has %d", len(dst), len(idx), len(x)))
	}
	rows := len(table) / len(dst)
	if bad := addRows(dst, table, rows, idx, x); bad < len(idx) {
		panic(badRow("AddRows", idx, bad, rows))
	}
}

// AddToRows adds src, each time by another factor, to rows of a table:
//
//	table[idx[j]] += x[j]·src for each j, in this order
//
// where the table has rows of [Stride](len(src)) values, 0 behind the first len(src).
func AddToRows(table []float32, idx []int32, x, src []float32) {
	if len(src) == 0 || len(x) != len(idx) {
		panic(fmt.Sprintf("kernel: AddToRows: src has %d values, idx has %d, x has %d", len(src), len(idx), len(x)))
	}
	rows := len(table) / Stride(len(src))
	if bad := addToRows(table, rows, idx, x, src); bad < len(idx) {
		panic(badRow("AddToRows", idx, bad, rows))
	}
}

// AdaGradRows takes the step of [AdaGrad] on rows of w and v, which have c values, and
// sets g to 0: row idx[j] has the gradient in row j of g, of [Stride](c) values, 0 behind
// the first c.
func AdaGradRows(w, v []float32, c int, idx []int32, g []float32, rate, eps float32) {
	if c <= 0 || len(v) != len(w) || len(g) != len(idx)*Stride(c) {
		panic(fmt.Sprintf("kernel: AdaGradRows: w has %d values, v has %d, g has %d, want %d rows of c=%d", len(w), len(v), len(g), len(idx), c))
	}
	rows := len(w) / c
	if bad := adagradRows(w, v, c, rows, idx, g, rate, eps); bad < len(idx) {
		panic(badRow("AdaGradRows", idx, bad, rows))
	}
}

func badRow(op string, idx []int32, j, rows int) string {
	return fmt.Sprintf("kernel: %s: idx[%d] is %d, the table has %d rows", op, j, idx[j], rows)
}

// addRowsGeneric returns the position of the first index out of range, or len(idx). The loops below do the
// same.
func addRowsGeneric(dst, table []float32, rows int, idx []int32, x []float32) int {
	c := len(dst)
	for j, r := range idx {
		if uint(r) >= uint(rows) {
			return j
		}
		axpy(x[j], table[int(r)*c:][:c], dst)
	}
	return len(idx)
}

func addToRowsGeneric(table []float32, rows int, idx []int32, x, src []float32) int {
	c, stride := len(src), Stride(len(src))
	for j, r := range idx {
		if uint(r) >= uint(rows) {
			return j
		}
		axpy(x[j], src, table[int(r)*stride:][:c])
	}
	return len(idx)
}

func adagradRowsGeneric(w, v []float32, c, rows int, idx []int32, g []float32, rate, eps float32) int {
	stride := Stride(c)
	for j, r := range idx {
		if uint(r) >= uint(rows) {
			return j
		}
		row, at := g[j*stride:][:c], int(r)*c
		AdaGrad(w[at:at+c], row, v[at:at+c], rate, eps)
		clear(row)
	}
	return len(idx)
}
