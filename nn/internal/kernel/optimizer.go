package kernel

import (
	"fmt"
	"math"
)

// RMSprop takes one step on the weights w with gradient g:
//
//	v = decay·v + (1-decay)·g²
//	w = w - rate·g/(√v + eps)
//
// v is the running mean of squares, zero before the first step.
func RMSprop(w, g, v []float32, rate, decay, eps float32) {
	if len(g) != len(w) || len(v) != len(w) {
		panic(fmt.Sprintf("kernel: RMSprop: w has %d values, g has %d, v has %d", len(w), len(g), len(v)))
	}
	rmsprop(w, g, v, rate, decay, eps)
}

func rmspropGeneric(w, g, v []float32, rate, decay, eps float32) {
	g, v = g[:len(w)], v[:len(w)]
	rest := 1 - decay
	for i, gi := range g {
		vi := decay*v[i] + rest*gi*gi
		v[i] = vi
		w[i] -= rate * gi / (float32(math.Sqrt(float64(vi))) + eps)
	}
}

// AdaGrad takes one step on the weights w with gradient g:
//
//	v = v + g²
//	w = w - rate·g/(√v + eps)
//
// v is the sum of squares, zero before the first step; eps must not be 0. It has no
// assembly: the step of a table is that of [AdaGradRows], which gives the same bits.
func AdaGrad(w, g, v []float32, rate, eps float32) {
	if len(g) != len(w) || len(v) != len(w) {
		panic(fmt.Sprintf("kernel: AdaGrad: w has %d values, g has %d, v has %d", len(w), len(g), len(v)))
	}
	g, v = g[:len(w)], v[:len(w)]
	for i, gi := range g {
		vi := v[i] + float32(gi*gi)
		v[i] = vi
		w[i] -= float32(rate*gi) / (float32(math.Sqrt(float64(vi))) + eps)
	}
}

// Adam takes one step on the weights w with gradient g:
//
//	m = beta1·m + (1-beta1)·g
//	v = beta2·v + (1-beta2)·g²
//	w = w - rate·m/(√v + eps)
//
// m and v are zero before the first step. The corrections for that are part of
// rate and eps.
func Adam(w, g, m, v []float32, rate, beta1, beta2, eps float32) {
	if len(g) != len(w) || len(m) != len(w) || len(v) != len(w) {
		panic(fmt.Sprintf("kernel: Adam: w has %d values, g has %d, m has %d, v has %d", len(w), len(g), len(m), len(v)))
	}
	adam(w, g, m, v, rate, beta1, beta2, eps)
}

func adamGeneric(w, g, m, v []float32, rate, beta1, beta2, eps float32) {
	g, m, v = g[:len(w)], m[:len(w)], v[:len(w)]
	rest1, rest2 := 1-beta1, 1-beta2
	for i, gi := range g {
		mi := beta1*m[i] + rest1*gi
		vi := beta2*v[i] + rest2*gi*gi
		m[i], v[i] = mi, vi
		w[i] -= rate * mi / (float32(math.Sqrt(float64(vi))) + eps)
	}
}
