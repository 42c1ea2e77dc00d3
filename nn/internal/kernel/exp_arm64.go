//go:build !noasm

package kernel

func exp(y, x []float32) {
	if len(x) > 0 {
		expNEON(len(x), &y[0], &x[0])
	}
}

func sigmoid(y, x []float32) {
	if len(x) > 0 {
		sigmoidNEON(len(x), &y[0], &x[0])
	}
}

func tanh(y, x []float32) {
	if len(x) > 0 {
		tanhNEON(len(x), &y[0], &x[0])
	}
}

// for i < n: y[i] = exp(x[i])
//
//go:noescape
func expNEON(n int, y, x *float32)

// for i < n: y[i] = 1 / (1 + exp(-x[i]))
//
//go:noescape
func sigmoidNEON(n int, y, x *float32)

// for i < n: y[i] = tanh(x[i])
//
//go:noescape
func tanhNEON(n int, y, x *float32)
