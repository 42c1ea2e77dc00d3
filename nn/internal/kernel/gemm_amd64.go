//go:build !noasm

package kernel

//go:generate go run -C _asm . -file gemm -out ../gemm_amd64.s

// The largest numbers of rows of a tile.
const (
	rows2AVX2   = 6
	rows1AVX2   = 12
	rows2AVX512 = 12
	rows1AVX512 = 12
	rowsPair    = 24
	rowsPairTN  = 20 // pairs of rows
)

func gemm(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, acc bool) {
	switch {
	case inUse == generic:
		gemmGeneric(m, n, k, a, lda, b, ldb, c, ldc, acc)
	case inUse == avx512 && n <= 8 && (ldb == n || k == 1):
		gemmPair(m, n, k, a, lda, b, c, ldc, acc)
	default:
		tiles(m, n, k, a, lda, 1, b, ldb, c, ldc, acc)
	}
}

func gemmTN(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, acc bool) {
	switch {
	case inUse == generic:
		gemmTNGeneric(m, n, k, a, lda, b, ldb, c, ldc, acc)
	case inUse == avx512 && n <= 8:
		gemmTNPair(m, n, k, a, lda, b, ldb, c, ldc, acc)
	default:
		tiles(k, n, m, a, 1, lda, b, ldb, c, ldc, acc)
	}
}

func gemmNT(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, acc bool) {
	if inUse == generic {
		gemmNTGeneric(m, n, k, a, lda, b, ldb, c, ldc, acc)
		return
	}
	turnAndMultiply(m, n, k, a, lda, b, ldb, c, ldc, acc)
}

// transpose sets dst[j*ldd+p] = src[p*lds+j] for p < rows, j < cols. The last block overlaps the block before
// it. A Go loop transposes matrices that are smaller than a block.
func transpose(dst []float32, ldd int, src []float32, lds, rows, cols int) {
	lanes, block := 16, transposeAVX512
	if inUse == avx2 {
		lanes, block = 8, transposeAVX2
	}
	if inUse == generic || rows < lanes || cols < 4 {
		transposeGeneric(dst, ldd, src, lds, rows, cols)
		return
	}
	for p := 0; p < rows; p += lanes {
		p := min(p, rows-lanes)
		block(&dst[p], ldd, &src[p*lds], lds, cols&^3)
		if cols&3 != 0 {
			block(&dst[(cols-4)*ldd+p], ldd, &src[p*lds+cols-4], lds, 4)
		}
	}
}

// tiles computes C of rows×cols as sums of l terms; tiles.go has the loop.
func tiles(rows, cols, l int, a []float32, rs, cs int, b []float32, ldb int, c []float32, ldc int, acc bool) {
	lanes, max1, max2 := 16, rows1AVX512, rows2AVX512
	if inUse == avx2 {
		lanes, max1, max2 = 8, rows1AVX2, rows2AVX2
	}
	for l0 := 0; l0 < l; l0 += maxSum {
		lb := min(maxSum, l-l0)
		for j := 0; j < cols; j += 2 * lanes {
			w := min(2*lanes, cols-j)
			high := max2
			if w <= lanes {
				high = max1
			}
			t := split(rows, high)
			for i := 0; i < rows; {
				h, count := t.next()
				ap, bp, cp := &a[i*rs+l0*cs], &b[l0*ldb+j], &c[i*ldc+j]
				switch {
				case lanes == 16 && w > 16:
					panel32AVX512(h, count, lb, ap, rs, cs, bp, ldb, w-16, cp, ldc, acc || l0 > 0)
				case lanes == 16:
					panel16AVX512(h, count, lb, ap, rs, cs, bp, ldb, w, cp, ldc, acc || l0 > 0)
				case w > 8:
					panel16AVX2(h, count, lb, ap, rs, cs, bp, ldb, w-8, cp, ldc, acc || l0 > 0)
				default:
					panel8AVX2(h, count, lb, ap, rs, cs, bp, ldb, w, cp, ldc, acc || l0 > 0)
				}
				i += h * count
			}
		}
	}
}

// gemmPair is Gemm for up to 8 columns and B without gaps. Such a B fits into the cache.
func gemmPair(m, n, k int, a []float32, lda int, b []float32, c []float32, ldc int, acc bool) {
	t := split(m, rowsPair)
	for i := 0; i < m; {
		h, count := t.next()
		pairAVX512(h, count, k, &a[i*lda], lda, &b[0], n, &c[i*ldc], ldc, acc)
		i += h * count
	}
}

// gemmTNPair is GemmTN for up to 8 columns. A tile holds pairs of rows of C. An odd last row is a tile of its
// own.
func gemmTNPair(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, acc bool) {
	for l0 := 0; l0 < m; l0 += maxSum {
		lb := min(maxSum, m-l0)
		t := split(k/2, rowsPairTN)
		p := 0
		for p < k-1 {
			h, count := t.next()
			pairTNAVX512(h, count, lb, &a[l0*lda+p], lda, &b[l0*ldb], ldb, n, &c[p*ldc], ldc, acc || l0 > 0)
			p += 2 * h * count
		}
		if p < k {
			panel16AVX512(1, 1, lb, &a[l0*lda+p], 1, lda, &b[l0*ldb], ldb, n, &c[p*ldc], ldc, acc || l0 > 0)
		}
	}
}

// A panel is rows·tiles rows of C and up to 32, 16 or 8 columns:
//
//	for i < rows*tiles, j < columns: c[i*ldc+j] (+)= Σ_l a[i*rs+l*cs] * b[l*ldb+j]
//
// cols is the columns in the last of the panel's registers. All strides are in
// elements, and l is at least 1.

//go:noescape
func panel8AVX2(rows, tiles, l int, a *float32, rs, cs int, b *float32, ldb, cols int, c *float32, ldc int, acc bool)

//go:noescape
func panel16AVX2(rows, tiles, l int, a *float32, rs, cs int, b *float32, ldb, cols int, c *float32, ldc int, acc bool)

//go:noescape
func panel16AVX512(rows, tiles, l int, a *float32, rs, cs int, b *float32, ldb, cols int, c *float32, ldc int, acc bool)

//go:noescape
func panel32AVX512(rows, tiles, l int, a *float32, rs, cs int, b *float32, ldb, cols int, c *float32, ldc int, acc bool)

// for i < rows*tiles, j < n ≤ 8: c[i*ldc+j] (+)= Σ_l a[i*rs+l] * b[l*n+j]
//
//go:noescape
func pairAVX512(rows, tiles, l int, a *float32, rs int, b *float32, n int, c *float32, ldc int, acc bool)

// for p < 2*rows*tiles, j < n ≤ 8: c[p*ldc+j] (+)= Σ_l a[l*lda+p] * b[l*ldb+j]
//
//go:noescape
func pairTNAVX512(rows, tiles, l int, a *float32, lda int, b *float32, ldb, n int, c *float32, ldc int, acc bool)

// for p < 8, j < cols, a multiple of 4: dst[j*ldd+p] = src[p*lds+j]
//
//go:noescape
func transposeAVX2(dst *float32, ldd int, src *float32, lds, cols int)

// for p < 16, j < cols, a multiple of 4: dst[j*ldd+p] = src[p*lds+j]
//
//go:noescape
func transposeAVX512(dst *float32, ldd int, src *float32, lds, cols int)
