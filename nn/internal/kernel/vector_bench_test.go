package kernel

import (
	"fmt"
	"testing"
)

// benchValues measures every variant of f, which goes over n values.
func benchValues(b *testing.B, name string, n int, f func()) {
	for _, v := range variants() {
		b.Run(name+"/"+v.String(), func(b *testing.B) {
			use(v)
			defer use(best)
			for b.Loop() {
				f()
			}
			b.ReportMetric(1e3*float64(n)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "Mvalues/s")
		})
	}
}

var benchRows = [][2]int{{21, 8}, {8800, 8}, {960, 16}, {32, 128}}

func BenchmarkBiasReLU(b *testing.B) {
	r := newRand()
	for _, s := range benchRows {
		x, bias := random(r, s[0]*s[1]), make([]float32, s[1])
		benchValues(b, fmt.Sprintf("rows=%d,c=%d", s[0], s[1]), len(x), func() { BiasReLU(x, s[0], s[1], bias) })
	}
}

func BenchmarkAddBiasGrad(b *testing.B) {
	r := newRand()
	for _, s := range benchRows {
		dy, db := random(r, s[0]*s[1]), make([]float32, s[1])
		benchValues(b, fmt.Sprintf("rows=%d,c=%d", s[0], s[1]), len(dy), func() { AddBiasGrad(db, dy, s[0], s[1]) })
	}
}

func BenchmarkReLUGrad(b *testing.B) {
	r := newRand()
	for _, n := range []int{168, 4096, 70400} {
		y, dy := random(r, n), random(r, n)
		benchValues(b, fmt.Sprintf("n=%d", n), n, func() { ReLUGrad(dy, y) })
	}
}

func BenchmarkAxpy(b *testing.B) {
	r := newRand()
	for _, n := range []int{128, 4096} {
		x, y := random(r, n), random(r, n)
		benchValues(b, fmt.Sprintf("n=%d", n), n, func() { Axpy(1e-9, x, y) })
	}
}

func BenchmarkDot(b *testing.B) {
	r := newRand()
	for _, n := range []int{128, 4096} {
		x, y := random(r, n), random(r, n)
		var sum float32
		benchValues(b, fmt.Sprintf("n=%d", n), n, func() { sum += Dot(x, y) })
	}
}

func BenchmarkSoftmaxCE(b *testing.B) {
	r := newRand()
	for _, c := range []int{2, 11} {
		const rows = 32
		x, grad, target := random(r, rows*c), make([]float32, rows*c), make([]int32, rows)
		benchValues(b, fmt.Sprintf("rows=%d,c=%d", rows, c), rows*c, func() { SoftmaxCE(x, rows, c, target, grad, 1) })
	}
}
