//go:build !noasm

package kernel

import (
	"sync"
	"testing"
	"time"
)

// multiplyAll runs the tallest tile over one row of A and B that never leaves
// the first-level cache, and returns the operations that took.
func multiplyAll(v variant, x *[64]float32) float64 {
	const l = 4096
	switch v {
	case avx2:
		panel16AVX2(rows2AVX2, 1, l, &x[0], 0, 0, &x[0], 0, 8, &x[0], 0, false)
		return 2 * l * rows2AVX2 * 16
	case avx512:
		panel32AVX512(rows2AVX512, 1, l, &x[0], 0, 0, &x[0], 0, 16, &x[32], 0, false)
		return 2 * l * rows2AVX512 * 32
	}
	return 0
}

// peak is what the multipliers of this machine can do, in GFLOP/s: the best of a
// few tries.
func peak(v variant) float64 { return peaks[v]() }

var peaks = [...]func() float64{generic: func() float64 { return 0 }, avx2: measured(avx2), avx512: measured(avx512)}

func measured(v variant) func() float64 {
	return sync.OnceValue(func() (best float64) {
		var x [64]float32
		for range 200 {
			start := time.Now()
			var flop float64
			for range 10 {
				flop += multiplyAll(v, &x)
			}
			best = max(best, flop/float64(time.Since(start).Nanoseconds()))
		}
		return best
	})
}

func BenchmarkPeak(b *testing.B) {
	for _, v := range variants()[1:] {
		b.Run(v.String(), func(b *testing.B) {
			var x [64]float32
			var flop float64
			for b.Loop() {
				flop += multiplyAll(v, &x)
			}
			b.ReportMetric(flop/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		})
	}
}
