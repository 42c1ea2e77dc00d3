//go:build !noasm

package kernel

//go:generate go run -C _asm . -file bernoulli -out ../bernoulli_amd64.s

// bernoulli needs a positive multiple of 16 values.
func bernoulli(dst, p []float32, s *[4][lanes]uint32) {
	switch inUse {
	case generic:
		bernoulliGeneric(dst, p, s)
	case avx512:
		bernoulliAVX512(len(p), &dst[0], &p[0], &s[0][0])
	default:
		bernoulliAVX2(len(p), &dst[0], &p[0], &s[0][0])
	}
}

// for i < n, a positive multiple of 16: dst[i] = 1 if the next number of lane i
// mod 16 is below p[i], else 0
//
//go:noescape
func bernoulliAVX2(n int, dst, p *float32, s *uint32)

//go:noescape
func bernoulliAVX512(n int, dst, p *float32, s *uint32)
