package random

import "math"

// Bernoulli sets dst[i] to 1 with probability p[i], from 0 to 1, otherwise to 0. The probability is rounded down
// to a multiple of 2⁻³². dst and p may be one slice. It panics if p is longer than dst.
func (r Source) Bernoulli(dst, p []float32) {
	dst = dst[:len(p)]
	for i := 0; i < len(p); i += 2 {
		bits := r.Uint64() // bits of two draws
		dst[i] = below(uint32(bits), p[i])
		if i+1 < len(p) {
			dst[i+1] = below(uint32(bits>>32), p[i+1])
		}
	}
}

// below returns 1 if draw·2⁻³² is below p, else 0. It has no branch, because draws cannot be predicted.
func below(draw uint32, p float32) float32 {
	negative := uint32((int64(draw) - int64(p*(1<<32))) >> 63)
	return math.Float32frombits(negative & math.Float32bits(1))
}

// Normal sets x to draws from the standard normal distribution (Box and Muller
// 1958).
func (r Source) Normal(x []float32) {
	for len(x) > 0 {
		// The logarithm of 1-u, in (0, 1], is finite.
		radius := math.Sqrt(-2 * math.Log(1-float64(r.Float())))
		sin, cos := math.Sincos(2 * math.Pi * float64(r.Float()))
		x = x[copy(x, []float32{float32(radius * cos), float32(radius * sin)}):]
	}
}

// AddNormal sets x to mean plus draws from the standard normal distribution. x and mean may be one slice.
func (r Source) AddNormal(x, mean []float32) {
	var u [32]float32
	for len(x) > 0 {
		k := min(len(x), len(u))
		r.Normal(u[:k])
		for i := range k {
			x[i] = mean[i] + u[i]
		}
		x, mean = x[k:], mean[k:]
	}
}
