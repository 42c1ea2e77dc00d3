//go:build !noasm

package kernel

// bernoulli needs a positive multiple of 16 values.
func bernoulli(dst, p []float32, s *[4][lanes]uint32) {
	bernoulliNEON(len(p), &dst[0], &p[0], &s[0][0])
}

// for i < n, a positive multiple of 16: dst[i] = 1 if the next number of lane i
// mod 16 is below p[i], else 0
//
//go:noescape
func bernoulliNEON(n int, dst, p *float32, s *uint32)
