//go:build !noasm

package kernel

//go:generate go run -C _asm . -file optimizer -out ../optimizer_amd64.s

func rmsprop(w, g, v []float32, rate, decay, eps float32) {
	switch {
	case inUse == generic:
		rmspropGeneric(w, g, v, rate, decay, eps)
	case len(w) == 0:
	case inUse == avx512:
		rmspropAVX512(len(w), &w[0], &g[0], &v[0], rate, decay, 1-decay, eps)
	default:
		rmspropAVX2(len(w), &w[0], &g[0], &v[0], rate, decay, 1-decay, eps)
	}
}

func adagrad(w, g, v []float32, rate, eps float32) {
	switch {
	case inUse == generic:
		adagradGeneric(w, g, v, rate, eps)
	case len(w) == 0:
	case inUse == avx512:
		adagradAVX512(len(w), &w[0], &g[0], &v[0], rate, eps)
	default:
		adagradAVX2(len(w), &w[0], &g[0], &v[0], rate, eps)
	}
}

func adam(w, g, m, v []float32, rate, beta1, beta2, eps float32) {
	switch {
	case inUse == generic:
		adamGeneric(w, g, m, v, rate, beta1, beta2, eps)
	case len(w) == 0:
	case inUse == avx512:
		adamAVX512(len(w), &w[0], &g[0], &m[0], &v[0], rate, beta1, 1-beta1, beta2, 1-beta2, eps)
	default:
		adamAVX2(len(w), &w[0], &g[0], &m[0], &v[0], rate, beta1, 1-beta1, beta2, 1-beta2, eps)
	}
}

// for i < n: v[i] = decay*v[i] + rest*grad[i]*grad[i]; w[i] -= rate*grad[i]/(sqrt(v[i])+eps)
//
//go:noescape
func rmspropAVX2(n int, w, grad, v *float32, rate, decay, rest, eps float32)

//go:noescape
func rmspropAVX512(n int, w, grad, v *float32, rate, decay, rest, eps float32)

// for i < n: v[i] += grad[i]*grad[i]; w[i] -= rate*grad[i]/(sqrt(v[i])+eps)
//
//go:noescape
func adagradAVX2(n int, w, grad, v *float32, rate, eps float32)

//go:noescape
func adagradAVX512(n int, w, grad, v *float32, rate, eps float32)

// for i < n: m[i] = beta1*m[i] + rest1*grad[i]; v[i] = beta2*v[i] + rest2*grad[i]*grad[i];
// w[i] -= rate*m[i]/(sqrt(v[i])+eps)
//
//go:noescape
func adamAVX2(n int, w, grad, m, v *float32, rate, beta1, rest1, beta2, rest2, eps float32)

//go:noescape
func adamAVX512(n int, w, grad, m, v *float32, rate, beta1, rest1, beta2, rest2, eps float32)
