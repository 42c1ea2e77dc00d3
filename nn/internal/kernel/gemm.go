package kernel

import "fmt"

// Matrices are row-major slices with a row stride in elements: entry (i, j) of
// a matrix x with stride ldx is x[i*ldx+j]. No function allocates, and none
// reads or writes outside the entries that its sizes and strides name. The
// result must not share memory with an operand.

// Gemm computes C = A·B, or C += A·B when acc is set.
//
//	A is m×k, stride lda ≥ 1; rows may overlap (lda < k)
//	B is k×n, stride ldb ≥ n
//	C is m×n, stride ldc ≥ n, or ldc ≥ 1 when acc is set
//
// Overlapping rows of A make a one-dimensional convolution a matrix product:
// position i of a width-q, stride-1 filter over c channels reads the q·c values
// from i·c on, so lda = c, k = q·c, and nothing is copied. With acc, rows of C
// may overlap (ldc < n), and every row is added: the gradient of that
// convolution's input.
func Gemm(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, acc bool) {
	minC := n
	if acc {
		minC = 1
	}
	checkSizes("Gemm", m, n, k)
	checkMatrix("Gemm", "A", a, m, k, lda, 1)
	checkMatrix("Gemm", "B", b, k, n, ldb, n)
	checkMatrix("Gemm", "C", c, m, n, ldc, minC)
	if m == 0 || n == 0 {
		return
	}
	if k == 0 {
		clearUnless(acc, m, n, c, ldc)
		return
	}
	gemm(m, n, k, a, lda, b, ldb, c, ldc, acc)
}

// GemmTN computes C = Aᵀ·B, or C += Aᵀ·B when acc is set: the gradient of the
// weights, from the input A and the gradient B of the output.
//
//	A is m×k, stride lda ≥ 1; rows may overlap (lda < k)
//	B is m×n, stride ldb ≥ n
//	C is k×n, stride ldc ≥ n
func GemmTN(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, acc bool) {
	checkSizes("GemmTN", m, n, k)
	checkMatrix("GemmTN", "A", a, m, k, lda, 1)
	checkMatrix("GemmTN", "B", b, m, n, ldb, n)
	checkMatrix("GemmTN", "C", c, k, n, ldc, n)
	if n == 0 || k == 0 {
		return
	}
	if m == 0 {
		clearUnless(acc, k, n, c, ldc)
		return
	}
	gemmTN(m, n, k, a, lda, b, ldb, c, ldc, acc)
}

// GemmNT computes C = A·Bᵀ, or C += A·Bᵀ if acc is set: the gradient of the input, from the gradient A of the
// output and the weights B.
//
//	A is m×n, stride lda ≥ 1; rows may overlap (lda < n)
//	B is k×n, stride ldb ≥ n
//	C is m×k, stride ldc ≥ k, or ldc ≥ 1 when acc is set
//
// With acc, rows of C may overlap, as in Gemm. Each call transposes B. If several calls share B,
// transpose it once and use Gemm.
func GemmNT(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, acc bool) {
	minC := k
	if acc {
		minC = 1
	}
	checkSizes("GemmNT", m, n, k)
	checkMatrix("GemmNT", "A", a, m, n, lda, 1)
	checkMatrix("GemmNT", "B", b, k, n, ldb, n)
	checkMatrix("GemmNT", "C", c, m, k, ldc, minC)
	if m == 0 || k == 0 {
		return
	}
	if n == 0 {
		clearUnless(acc, m, k, c, ldc)
		return
	}
	gemmNT(m, n, k, a, lda, b, ldb, c, ldc, acc)
}

// Transpose sets dst, (cols, rows), to the transpose of src, (rows, cols). The two must not share memory.
func Transpose(dst, src []float32, rows, cols int) {
	checkSizes("Transpose", rows, cols, 0)
	checkMatrix("Transpose", "dst", dst, cols, rows, rows, rows)
	checkMatrix("Transpose", "src", src, rows, cols, cols, cols)
	if rows > 0 && cols > 0 {
		transpose(dst, rows, src, cols, rows, cols)
	}
}

// transpose sets dst[j*ldd+p] = src[p*lds+j] for p < rows, j < cols, eight rows at a time.
func transpose(dst []float32, ldd int, src []float32, lds, rows, cols int) {
	p := 0
	for ; p+8 <= rows; p += 8 {
		row := func(q int) []float32 { return src[(p+q)*lds:][:cols] }
		a, b, c, d, e, f, g, h := row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)
		for j := range cols {
			to := dst[j*ldd+p:][:8]
			to[0], to[1], to[2], to[3] = a[j], b[j], c[j], d[j]
			to[4], to[5], to[6], to[7] = e[j], f[j], g[j], h[j]
		}
	}
	for ; p < rows; p++ {
		for j, v := range src[p*lds:][:cols] {
			dst[j*ldd+p] = v
		}
	}
}

func checkSizes(op string, m, n, k int) {
	if m < 0 || n < 0 || k < 0 {
		panic(fmt.Sprintf("kernel: %s: negative size m=%d n=%d k=%d", op, m, n, k))
	}
}

// checkMatrix panics unless x holds rows×cols entries with stride ld ≥ minLD.
func checkMatrix(op, name string, x []float32, rows, cols, ld, minLD int) {
	if rows == 0 || cols == 0 {
		return
	}
	if rows > 1 && ld < minLD {
		panic(fmt.Sprintf("kernel: %s: %s is %d×%d with stride %d, want at least %d", op, name, rows, cols, ld, minLD))
	}
	if want := (rows-1)*ld + cols; len(x) < want {
		panic(fmt.Sprintf("kernel: %s: %s has %d values, want %d for %d×%d with stride %d", op, name, len(x), want, rows, cols, ld))
	}
}

// clearUnless sets C to 0, the value of an empty sum, unless acc is set.
func clearUnless(acc bool, rows, cols int, c []float32, ldc int) {
	if acc {
		return
	}
	for i := range rows {
		clear(c[i*ldc : i*ldc+cols])
	}
}
