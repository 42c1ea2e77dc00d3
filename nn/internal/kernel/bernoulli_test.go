package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// The first numbers of xoshiro128++ from the state 1, 2, 3, 4, as the authors'
// C program prints them.
func TestRandomIsXoshiro(t *testing.T) {
	var s [4][lanes]uint32
	for i := range s {
		s[i][5] = uint32(i + 1)
	}
	for i, want := range []uint32{641, 1573767, 3222811527, 3517856514, 836907274, 4247214768, 3867114732} {
		if got := step(&s)[5]; got != want {
			t.Fatalf("number %d is %d, want %d", i, got, want)
		}
	}
}

// Every variant draws the same bits and leaves the same state.
func TestBernoulli(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		r := newRand()
		got, plain := NewRandom(1, 2), NewRandom(1, 2)
		for _, n := range append(lengths, 1000) {
			name := fmt.Sprint("Bernoulli n=", n)
			p, dst := random(r, n), newGuarded(n) // below 0, above 1 and in between
			if n > 3 {
				p[0], p[1], p[2], p[3] = nan, inf, 0, 1
			}
			got.Bernoulli(dst.x, p)
			dst.check(t, name, all)
			for i := 0; i < n; i += lanes {
				u := step(&plain.s)
				for l := range min(lanes, n-i) {
					want := float32(0)
					if fraction(u[l]) < p[i+l] {
						want = 1
					}
					if dst.x[i+l] != want {
						t.Fatalf("%s: value %d is %v, want %v", name, i+l, dst.x[i+l], want)
					}
				}
			}
			if got.s != plain.s {
				t.Fatalf("%s: another state", name)
			}
			got.Bernoulli(p, p) // in place
			for i := 0; i < n; i += lanes {
				step(&plain.s)
			}
		}
		mustPanic(t, "lengths", func() { got.Bernoulli(make([]float32, 3), make([]float32, 4)) })
	})
}

// Frequencies lie within five standard deviations, in every lane, and lanes and
// successive draws do not go together.
func TestBernoulliFrequencies(t *testing.T) {
	const draws = 20000
	r := NewRandom(3, 1)
	p, x, before := make([]float32, lanes), make([]float32, lanes), make([]float32, lanes)
	for l := range p {
		p[l] = (float32(l) + 0.5) / lanes
	}
	var sum, next, after [lanes]float64
	for range draws {
		copy(before, x)
		r.Bernoulli(x, p)
		for l, v := range x {
			c := float64(v - p[l])
			sum[l] += c
			next[l] += c * float64(x[(l+1)%lanes]-p[(l+1)%lanes])
			after[l] += c * float64(before[l]-p[l])
		}
	}
	for l := range lanes {
		v := float64(p[l] * (1 - p[l]))
		w := float64(p[(l+1)%lanes] * (1 - p[(l+1)%lanes]))
		for what, z := range map[string]float64{
			"mean":       sum[l] / math.Sqrt(draws*v),
			"lanes":      next[l] / math.Sqrt(draws*v*w),
			"successive": after[l] / math.Sqrt(draws*v*v),
		} {
			if math.Abs(z) > 5 {
				t.Errorf("lane %d: %s off by %.1f standard deviations", l, what, z)
			}
		}
	}
}

func TestNewRandom(t *testing.T) {
	a, b := make([]float32, 100), make([]float32, 100)
	NewRandom(1, 2).Uniform(a)
	NewRandom(1, 2).Uniform(b)
	if !slices.Equal(a, b) {
		t.Error("the same seed, other numbers")
	}
	for _, other := range [][2]uint64{{1, 3}, {2, 2}, {2, 1}, {0, 0}} {
		NewRandom(other[0], other[1]).Uniform(b)
		if slices.Equal(a, b) {
			t.Errorf("seed 1, 2 and seed %v give the same numbers", other)
		}
	}
	for _, v := range a {
		if v < 0 || v >= 1 || v*(1<<24) != float32(int(v*(1<<24))) {
			t.Errorf("%v is no multiple of 2⁻²⁴ in [0, 1)", v)
		}
	}
}

func BenchmarkBernoulli(b *testing.B) {
	r := NewRandom(1, 1)
	for _, n := range []int{100, 8100} {
		p, dst := make([]float32, n), make([]float32, n)
		r.Uniform(p)
		benchValues(b, fmt.Sprint("n=", n), n, func() { r.Bernoulli(dst, p) })
	}
}
