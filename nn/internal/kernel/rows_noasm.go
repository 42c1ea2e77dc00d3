//go:build !amd64 || noasm

package kernel

func addRows(dst, table []float32, rows int, idx []int32, x []float32) int {
	return addRowsGeneric(dst, table, rows, idx, x)
}

func addToRows(table []float32, rows int, idx []int32, x, src []float32) int {
	return addToRowsGeneric(table, rows, idx, x, src)
}

func adagradRows(w, v []float32, c, rows int, idx []int32, g []float32, rate, eps float32) int {
	return adagradRowsGeneric(w, v, c, rows, idx, g, rate, eps)
}
