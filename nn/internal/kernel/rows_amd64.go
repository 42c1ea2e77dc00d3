//go:build !noasm

package kernel

//go:generate go run -C _asm . -file rows -out ../rows_amd64.s

// addRows takes half a cache line at a time, even if there is AVX-512: most rows begin
// in the middle of a line, and a load that goes across two costs twice.
// BenchmarkRows/AddRows/c=20 takes 1.7 times as long by whole lines.
func addRows(dst, table []float32, rows int, idx []int32, x []float32) int {
	if inUse == generic || rows == 0 || len(idx) == 0 {
		return addRowsGeneric(dst, table, rows, idx, x)
	}
	return addRowsAVX2(len(dst), &dst[0], &table[0], rows, &idx[0], &x[0], len(idx))
}

func addToRows(table []float32, rows int, idx []int32, x, src []float32) int {
	switch {
	case inUse == generic || rows == 0 || len(idx) == 0:
		return addToRowsGeneric(table, rows, idx, x, src)
	case inUse == avx512:
		return addToRowsAVX512(len(src), &table[0], Stride(len(src)), rows, &idx[0], &x[0], len(idx), &src[0])
	default:
		return addToRowsAVX2(len(src), &table[0], Stride(len(src)), rows, &idx[0], &x[0], len(idx), &src[0])
	}
}

func adagradRows(w, v []float32, c, rows int, idx []int32, g []float32, rate, eps float32) int {
	switch {
	case inUse == generic || rows == 0 || len(idx) == 0:
		return adagradRowsGeneric(w, v, c, rows, idx, g, rate, eps)
	case inUse == avx512:
		return adagradRowsAVX512(c, &w[0], &v[0], rows, &idx[0], len(idx), &g[0], Stride(c), rate, eps)
	default:
		return adagradRowsAVX2(c, &w[0], &v[0], rows, &idx[0], len(idx), &g[0], Stride(c), rate, eps)
	}
}

// for j < n, i < c: dst[i] += x[j]*table[idx[j]*c+i];
// returns the first j with idx[j] no row, or n
//
//go:noescape
func addRowsAVX2(c int, dst, table *float32, rows int, idx *int32, x *float32, n int) int

// for j < n, i < c: table[idx[j]*stride+i] += x[j]*src[i];
// returns the first j with idx[j] no row, or n
//
//go:noescape
func addToRowsAVX2(c int, table *float32, stride, rows int, idx *int32, x *float32, n int, src *float32) int

//go:noescape
func addToRowsAVX512(c int, table *float32, stride, rows int, idx *int32, x *float32, n int, src *float32) int

// for j < n, i < c, with r = idx[j]*c+i and g = grad[j*stride+i]: v[r] += g*g;
// w[r] -= rate*g/(sqrt(v[r])+eps); grad[j*stride+i] = 0;
// returns the first j with idx[j] no row, or n
//
//go:noescape
func adagradRowsAVX2(c int, w, v *float32, rows int, idx *int32, n int, grad *float32, stride int, rate, eps float32) int

//go:noescape
func adagradRowsAVX512(c int, w, v *float32, rows int, idx *int32, n int, grad *float32, stride int, rate, eps float32) int
