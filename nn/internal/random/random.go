// Package random has the random numbers of models: initial weights, dropout, and the
// sampling of encoders. A seed means the same numbers in every release of Go.
package random

import "math/rand/v2"

// Source is a PCG generator, whose numbers the algorithm defines.
type Source struct{ *rand.PCG }

// Each use of random numbers has a separate stream, so that a number drawn from one stream does not
// change the others. Encoders use Learn and Sample, and can share a seed with a network. From Parts on,
// each tree of a trees.Model has a stream.
const (
	Init    uint64 = 1
	Dropout uint64 = 2
	Learn   uint64 = 100
	Sample  uint64 = 101
	Parts   uint64 = 1 << 32
)

// New returns the generator of a seed and a stream.
func New(seed, stream uint64) Source { return Source{rand.NewPCG(seed, stream)} }

// Float returns a number in [0, 1) that is a multiple of 2⁻²⁴, the spacing of float32 below 1.
func (r Source) Float() float32 { return float32(r.Uint64()>>40) * (1.0 / (1 << 24)) }
