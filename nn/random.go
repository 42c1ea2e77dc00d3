package nn

import "math/rand/v2"

// random is the generator behind initial weights and dropout: PCG, whose
// numbers are part of its definition, so a seed means the same weights in every
// release of Go.
type random struct{ *rand.PCG }

// Each use of chance has a stream of its own, so that one more number drawn in
// one of them does not shift the others.
const (
	streamInit uint64 = iota + 1
	streamDropout
)

func newRandom(seed, stream uint64) random { return random{rand.NewPCG(seed, stream)} }

// float returns a number in [0, 1) that is a multiple of 2⁻²⁴, the finest grid
// that float32 holds evenly.
func (r random) float() float32 { return float32(r.Uint64()>>40) * (1.0 / (1 << 24)) }
