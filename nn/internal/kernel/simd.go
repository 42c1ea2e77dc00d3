//go:build (amd64 || arm64) && !noasm

package kernel

func axpy(alpha float32, x, y []float32) {
	switch {
	case inUse == generic:
		axpyGeneric(alpha, x, y)
	case len(x) > 0:
		axpySIMD(len(x), alpha, &x[0], &y[0])
	}
}

func dot(x, y []float32) float32 {
	switch {
	case inUse == generic:
		return dotGeneric(x, y)
	case len(x) == 0:
		return 0
	}
	return dotSIMD(len(x), &x[0], &y[0])
}

func reluGrad(dy, y []float32) {
	switch {
	case inUse == generic:
		reluGradGeneric(dy, y)
	case len(y) > 0:
		reluGradSIMD(len(y), &dy[0], &y[0])
	}
}

func biasReLU(x, bias []float32) {
	if inUse == generic {
		biasReLUGeneric(x, bias)
		return
	}
	biasReLUSIMD(len(x)/len(bias), len(bias), &x[0], &bias[0])
}

// addBiasGrad adds the sums of the columns of dy to db, as the matrix product of a row of ones and dy.
func addBiasGrad(db, dy []float32) {
	if inUse == generic {
		addBiasGradGeneric(db, dy)
		return
	}
	tiles(1, len(db), len(dy)/len(db), one[:], 0, 0, dy, len(db), db, len(db), true)
}

var one = [1]float32{1}

func gatherFields(w, n int, dst []float32, c int, table []float32, idx []int32) (bad bool) {
	if inUse == generic {
		return gatherFieldsGeneric(w, n, dst, c, table, idx)
	}
	return gatherFieldsSIMD(w, n, c, &dst[0], &table[0], len(table)-c, &idx[0])
}

func scatterFields(w, n int, table []float32, c int, idx []int32, src []float32) (bad bool) {
	if inUse == generic {
		return scatterFieldsGeneric(w, n, table, c, idx, src)
	}
	return scatterFieldsSIMD(w, n, c, &table[0], &src[0], len(table)-c, &idx[0])
}

// for i < n: y[i] += alpha * x[i]
//
//go:noescape
func axpySIMD(n int, alpha float32, x, y *float32)

// for i < n: sum += x[i] * y[i]
//
//go:noescape
func dotSIMD(n int, x, y *float32) float32

// for i < n: if y[i] <= 0 { dy[i] = 0 }
//
//go:noescape
func reluGradSIMD(n int, dy, y *float32)

// for i < rows, j < c: x[i*c+j] = max(0, x[i*c+j]+bias[j])
//
//go:noescape
func biasReLUSIMD(rows, c int, x, bias *float32)

// for f < w, j < n, idx[f*n+j] >= 0, i < c: dst[f*c+i] += table[idx[f*n+j]+i];
// bad when some place is above limit
//
//go:noescape
func gatherFieldsSIMD(w, n, c int, dst, table *float32, limit int, idx *int32) (bad bool)

// for f < w, j < n, idx[f*n+j] >= 0, i < c: table[idx[f*n+j]+i] += src[f*c+i];
// bad when some place is above limit
//
//go:noescape
func scatterFieldsSIMD(w, n, c int, table, src *float32, limit int, idx *int32) (bad bool)
