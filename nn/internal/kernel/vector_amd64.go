//go:build !noasm

package kernel

//go:generate go run -C _asm . -file vector -out ../vector_amd64.s

// wide tells whether AVX-512 suits rows of c values. Up to eight fill a register
// of AVX2, which is then written whole; a masked store of half a register of
// AVX-512 holds up the load of the next row, which lies in the other half.
// BenchmarkBiasReLU/rows=8800,c=8 is 18 times slower that way.
func wide(c int) bool { return inUse == avx512 && c > 8 }

func axpy(alpha float32, x, y []float32) {
	switch {
	case inUse == generic:
		axpyGeneric(alpha, x, y)
	case len(x) == 0:
	case inUse == avx512:
		axpyAVX512(len(x), alpha, &x[0], &y[0])
	default:
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
	case len(y) == 0:
	case inUse == avx512:
		reluGradAVX512(len(y), &dy[0], &y[0])
	default:
		reluGradAVX2(len(y), &dy[0], &y[0])
	}
}

func biasReLU(x, bias []float32) {
	switch c := len(bias); {
	case inUse == generic:
		biasReLUGeneric(x, bias)
	case wide(c):
		biasReLUAVX512(len(x)/c, c, &x[0], &bias[0])
	default:
		biasReLUAVX2(len(x)/c, c, &x[0], &bias[0])
	}
}

func addBiasGrad(db, dy []float32) {
	switch c := len(db); {
	case inUse == generic:
		addBiasGradGeneric(db, dy)
	case wide(c):
		addBiasGradAVX512(len(dy)/c, c, &db[0], &dy[0])
	default:
		addBiasGradAVX2(len(dy)/c, c, &db[0], &dy[0])
	}
}

// for i < n: y[i] += alpha * x[i]
//
//go:noescape
func axpyAVX2(n int, alpha float32, x, y *float32)

//go:noescape
func axpyAVX512(n int, alpha float32, x, y *float32)

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

//go:noescape
func reluGradAVX512(n int, dy, y *float32)

// for i < rows, j < c: x[i*c+j] = max(0, x[i*c+j]+bias[j])
//
//go:noescape
func biasReLUAVX2(rows, c int, x, bias *float32)

//go:noescape
func biasReLUAVX512(rows, c int, x, bias *float32)

// for i < rows, j < c: db[j] += dy[i*c+j]
//
//go:noescape
func addBiasGradAVX2(rows, c int, db, dy *float32)

//go:noescape
func addBiasGradAVX512(rows, c int, db, dy *float32)
