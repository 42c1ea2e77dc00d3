//go:build !noasm

package kernel

import "testing"

// BenchmarkPeak is what the multipliers of this machine can do: the tallest
// tile, over one row of A and B that never leaves the first-level cache.
func BenchmarkPeak(b *testing.B) {
	const l = 4096
	var x [64]float32
	run := func(b *testing.B, rows, cols int, f func()) {
		for b.Loop() {
			f()
		}
		b.ReportMetric(2*l*float64(rows*cols)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
	}
	if best >= avx2 {
		b.Run("avx2", func(b *testing.B) {
			run(b, rows2AVX2, 16, func() {
				panel16AVX2(rows2AVX2, 1, l, &x[0], 0, 0, &x[0], 0, 8, &x[0], 0, false)
			})
		})
	}
	if best >= avx512 {
		b.Run("avx512", func(b *testing.B) {
			run(b, rows2AVX512, 32, func() {
				panel32AVX512(rows2AVX512, 1, l, &x[0], 0, 0, &x[0], 0, 16, &x[32], 0, false)
			})
		})
	}
}
