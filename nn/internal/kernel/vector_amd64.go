//go:build !noasm

package kernel

//go:generate go run -C _asm . -file vector -out ../vector_amd64.s

// All loops below except dot have an AVX2 version alone, which AVX-512 processors use too. Loops over sixteen
// values gave the same bits and gained 1 % in the geometric mean of BenchmarkTrain, BenchmarkTrainModels and
// BenchmarkRBM.
func axpy(alpha float32, x, y []float32) {
	switch {
	case inUse == generic:
		axpyGeneric(alpha, x, y)
	case len(x) > 0:
		axpyAVX2(len(x), alpha, &x[0], &y[0])
	}
}

func dot(x, y []float32) float32 {
	switch {
	case inUse == generic:
		return dotGeneric(x, y)
	case len(x) == 0:
		return 0
	case inUse == avx512:
		return dotAVX512(len(x), &x[0], &y[0])
	default:
		return dotAVX2(len(x), &x[0], &y[0])
	}
}

func reluGrad(dy, y []float32) {
	switch {
	case inUse == generic:
		reluGradGeneric(dy, y)
	case len(y) > 0:
		reluGradAVX2(len(y), &dy[0], &y[0])
	}
}

func biasReLU(x, bias []float32) {
	if inUse == generic {
		biasReLUGeneric(x, bias)
		return
	}
	biasReLUAVX2(len(x)/len(bias), len(bias), &x[0], &bias[0])
}

func addBiasGrad(db, dy []float32) {
	if inUse == generic {
		addBiasGradGeneric(db, dy)
		return
	}
	addBiasGradAVX2(len(dy)/len(db), len(db), &db[0], &dy[0])
}

func addRows(dst, table []float32, rows int, idx []int32, x []float32) int {
	if inUse == generic || rows == 0 || len(idx) == 0 {
		return addRowsGeneric(dst, table, rows, idx, x)
	}
	return addRowsAVX2(len(dst), &dst[0], &table[0], rows, &idx[0], &x[0], len(idx))
}

func addToRows(table []float32, rows int, idx []int32, x, src []float32) int {
	if inUse == generic || rows == 0 || len(idx) == 0 {
		return addToRowsGeneric(table, rows, idx, x, src)
	}
	return addToRowsAVX2(len(src), &table[0], Stride(len(src)), rows, &idx[0], &x[0], len(idx), &src[0])
}

func adagradRows(w, v []float32, c, rows int, idx []int32, g []float32, rate, eps float32) int {
	if inUse == generic || rows == 0 || len(idx) == 0 {
		return adagradRowsGeneric(w, v, c, rows, idx, g, rate, eps)
	}
	return adagradRowsAVX2(c, &w[0], &v[0], rows, &idx[0], len(idx), &g[0], Stride(c), rate, eps)
}

func rmsprop(w, g, v []float32, rate, decay, eps float32) {
	switch {
	case inUse == generic:
		rmspropGeneric(w, g, v, rate, decay, eps)
	case len(w) > 0:
		rmspropAVX2(len(w), &w[0], &g[0], &v[0], rate, decay, 1-decay, eps)
	}
}

func adam(w, g, m, v []float32, rate, beta1, beta2, eps float32) {
	switch {
	case inUse == generic:
		adamGeneric(w, g, m, v, rate, beta1, beta2, eps)
	case len(w) > 0:
		adamAVX2(len(w), &w[0], &g[0], &m[0], &v[0], rate, beta1, 1-beta1, beta2, 1-beta2, eps)
	}
}

func exp(y, x []float32)     { forEach(y, x, expGeneric, expAVX2) }
func sigmoid(y, x []float32) { forEach(y, x, sigmoidGeneric, sigmoidAVX2) }
func tanh(y, x []float32)    { forEach(y, x, tanhGeneric, tanhAVX2) }

func forEach(y, x []float32, plain func(y, x []float32), fast func(n int, y, x *float32)) {
	switch {
	case inUse == generic:
		plain(y, x)
	case len(x) > 0:
		fast(len(x), &y[0], &x[0])
	}
}

// bernoulli takes a positive multiple of 16 values.
func bernoulli(dst, p []float32, s *[4][lanes]uint32) {
	if inUse == generic {
		bernoulliGeneric(dst, p, s)
		return
	}
	bernoulliAVX2(len(p), &dst[0], &p[0], &s[0][0])
}

// for i < n: y[i] += alpha * x[i]
//
//go:noescape
func axpyAVX2(n int, alpha float32, x, y *float32)

// for i < n: sum += x[i] * y[i]
//
//go:noescape
func dotAVX2(n int, x, y *float32) float32

//go:noescape
func dotAVX512(n int, x, y *float32) float32

// for i < n: if y[i] <= 0 { dy[i] = 0 }
//
//go:noescape
func reluGradAVX2(n int, dy, y *float32)

// for i < rows, j < c: x[i*c+j] = max(0, x[i*c+j]+bias[j])
//
//go:noescape
func biasReLUAVX2(rows, c int, x, bias *float32)

// for i < rows, j < c: db[j] += dy[i*c+j]
//
//go:noescape
func addBiasGradAVX2(rows, c int, db, dy *float32)

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

// for j < n, i < c, with r = idx[j]*c+i and g = grad[j*stride+i]: v[r] += g*g;
// w[r] -= rate*g/(sqrt(v[r])+eps); grad[j*stride+i] = 0;
// returns the first j with idx[j] no row, or n
//
//go:noescape
func adagradRowsAVX2(c int, w, v *float32, rows int, idx *int32, n int, grad *float32, stride int, rate, eps float32) int

// for i < n: v[i] = decay*v[i] + rest*grad[i]*grad[i]; w[i] -= rate*grad[i]/(sqrt(v[i])+eps)
//
//go:noescape
func rmspropAVX2(n int, w, grad, v *float32, rate, decay, rest, eps float32)

// for i < n: m[i] = beta1*m[i] + rest1*grad[i]; v[i] = beta2*v[i] + rest2*grad[i]*grad[i];
// w[i] -= rate*m[i]/(sqrt(v[i])+eps)
//
//go:noescape
func adamAVX2(n int, w, grad, m, v *float32, rate, beta1, rest1, beta2, rest2, eps float32)

// for i < n: y[i] = exp(x[i])
//
//go:noescape
func expAVX2(n int, y, x *float32)

// for i < n: y[i] = 1 / (1 + exp(-x[i]))
//
//go:noescape
func sigmoidAVX2(n int, y, x *float32)

// for i < n: y[i] = tanh(x[i])
//
//go:noescape
func tanhAVX2(n int, y, x *float32)

// for i < n, a positive multiple of 16: dst[i] = 1 if the next number of lane i
// mod 16 is below p[i], else 0
//
//go:noescape
func bernoulliAVX2(n int, dst, p *float32, s *uint32)
