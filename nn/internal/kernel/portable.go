//go:build !amd64 || noasm

package kernel

// These kernels have no NEON assembly. Its gain was never measured.

func rmsprop(w, g, v []float32, rate, decay, eps float32) { rmspropGeneric(w, g, v, rate, decay, eps) }

func adam(w, g, m, v []float32, rate, beta1, beta2, eps float32) {
	adamGeneric(w, g, m, v, rate, beta1, beta2, eps)
}

func sigmoid(y, x []float32) { sigmoidGeneric(y, x) }
func tanh(y, x []float32)    { tanhGeneric(y, x) }

func rowOffsets(dst, first, count, values []int32, c int32) bool {
	return rowOffsetsGeneric(dst, first, count, values, c)
}

func addRows(dst, table []float32, rows int, idx []int32, x []float32) int {
	return addRowsGeneric(dst, table, rows, idx, x)
}

func addToRows(table []float32, rows int, idx []int32, x, src []float32) int {
	return addToRowsGeneric(table, rows, idx, x, src)
}

func adagradRows(w, v []float32, c, rows int, idx []int32, g []float32, rate, eps float32) int {
	return adagradRowsGeneric(w, v, c, rows, idx, g, rate, eps)
}
