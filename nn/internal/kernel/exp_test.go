package kernel

import (
	"math"
	"slices"
	"testing"
)

var functions = []struct {
	name  string
	f     func(y, x []float32)
	plain func(x float64) float64
	bound float64 // ulp
}{
	{"Sigmoid", Sigmoid, func(x float64) float64 {
		if x < 0 { // 1 + exp would lose what is small
			e := math.Exp(x)
			return e / (1 + e)
		}
		return 1 / (1 + math.Exp(-x))
	}, 2.5},
	{"Tanh", Tanh, math.Tanh, 2.5},
}

// ulps is how far got is from want, in steps of float32 at want.
func ulps(got float32, want float64) float64 {
	switch near := float32(want); {
	case math.IsNaN(want) || math.IsInf(float64(near), 0) || math.IsInf(float64(got), 0):
		if got == near || got != got && near != near {
			return 0
		}
		return math.Inf(1)
	default:
		exponent := max(math.Ilogb(want), -126)
		return math.Abs(float64(got)-want) / math.Ldexp(1, exponent-23)
	}
}

// Every 32771st of all float32; the bounds come from every seventh.
func TestFunctions(t *testing.T) {
	const step = 32771
	for _, f := range functions {
		t.Run(f.name, func(t *testing.T) {
			forEachVariant(t, func(t *testing.T) {
				x, y := make([]float32, 1<<12), make([]float32, 1<<12)
				worst, at := 0.0, float32(0)
				for bits := uint64(0); bits < 1<<32; {
					for i := range x {
						x[i] = math.Float32frombits(uint32(bits))
						bits += step
					}
					f.f(y, x)
					for i, v := range x {
						if u := ulps(y[i], f.plain(float64(v))); u > worst {
							worst, at = u, v
						}
					}
				}
				t.Logf("at most %.3f ulp, at %v", worst, at)
				if worst > f.bound {
					t.Errorf("%.3f ulp at %v, want at most %v", worst, at, f.bound)
				}
			})
		})
	}
}

func TestFunctionsSpecial(t *testing.T) {
	negZero := float32(math.Copysign(0, -1))
	for _, f := range functions {
		forEachVariant(t, func(t *testing.T) {
			x := []float32{nan, inf, -inf, 0, negZero, 1, -1, 88.7, 88.8, -87.4, -103.9, -104.1, 1e30, -1e30, 1e-40, -1e-40, 0.625, -0.625}
			y := make([]float32, len(x))
			f.f(y, x)
			for i, v := range x {
				want := f.plain(float64(v))
				if u := ulps(y[i], want); u > f.bound || math.Signbit(float64(y[i])) != math.Signbit(want) && v == v {
					t.Errorf("%s(%v) = %v, want %v", f.name, v, y[i], want)
				}
			}
		})
	}
}

// A value does not depend on where it lies, nor on what lies beside it.
func TestFunctionsAnywhere(t *testing.T) {
	r := newRand()
	all := random(r, 300)
	for i := range all {
		all[i] *= 4
	}
	for _, f := range functions {
		forEachVariant(t, func(t *testing.T) {
			want := make([]float32, len(all))
			f.f(want, all)
			for _, n := range lengths {
				for off := range 17 {
					y := newGuarded(n)
					f.f(y.x, all[off:off+n])
					if !slices.Equal(y.x, want[off:off+n]) {
						t.Fatalf("%s: %d values from %d on differ from those of the whole", f.name, n, off)
					}
					y.check(t, f.name, func(int) bool { return true })
					same := slices.Clone(all[off : off+n])
					f.f(same, same)
					if !slices.Equal(same, want[off:off+n]) {
						t.Fatalf("%s in place: %d values from %d on differ", f.name, n, off)
					}
				}
			}
		})
	}
	for _, f := range functions {
		mustPanic(t, f.name, func() { f.f(make([]float32, 3), make([]float32, 4)) })
	}
}

func BenchmarkFunctions(b *testing.B) {
	r := newRand()
	x, y := random(r, 4096), make([]float32, 4096)
	for _, f := range functions {
		benchValues(b, f.name+"/n=4096", len(x), func() { f.f(y, x) })
		benchValues(b, f.name+"/n=100", 100, func() { f.f(y[:100], x[:100]) })
	}
}
