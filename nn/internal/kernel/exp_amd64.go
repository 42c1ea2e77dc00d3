//go:build !noasm

package kernel

//go:generate go run -C _asm . -file exp -out ../exp_amd64.s

func exp(y, x []float32)     { forEach(y, x, expGeneric, expAVX2, expAVX512) }
func sigmoid(y, x []float32) { forEach(y, x, sigmoidGeneric, sigmoidAVX2, sigmoidAVX512) }
func tanh(y, x []float32)    { forEach(y, x, tanhGeneric, tanhAVX2, tanhAVX512) }

func forEach(y, x []float32, plain func(y, x []float32), f2, f512 func(n int, y, x *float32)) {
	switch {
	case inUse == generic:
		plain(y, x)
	case len(x) == 0:
	case inUse == avx512:
		f512(len(x), &y[0], &x[0])
	default:
		f2(len(x), &y[0], &x[0])
	}
}

// for i < n: y[i] = exp(x[i])
//
//go:noescape
func expAVX2(n int, y, x *float32)

//go:noescape
func expAVX512(n int, y, x *float32)

// for i < n: y[i] = 1 / (1 + exp(-x[i]))
//
//go:noescape
func sigmoidAVX2(n int, y, x *float32)

//go:noescape
func sigmoidAVX512(n int, y, x *float32)

// for i < n: y[i] = tanh(x[i])
//
//go:noescape
func tanhAVX2(n int, y, x *float32)

//go:noescape
func tanhAVX512(n int, y, x *float32)
