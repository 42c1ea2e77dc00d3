//go:build (amd64 || arm64) && !noasm

package kernel

import "sync"

// All three products are one loop over tiles of C that stay in registers while
// a sum runs:
//
//	c[i][j] (+)= Σ_l a[i·rs + l·cs] · b[l·ldb + j]
//
// Gemm has rs = lda, cs = 1. GemmTN has rs = 1, cs = lda, and sums over rows. GemmNT first transposes B
// for 32 columns of C at a time. C is divided into column panels of two registers, and a panel into
// tiles of equal height, such as 11 + 10 rows of 21 instead of 12 + 9: the latency of the sums limits
// a low tile.
//
// A sum of more than maxSum terms is divided, so that a panel of B stays in the first-level cache.
// Values from 128 to 1024 changed the benchmarks of the three products with K ≥ 512 or M = 4096 by up
// to 12 %, without a trend. 256 keeps the buffer of GemmNT small.
const maxSum = 256

// turned holds the part of Bᵀ that gemmNT multiplies at a time.
type turned [maxSum * panelNT]float32

const panelNT = 32 // columns of C for which gemmNT transposes B at a time

var turnedPool = sync.Pool{New: func() any { return new(turned) }}

func gemm(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, acc bool) {
	if inUse == generic {
		gemmGeneric(m, n, k, a, lda, b, ldb, c, ldc, acc)
		return
	}
	tiles(m, n, k, a, lda, 1, b, ldb, c, ldc, acc)
}

func gemmTN(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, acc bool) {
	if inUse == generic {
		gemmTNGeneric(m, n, k, a, lda, b, ldb, c, ldc, acc)
		return
	}
	tiles(k, n, m, a, 1, lda, b, ldb, c, ldc, acc)
}

func gemmNT(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, acc bool) {
	if inUse == generic {
		gemmNTGeneric(m, n, k, a, lda, b, ldb, c, ldc, acc)
		return
	}
	bt := turnedPool.Get().(*turned)
	for j0 := 0; j0 < n; j0 += maxSum {
		nb := min(maxSum, n-j0)
		for p0 := 0; p0 < k; p0 += panelNT {
			kb := min(panelNT, k-p0)
			transpose(bt[:], panelNT, b[p0*ldb+j0:], ldb, kb, nb)
			tiles(m, kb, nb, a[j0:], lda, 1, bt[:], panelNT, c[p0:], ldc, acc || j0 > 0)
		}
	}
	turnedPool.Put(bt)
}

// tiles computes C of rows×cols as sums of l terms.
func tiles(rows, cols, l int, a []float32, rs, cs int, b []float32, ldb int, c []float32, ldc int, acc bool) {
	for l0 := 0; l0 < l; l0 += maxSum {
		lb := min(maxSum, l-l0)
		for j := 0; j < cols; j += 2 * regLanes {
			regs, last := 1, cols-j
			if last > regLanes {
				regs, last = 2, min(regLanes, last-regLanes)
			}
			t := split(rows, tallest[regs])
			for i := 0; i < rows; {
				h, count := t.next()
				ap, bp, cp := &a[i*rs+l0*cs], &b[l0*ldb+j], &c[i*ldc+j]
				if regs == 1 {
					panel1SIMD(h, count, lb, ap, rs, cs, bp, ldb, last, cp, ldc, acc || l0 > 0)
				} else {
					panel2SIMD(h, count, lb, ap, rs, cs, bp, ldb, last, cp, ldc, acc || l0 > 0)
				}
				i += h * count
			}
		}
	}
}

// heights divides rows into tiles whose heights differ by at most one: tall tiles of height h+1, then low
// tiles of height h.
type heights struct{ h, tall, low int }

func split(rows, highest int) heights {
	n := (rows + highest - 1) / highest
	if n == 0 {
		return heights{}
	}
	return heights{rows / n, rows % n, n - rows%n}
}

// next returns a height and the number of tiles of that height.
func (t *heights) next() (h, count int) {
	if t.tall > 0 {
		count, t.tall = t.tall, 0
		return t.h + 1, count
	}
	return t.h, t.low
}

// A panel is rows·tiles rows of C and the columns of one or two registers:
//
//	for i < rows*tiles, j < columns: c[i*ldc+j] (+)= Σ_l a[i*rs+l*cs] * b[l*ldb+j]
//
// cols is the columns in the last of the panel's registers. All strides are in
// elements, and l is at least 1.

//go:noescape
func panel1SIMD(rows, tiles, l int, a *float32, rs, cs int, b *float32, ldb, cols int, c *float32, ldc int, acc bool)

//go:noescape
func panel2SIMD(rows, tiles, l int, a *float32, rs, cs int, b *float32, ldb, cols int, c *float32, ldc int, acc bool)
