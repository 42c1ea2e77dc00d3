package random

import (
	"math"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// Noise is the random numbers of encoders, many at a time.
type Noise struct{ *kernel.Random }

// NewNoise returns the generator of a seed and a stream.
func NewNoise(seed, stream uint64) *Noise { return &Noise{kernel.NewRandom(seed, stream)} }

// Normal sets x to draws from the standard normal distribution (Box and Muller
// 1958).
func (n *Noise) Normal(x []float32) {
	var u [32]float32
	for len(x) > 0 {
		n.Uniform(u[:])
		for i := range 16 {
			// The logarithm of 1-u, in (0, 1], is finite.
			radius := math.Sqrt(-2 * math.Log(1-float64(u[2*i])))
			sin, cos := math.Sincos(2 * math.Pi * float64(u[2*i+1]))
			u[2*i], u[2*i+1] = float32(radius*cos), float32(radius*sin)
		}
		x = x[copy(x, u[:]):]
	}
}

// AddNormal sets x to mean plus draws from the standard normal distribution. x and mean may be one slice.
func (n *Noise) AddNormal(x, mean []float32) {
	var u [32]float32
	for len(x) > 0 {
		n.Normal(u[:])
		k := min(len(x), len(u))
		for i := range k {
			x[i] = mean[i] + u[i]
		}
		x, mean = x[k:], mean[k:]
	}
}
