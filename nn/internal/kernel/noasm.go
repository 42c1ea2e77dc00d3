//go:build (!amd64 && !arm64) || noasm

package kernel

// best is the only variant of this platform.
const best, inUse = generic, generic

func gemm(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, acc bool) {
	gemmGeneric(m, n, k, a, lda, b, ldb, c, ldc, acc)
}

func gemmTN(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, acc bool) {
	gemmTNGeneric(m, n, k, a, lda, b, ldb, c, ldc, acc)
}

func gemmNT(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, acc bool) {
	gemmNTGeneric(m, n, k, a, lda, b, ldb, c, ldc, acc)
}

func axpy(alpha float32, x, y []float32) { axpyGeneric(alpha, x, y) }
func dot(x, y []float32) float32         { return dotGeneric(x, y) }
func biasReLU(x, bias []float32)         { biasReLUGeneric(x, bias) }
func reluGrad(dy, y []float32)           { reluGradGeneric(dy, y) }
func addBiasGrad(db, dy []float32)       { addBiasGradGeneric(db, dy) }

func gatherFields(w, n int, dst []float32, c int, table []float32, idx []int32) bool {
	return gatherFieldsGeneric(w, n, dst, c, table, idx)
}

func scatterFields(w, n int, table []float32, c int, idx []int32, src []float32) bool {
	return scatterFieldsGeneric(w, n, table, c, idx, src)
}
