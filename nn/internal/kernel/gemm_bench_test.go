package kernel

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// conv marks the shapes whose rows of A (of C, for GemmNT) overlap.
type benchShape struct {
	m, k, n int
	conv    bool
}

var benchShapes = []benchShape{
	{21, 160, 8, true}, // second convolution, one graph of 30 fields
	{275, 160, 8, true},
	{4096, 160, 8, true},
	{4096, 70, 16, false},
	{32, 72, 128, false}, // dense layer, batch 32
	{32, 168, 128, false},
	{32, 2200, 128, false},
	{128, 2200, 128, false},
	{32, 128, 2, false}, // output layer
	{32, 128, 11, false},
	{10, 81, 100, false}, // RBM
	{100, 81, 100, false},
	{512, 512, 512, false},
}

// benchProduct measures every variant, also as a share of what the multipliers
// can do, and gonum's Sgemm of equal shape. gonum
// has no overlapping rows, so it gets a convolution's input laid out already.
func benchProduct(b *testing.B, p product, transA, transB blas.Transpose) {
	r := newRand()
	for _, s := range benchShapes {
		ar, ac, br, bc, cr, cc, _ := p.shape(s.m, s.n, s.k)
		x, y, z := random(r, ar*ac), random(r, br*bc), random(r, cr*cc)
		lda, ldc, acc := ac, cc, p.name != "Gemm"
		if s.conv && p.name == "GemmNT" {
			ldc = 16
		} else if s.conv {
			lda = 16
		}
		run := func(b *testing.B, peak float64, f func()) {
			for b.Loop() {
				f()
			}
			flop := 2 * float64(s.m) * float64(s.n) * float64(s.k)
			speed := flop * float64(b.N) / float64(b.Elapsed().Nanoseconds())
			b.ReportMetric(speed, "GFLOP/s")
			if peak > 0 {
				b.ReportMetric(100*speed/peak, "%peak")
			}
		}
		name := fmt.Sprintf("M=%d,K=%d,N=%d/", s.m, s.k, s.n)
		for _, v := range variants() {
			b.Run(name+v.String(), func(b *testing.B) {
				use(v)
				defer use(best)
				run(b, peak(v), func() { p.fast(s.m, s.n, s.k, x, lda, y, bc, z, ldc, acc) })
			})
		}
		b.Run(name+"gonum", func(b *testing.B) {
			terms, beta := ac, float32(0)
			if transA == blas.Trans {
				terms = ar
			}
			if acc {
				beta = 1
			}
			run(b, 0, func() {
				gonum.Implementation{}.Sgemm(transA, transB, cr, cc, terms, 1, x, ac, y, bc, beta, z, cc)
			})
		})
	}
}

func BenchmarkGemm(b *testing.B)   { benchProduct(b, products[0], blas.NoTrans, blas.NoTrans) }
func BenchmarkGemmTN(b *testing.B) { benchProduct(b, products[1], blas.Trans, blas.NoTrans) }
func BenchmarkGemmNT(b *testing.B) { benchProduct(b, products[2], blas.NoTrans, blas.Trans) }
