package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// variants are those that this machine and build can run.
func variants() []variant {
	if best == neon { // chosen when it was built, as the plain loops are by -tags noasm
		return []variant{neon}
	}
	var vs []variant
	for v := generic; v <= best; v++ {
		vs = append(vs, v)
	}
	return vs
}

// forEachVariant runs f once with every variant in use.
func forEachVariant(t *testing.T, f func(t *testing.T)) {
	for _, v := range variants() {
		t.Run(v.String(), func(t *testing.T) {
			use(v)
			defer use(best)
			f(t)
		})
	}
}

// lengths straddle the 4 and 8 values of a register, and the values of four registers.
var lengths = []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 100, 129}

const guard = -1234.5 // what surrounds every output, and must stay

// guarded is a slice of n values, off by one from any alignment, between
// guards.
type guarded struct {
	all []float32
	x   []float32
}

const margin = 33

func newGuarded(n int) guarded {
	all := make([]float32, n+2*margin)
	for i := range all {
		all[i] = guard
	}
	return guarded{all, all[margin : margin+n : margin+n]}
}

// check fails the test when a value outside x changed, or one inside x that
// inside rejects.
func (g guarded) check(t *testing.T, name string, inside func(i int) bool) {
	t.Helper()
	for i, v := range g.all {
		if j := i - margin; (j < 0 || j >= len(g.x) || !inside(j)) && v != guard {
			t.Fatalf("%s: value %d beside the output (0 to %d) became %v", name, j, len(g.x)-1, v)
		}
	}
}

func all(int) bool { return true }

func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n+1)[1:] // not aligned
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// close compares values that are sums of terms products of standard normals.
func closeTo(got, want float32, terms int) bool {
	if got == want {
		return true
	}
	if got != got || want != want {
		return got != got && want != want
	}
	tol := 1e-5 * (1 + math.Sqrt(float64(terms)))
	return math.Abs(float64(got)-float64(want)) <= tol
}

func compare(t *testing.T, name string, got, want []float32, terms int) {
	t.Helper()
	for i := range want {
		if !closeTo(got[i], want[i], terms) {
			t.Fatalf("%s: value %d is %v, want %v", name, i, got[i], want[i])
		}
	}
}

// mustPanic checks that f panics with a message of this package.
func mustPanic(t *testing.T, name string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if s := fmt.Sprint(recover()); len(s) < 7 || s[:7] != "kernel:" {
			t.Errorf("%s: recovered %q, want a kernel: panic", name, s)
		}
	}()
	f()
}
