//go:build !noasm

package kernel

func rmsprop(w, g, v []float32, rate, decay, eps float32) {
	if len(w) > 0 {
		rmspropNEON(len(w), &w[0], &g[0], &v[0], rate, decay, 1-decay, eps)
	}
}

func adagrad(w, g, v []float32, rate, eps float32) {
	if len(w) > 0 {
		adagradNEON(len(w), &w[0], &g[0], &v[0], rate, eps)
	}
}

func adam(w, g, m, v []float32, rate, beta1, beta2, eps float32) {
	if len(w) > 0 {
		adamNEON(len(w), &w[0], &g[0], &m[0], &v[0], rate, beta1, 1-beta1, beta2, 1-beta2, eps)
	}
}

func momentum(w, g, v []float32, keep, a, b float32) {
	if len(w) > 0 {
		momentumNEON(len(w), &w[0], &g[0], &v[0], keep, a, b)
	}
}

// for i < n: v[i] = decay*v[i] + rest*grad[i]*grad[i]; w[i] -= rate*grad[i]/(sqrt(v[i])+eps)
//
//go:noescape
func rmspropNEON(n int, w, grad, v *float32, rate, decay, rest, eps float32)

// for i < n: v[i] += grad[i]*grad[i]; w[i] -= rate*grad[i]/(sqrt(v[i])+eps)
//
//go:noescape
func adagradNEON(n int, w, grad, v *float32, rate, eps float32)

// for i < n: m[i] = beta1*m[i] + rest1*grad[i]; v[i] = beta2*v[i] + rest2*grad[i]*grad[i];
// w[i] -= rate*m[i]/(sqrt(v[i])+eps)
//
//go:noescape
func adamNEON(n int, w, grad, m, v *float32, rate, beta1, rest1, beta2, rest2, eps float32)

// for i < n: v[i] = keep*v[i] + grad[i]; w[i] -= a*v[i] + b*grad[i]
//
//go:noescape
func momentumNEON(n int, w, grad, v *float32, keep, a, b float32)
