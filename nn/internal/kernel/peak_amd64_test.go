//go:build !noasm

package kernel

import (
	"sync"
	"testing"
	"time"
)

// multiplyAll runs the tallest tile over one row of A and B that never leaves
// the first-level cache, and returns the operations that took.
func multiplyAll(x *[64]float32) float64 {
	const l = 4096
	panel2SIMD(tallest[2], 1, l, &x[0], 0, 0, &x[0], 0, regLanes, &x[32], 0, false)
	return float64(2 * l * tallest[2] * 2 * regLanes)
}

// peak is what the multipliers of this machine can do, in GFLOP/s: the best of a
// few tries.
func peak(v variant) float64 {
	if v == generic {
		return 0
	}
	return measured()
}

var measured = sync.OnceValue(func() (best float64) {
	var x [64]float32
	for range 200 {
		start := time.Now()
		var flop float64
		for range 10 {
			flop += multiplyAll(&x)
		}
		best = max(best, flop/float64(time.Since(start).Nanoseconds()))
	}
	return best
})

func BenchmarkPeak(b *testing.B) {
	if best == generic {
		b.Skip("this processor has no AVX2")
	}
	var x [64]float32
	var flop float64
	for b.Loop() {
		flop += multiplyAll(&x)
	}
	b.ReportMetric(flop/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
}
