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
