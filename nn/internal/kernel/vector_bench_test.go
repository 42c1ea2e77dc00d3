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

// The first layer: one field of k = 10 nodes, each with one of a = 37 labels.
func BenchmarkGatherAdd(b *testing.B) {
	r := newRand()
	for _, c := range []int{8, 16, 128} {
		table, dst := random(r, 370*c), make([]float32, c)
		idx := make([]int32, 10)
		for j := range idx {
			idx[j] = int32(37*j + r.IntN(37))
		}
		benchValues(b, fmt.Sprintf("c=%d,n=10", c), 10*c, func() { GatherAdd(dst, c, table, idx) })
	}
}

func BenchmarkScatterAdd(b *testing.B) {
	r := newRand()
	for _, c := range []int{8, 16, 128} {
		table, src := random(r, 370*c), make([]float32, c)
		idx := make([]int32, 10)
		for j := range idx {
			idx[j] = int32(37*j + r.IntN(37))
		}
		benchValues(b, fmt.Sprintf("c=%d,n=10", c), 10*c, func() { ScatterAdd(table, c, idx, src) })
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
