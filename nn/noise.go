package nn

import (
	"math"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// Streams of the coders, which may share a seed with a network.
const (
	streamLearn uint64 = iota + 100
	streamSample
)

// noise is the chance in coders, many numbers at a time.
type noise struct{ *kernel.Random }

func newNoise(seed, stream uint64) *noise { return &noise{kernel.NewRandom(seed, stream)} }

// normal sets x to draws from the standard normal distribution (Box and Muller
// 1958).
func (n *noise) normal(x []float32) {
	var u [32]float32
	for len(x) > 0 {
		n.Uniform(u[:])
		for i := range 16 {
			// 1-u is in (0, 1], whose logarithm is finite.
			radius := math.Sqrt(-2 * math.Log(1-float64(u[2*i])))
			sin, cos := math.Sincos(2 * math.Pi * float64(u[2*i+1]))
			u[2*i], u[2*i+1] = float32(radius*cos), float32(radius*sin)
		}
		x = x[copy(x, u[:]):]
	}
}

// addNormal sets x to mean plus a draw from the standard normal distribution. The
// two may be one slice.
func (n *noise) addNormal(x, mean []float32) {
	var u [32]float32
	for len(x) > 0 {
		n.normal(u[:])
		k := min(len(x), len(u))
		for i := range k {
			x[i] = mean[i] + u[i]
		}
		x, mean = x[k:], mean[k:]
	}
}

// logistic replaces x by σ(x) = 1 / (1 + e⁻ˣ).
func logistic(x []float32) { kernel.Sigmoid(x, x) }
