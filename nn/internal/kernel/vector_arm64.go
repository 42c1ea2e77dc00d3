//go:build !noasm

package kernel

func axpy(alpha float32, x, y []float32) {
	if len(x) > 0 {
		axpyNEON(len(x), alpha, &x[0], &y[0])
	}
}

func dot(x, y []float32) float32 {
	if len(x) == 0 {
		return 0
	}
	return dotNEON(len(x), &x[0], &y[0])
}

func reluGrad(dy, y []float32) {
	if len(y) > 0 {
		reluGradNEON(len(y), &dy[0], &y[0])
	}
}

func biasReLU(x, bias []float32) {
	biasReLUNEON(len(x)/len(bias), len(bias), &x[0], &bias[0])
}

func addBiasGrad(db, dy []float32) {
	addBiasGradNEON(len(dy)/len(db), len(db), &db[0], &dy[0])
}

// for i < n: y[i] += alpha * x[i]
//
//go:noescape
func axpyNEON(n int, alpha float32, x, y *float32)

// for i < n: sum += x[i] * y[i]
//
//go:noescape
func dotNEON(n int, x, y *float32) float32

// for i < n: if y[i] <= 0 { dy[i] = 0 }
//
//go:noescape
func reluGradNEON(n int, dy, y *float32)

// for i < rows, j < c: x[i*c+j] = max(0, x[i*c+j]+bias[j])
//
//go:noescape
func biasReLUNEON(rows, c int, x, bias *float32)

// for i < rows, j < c: db[j] += dy[i*c+j]
//
//go:noescape
func addBiasGradNEON(rows, c int, db, dy *float32)
