//go:build !noasm

package kernel

// These kernels have assembly for amd64 alone.

func addRows(dst, table []float32, rows int, idx []int32, x []float32) int {
	if inUse == generic || rows == 0 || len(idx) == 0 {
		return addRowsGeneric(dst, table, rows, idx, x)
	}
	return addRowsSIMD(len(dst), &dst[0], &table[0], rows, &idx[0], &x[0], len(idx))
}

func addToRows(table []float32, rows int, idx []int32, x, src []float32) int {
	if inUse == generic || rows == 0 || len(idx) == 0 {
		return addToRowsGeneric(table, rows, idx, x, src)
	}
	return addToRowsSIMD(len(src), &table[0], Stride(len(src)), rows, &idx[0], &x[0], len(idx), &src[0])
}

func adagradRows(w, v []float32, c, rows int, idx []int32, g []float32, rate, eps float32) int {
	if inUse == generic || rows == 0 || len(idx) == 0 {
		return adagradRowsGeneric(w, v, c, rows, idx, g, rate, eps)
	}
	return adagradRowsSIMD(c, &w[0], &v[0], rows, &idx[0], len(idx), &g[0], Stride(c), rate, eps)
}

func rmsprop(w, g, v []float32, rate, decay, eps float32) {
	switch {
	case inUse == generic:
		rmspropGeneric(w, g, v, rate, decay, eps)
	case len(w) > 0:
		rmspropSIMD(len(w), &w[0], &g[0], &v[0], rate, decay, 1-decay, eps)
	}
}

func adam(w, g, m, v []float32, rate, beta1, beta2, eps float32) {
	switch {
	case inUse == generic:
		adamGeneric(w, g, m, v, rate, beta1, beta2, eps)
	case len(w) > 0:
		adamSIMD(len(w), &w[0], &g[0], &m[0], &v[0], rate, beta1, 1-beta1, beta2, 1-beta2, eps)
	}
}

func sigmoid(y, x []float32) { forEach(y, x, sigmoidGeneric, sigmoidSIMD) }
func tanh(y, x []float32)    { forEach(y, x, tanhGeneric, tanhSIMD) }

func forEach(y, x []float32, plain func(y, x []float32), fast func(n int, y, x *float32)) {
	switch {
	case inUse == generic:
		plain(y, x)
	case len(x) > 0:
		fast(len(x), &y[0], &x[0])
	}
}

func rowOffsets(dst, first, count, values []int32, c int32) (bad bool) {
	if inUse == generic {
		return rowOffsetsGeneric(dst, first, count, values, c)
	}
	return rowOffsetsSIMD(len(values), &dst[0], &first[0], &count[0], &values[0], c)
}

// for j < n, i < c: dst[i] += x[j]*table[idx[j]*c+i];
// returns the first j with idx[j] no row, or n
//
//go:noescape
func addRowsSIMD(c int, dst, table *float32, rows int, idx *int32, x *float32, n int) int

// for j < n, i < c: table[idx[j]*stride+i] += x[j]*src[i];
// returns the first j with idx[j] no row, or n
//
//go:noescape
func addToRowsSIMD(c int, table *float32, stride, rows int, idx *int32, x *float32, n int, src *float32) int

// for j < n, i < c, with r = idx[j]*c+i and g = grad[j*stride+i]: v[r] += g*g;
// w[r] -= rate*g/(sqrt(v[r])+eps); grad[j*stride+i] = 0;
// returns the first j with idx[j] no row, or n
//
//go:noescape
func adagradRowsSIMD(c int, w, v *float32, rows int, idx *int32, n int, grad *float32, stride int, rate, eps float32) int

// for i < n: v[i] = decay*v[i] + rest*grad[i]*grad[i]; w[i] -= rate*grad[i]/(sqrt(v[i])+eps)
//
//go:noescape
func rmspropSIMD(n int, w, grad, v *float32, rate, decay, rest, eps float32)

// for i < n: m[i] = beta1*m[i] + rest1*grad[i]; v[i] = beta2*v[i] + rest2*grad[i]*grad[i];
// w[i] -= rate*m[i]/(sqrt(v[i])+eps)
//
//go:noescape
func adamSIMD(n int, w, grad, m, v *float32, rate, beta1, rest1, beta2, rest2, eps float32)

// for i < n: y[i] = 1 / (1 + exp(-x[i]))
//
//go:noescape
func sigmoidSIMD(n int, y, x *float32)

// for i < n: y[i] = tanh(x[i])
//
//go:noescape
func tanhSIMD(n int, y, x *float32)

// for i < n: dst[i] = first[i] + c*values[i], or -1 where values[i] is -1;
// bad when some value is not -1 to count[i]-1
//
//go:noescape
func rowOffsetsSIMD(n int, dst, first, count, values *int32, c int32) (bad bool)
