package random

import (
	"math"
	"slices"
	"testing"
)

// Value i is drawn with half i mod 2 of a number of the generator.
func TestBernoulli(t *testing.T) {
	got, plain := New(1, 2), New(1, 2)
	for n := range 20 {
		p := make([]float32, n)
		for i := range p {
			p[i] = []float32{0, 1, 0.5, 0.25, 1 - 0x1p-24, 0.1, 0x1p-33}[i*n%7]
		}
		x := make([]float32, n+2)
		got.Bernoulli(x[1:n+1], p)
		for i := 0; i < n; i += 2 {
			bits := plain.Uint64()
			for j, draw := range []uint32{uint32(bits), uint32(bits >> 32)} {
				if i+j == n {
					break
				}
				want := float32(0)
				if float64(draw) < math.Floor(float64(p[i+j])*(1<<32)) {
					want = 1
				}
				if x[1+i+j] != want {
					t.Fatalf("n=%d: value %d is %v, want %v", n, i+j, x[1+i+j], want)
				}
			}
		}
		if x[0] != 0 || x[n+1] != 0 {
			t.Fatalf("n=%d: %v beside the output", n, x)
		}
		same := slices.Clone(p)
		New(3, 4).Bernoulli(same, same)
		New(3, 4).Bernoulli(x, p)
		if !slices.Equal(same, x[:n]) {
			t.Fatalf("n=%d: %v in place, want %v", n, same, x[:n])
		}
	}
	x := make([]float32, 100)
	for _, p := range []float32{0, 1} {
		always := slices.Repeat([]float32{p}, len(x))
		if got.Bernoulli(x, always); !slices.Equal(x, always) {
			t.Errorf("with probability %v: %v", p, x)
		}
	}
}

// Frequencies lie within five standard deviations, at each place, and neighbours and
// successive draws do not go together.
func TestBernoulliFrequencies(t *testing.T) {
	const draws, n = 20000, 16
	r := New(3, 1)
	p, x, before := make([]float32, n), make([]float32, n), make([]float32, n)
	for l := range p {
		p[l] = (float32(l) + 0.5) / n
	}
	var sum, next, after [n]float64
	for range draws {
		copy(before, x)
		r.Bernoulli(x, p)
		for l, v := range x {
			c := float64(v - p[l])
			sum[l] += c
			next[l] += c * float64(x[(l+1)%n]-p[(l+1)%n])
			after[l] += c * float64(before[l]-p[l])
		}
	}
	for l := range n {
		v := float64(p[l] * (1 - p[l]))
		w := float64(p[(l+1)%n] * (1 - p[(l+1)%n]))
		for what, z := range map[string]float64{
			"mean":       sum[l] / math.Sqrt(draws*v),
			"neighbours": next[l] / math.Sqrt(draws*v*w),
			"successive": after[l] / math.Sqrt(draws*v*v),
		} {
			if math.Abs(z) > 5 {
				t.Errorf("place %d: %s off by %.1f standard deviations", l, what, z)
			}
		}
	}
}

// The mean of each power of normal numbers, even and odd places apart, lies within five standard
// deviations. The two of one pair are independent.
func TestNormal(t *testing.T) {
	const n = 1 << 17
	x := make([]float32, n+1)
	New(5, 1).Normal(x)
	var sums [2][5]float64
	pairs := 0.0
	for i, v := range x[:n] {
		for k := range sums[i%2] {
			sums[i%2][k] += math.Pow(float64(v), float64(k))
		}
		if i%2 == 1 {
			pairs += float64(v) * float64(x[i-1])
		}
	}
	moments := []float64{1, 0, 1, 0, 3, 0, 15, 0, 105}
	for half, sum := range sums {
		for k := 1; k < len(sum); k++ {
			deviation := math.Sqrt((moments[2*k] - moments[k]*moments[k]) / (n / 2))
			if z := (sum[k]/(n/2) - moments[k]) / deviation; math.Abs(z) > 5 {
				t.Errorf("places %d: mean of power %d off by %.1f standard deviations", half, k, z)
			}
		}
	}
	if z := pairs / math.Sqrt(n/2); math.Abs(z) > 5 {
		t.Errorf("pairs off by %.1f standard deviations", z)
	}

	mean := slices.Clone(x[:1001])
	New(5, 1).AddNormal(mean, mean)
	u := make([]float32, 1001)
	New(5, 1).Normal(u)
	for i := range u {
		if mean[i] != x[i]+u[i] {
			t.Fatalf("AddNormal: value %d is %v, want %v", i, mean[i], x[i]+u[i])
		}
	}
}

func TestSeeds(t *testing.T) {
	first := New(1, 2).Float()
	if again := New(1, 2).Float(); again != first {
		t.Error("the same seed, other numbers")
	}
	for _, other := range [][2]uint64{{1, 3}, {2, 2}, {2, 1}, {0, 0}} {
		if New(other[0], other[1]).Float() == first {
			t.Errorf("seed 1, 2 and seed %v give the same number", other)
		}
	}
}
