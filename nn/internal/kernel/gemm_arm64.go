//go:build !noasm

package kernel

// tallest is the largest number of rows of a tile. Twelve rows of two registers hold 24 sums, which leaves
// eight of 32 registers for a row of B and entries of A.
const tallest = 12

func gemm(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, acc bool) {
	tiles(m, n, k, a, lda, 1, b, ldb, c, ldc, acc)
}

func gemmTN(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, acc bool) {
	tiles(k, n, m, a, 1, lda, b, ldb, c, ldc, acc)
}

func gemmNT(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, acc bool) {
	turnAndMultiply(m, n, k, a, lda, b, ldb, c, ldc, acc)
}

// transpose sets dst[j*ldd+p] = src[p*lds+j] for p < rows, j < cols. The last block overlaps the block before
// it.
func transpose(dst []float32, ldd int, src []float32, lds, rows, cols int) {
	if rows < 4 || cols < 4 {
		transposeGeneric(dst, ldd, src, lds, rows, cols)
		return
	}
	for p := 0; p < rows; p += 4 {
		p := min(p, rows-4)
		transposeNEON(&dst[p], ldd, &src[p*lds], lds, cols&^3)
		if cols&3 != 0 {
			transposeNEON(&dst[(cols-4)*ldd+p], ldd, &src[p*lds+cols-4], lds, 4)
		}
	}
}

// tiles computes C of rows×cols as sums of l terms; tiles.go has the loop.
func tiles(rows, cols, l int, a []float32, rs, cs int, b []float32, ldb int, c []float32, ldc int, acc bool) {
	for l0 := 0; l0 < l; l0 += maxSum {
		lb := min(maxSum, l-l0)
		for j := 0; j < cols; j += 8 {
			w, panel := min(8, cols-j), panel8NEON
			if w <= 4 {
				panel = panel4NEON
			}
			t := split(rows, tallest)
			for i := 0; i < rows; {
				h, count := t.next()
				panel(h, count, lb, &a[i*rs+l0*cs], rs, cs, &b[l0*ldb+j], ldb, w%4, &c[i*ldc+j], ldc, acc || l0 > 0)
				i += h * count
			}
		}
	}
}

// A panel is rows·tiles rows of C and up to 4 or 8 columns:
//
//	for i < rows*tiles, j < columns: c[i*ldc+j] (+)= Σ_l a[i*rs+l*cs] * b[l*ldb+j]
//
// cols is the columns in the last of the panel's registers, 0 for all four. All
// strides are in elements, and l is at least 1.

//go:noescape
func panel4NEON(rows, tiles, l int, a *float32, rs, cs int, b *float32, ldb, cols int, c *float32, ldc int, acc bool)

//go:noescape
func panel8NEON(rows, tiles, l int, a *float32, rs, cs int, b *float32, ldb, cols int, c *float32, ldc int, acc bool)

// for p < 4, j < cols, a multiple of 4: dst[j*ldd+p] = src[p*lds+j]
//
//go:noescape
func transposeNEON(dst *float32, ldd int, src *float32, lds, cols int)
