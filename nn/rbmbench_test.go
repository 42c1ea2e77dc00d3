package nn

import (
	"fmt"
	"testing"

	"gorgonia.org/tensor"
)

// Fields of 9 nodes as 81 binary units, 100 hidden units, CD-1:
//
//	go test ./nn -run '^$' -bench BenchmarkRBM -cpu 1
//
// testdata/rbm.py does the same in numpy. On one core with AVX2, in thousands
// of rows a second of processor time, in turn on a busy machine:
//
//	           numpy 1.24, OpenBLAS   here
//	batch=10                   171     543
//	batch=100                  460     703
func BenchmarkRBM(b *testing.B) {
	for _, rows := range []int{10, 100} {
		b.Run(fmt.Sprintf("batch=%d", rows), func(b *testing.B) {
			r := &RBM{Seed: 1}
			if err := r.Init(81); err != nil {
				b.Fatal(err)
			}
			// Several batches, or the branch predictor learns the data.
			var in []*tensor.Dense
			for i := range 8 {
				in = append(in, randomRows(rows, 81, uint64(i)))
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if _, err := r.Step(in[n%len(in)]); err != nil {
					b.Fatal(err)
				}
				n++
			}
			b.ReportMetric(float64(n*rows)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// randomRows returns rows whose units are 1 with probability 0.3.
func randomRows(rows, n int, seed uint64) *tensor.Dense {
	r, x := newRand(seed), make([]float32, rows*n)
	for i := range x {
		if r.Float64() < 0.3 {
			x[i] = 1
		}
	}
	return tensor.New(tensor.WithShape(rows, n), tensor.WithBacking(x))
}
