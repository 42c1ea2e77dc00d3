package kernel

import (
	"fmt"
	"math/bits"
)

// lanes is the number of generators in a Random. All variants have sixteen, so they draw the same numbers.
const lanes = 16

// Random is sixteen generators xoshiro128++ (Blackman and Vigna, ACM TOMS 47, 2021), one per lane. NewRandom
// makes one; the zero value is invalid.
//
// Value i of a call takes its number from lane i mod 16. A call takes whole blocks of sixteen numbers.
type Random struct{ s [4][lanes]uint32 }

// NewRandom returns the generators of a seed and a stream.
func NewRandom(seed, stream uint64) *Random {
	r := new(Random)
	// SplitMix64 (Steele, Lea and Flood 2014), from a start that mixes both.
	x := seed ^ bits.RotateLeft64(stream*0xd1342543de82ef95+0x632be59bd9b4e019, 32)
	next := func() uint64 {
		x += 0x9e3779b97f4a7c15
		z := x
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return z ^ z>>31
	}
	for l := range lanes {
		a, b := next(), next()
		r.s[0][l], r.s[1][l] = uint32(a), uint32(a>>32)
		r.s[2][l], r.s[3][l] = uint32(b), uint32(b>>32)|1 // a state of zeros would never change
	}
	return r
}

// Bernoulli sets dst[i] to 1 with probability p[i], otherwise to 0. It compares p[i] with a number in [0, 1)
// that is a multiple of 2⁻²⁴. NaN gives 0. dst and p may be one slice. It panics if their lengths differ.
func (r *Random) Bernoulli(dst, p []float32) {
	if len(dst) != len(p) {
		panic(fmt.Sprintf("kernel: Bernoulli: dst has %d values, p has %d", len(dst), len(p)))
	}
	whole := len(p) &^ (lanes - 1)
	if whole > 0 {
		bernoulli(dst[:whole], p[:whole], &r.s)
	}
	if whole < len(p) {
		var in, out [lanes]float32
		copy(in[:], p[whole:])
		bernoulli(out[:], in[:], &r.s)
		copy(dst[whole:], out[:])
	}
}

// Uniform sets dst to numbers of [0, 1) that are multiples of 2⁻²⁴.
func (r *Random) Uniform(dst []float32) {
	for len(dst) > 0 {
		u := step(&r.s)
		n := min(lanes, len(dst))
		for l := range n {
			dst[l] = fraction(u[l])
		}
		dst = dst[n:]
	}
}

// fraction returns the 24 highest bits of x as a number in [0, 1).
func fraction(x uint32) float32 { return float32(x>>8) * (1.0 / (1 << 24)) }

// step draws the next number of each lane.
func step(s *[4][lanes]uint32) (u [lanes]uint32) {
	for l := range lanes {
		s0, s1, s2, s3 := s[0][l], s[1][l], s[2][l], s[3][l]
		u[l] = bits.RotateLeft32(s0+s3, 7) + s0
		t := s1 << 9
		s2 ^= s0
		s3 ^= s1
		s1 ^= s2
		s0 ^= s3
		s2 ^= t
		s3 = bits.RotateLeft32(s3, 11)
		s[0][l], s[1][l], s[2][l], s[3][l] = s0, s1, s2, s3
	}
	return u
}

func bernoulliGeneric(dst, p []float32, s *[4][lanes]uint32) {
	for ; len(p) > 0; dst, p = dst[lanes:], p[lanes:] {
		u := step(s)
		for l, q := range p[:lanes] {
			x := float32(0)
			if fraction(u[l]) < q {
				x = 1
			}
			dst[l] = x
		}
	}
}
