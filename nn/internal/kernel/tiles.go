//go:build (amd64 || arm64) && !noasm

package kernel

import "sync"

// All three products are one loop over tiles of C that stay in registers while
// a sum runs:
//
//	c[i][j] (+)= Σ_l a[i·rs + l·cs] · b[l·ldb + j]
//
// Gemm has rs = lda, cs = 1; GemmTN has rs = 1, cs = lda, and sums over rows;
// GemmNT first turns B, 32 columns of C at a time, into Bᵀ. C is cut into column
// panels of two registers, and a panel into tiles of equal height, so that 21
// rows are 11 + 10 and not 12 + 9: a low tile waits for its sums, not for the
// multipliers.
//
// A sum longer than maxSum is cut, so that a panel of B stays in the first-level
// cache while the tiles pass over it. From 128 to 1024 the benchmarks of the three
// products with K ≥ 512 or M = 4096 moved by up to 12 %, without a trend, so it
// is what keeps the buffer of GemmNT small.
const maxSum = 256

// turned is room for a panel of Bᵀ.
type turned [maxSum * panelNT]float32

const panelNT = 32 // columns of C

var turnedPool = sync.Pool{New: func() any { return new(turned) }}

// turnAndMultiply is GemmNT.
func turnAndMultiply(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, acc bool) {
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

// heights cuts rows into tiles that differ by at most one: first tall tiles of
// height h+1, then low ones of height h.
type heights struct{ h, tall, low int }

func split(rows, highest int) heights {
	n := (rows + highest - 1) / highest
	if n == 0 {
		return heights{}
	}
	return heights{rows / n, rows % n, n - rows%n}
}

// next returns a height and how many tiles have it.
func (t *heights) next() (h, count int) {
	if t.tall > 0 {
		count, t.tall = t.tall, 0
		return t.h + 1, count
	}
	return t.h, t.low
}
