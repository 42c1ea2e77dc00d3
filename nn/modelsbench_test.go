package nn

import "testing"

// A step of 32 rows of each model: the paper's merged network, the others, and
// nodes with the words of Cora.
//
//	go test ./nn -run '^$' -bench BenchmarkTrainModels -cpu 1
func BenchmarkTrainModels(b *testing.B) {
	mutag := Shape{W: 18, K: 10, Cats: []int{7}, Classes: 2}
	bonds := mutag
	bonds.EdgeCats = []int{4}
	for _, bench := range []struct {
		name  string
		s     Shape
		new   func() Model
		words int // values of the sparse channel that a node has
	}{
		{"CNN,edges/w=18,k=10", bonds, func() Model { return &CNN{} }, 0},
		{"PSLR/w=18,k=10", mutag, func() Model { return &PSLR{} }, 0},
		{"GRU/w=18,k=10", mutag, func() Model { return &GRU{} }, 0},
		{"CNN,sparse=1433/w=1,k=20", Shape{W: 1, K: 20, Sparse: 1433, Classes: 7}, func() Model { return &CNN{} }, 18},
	} {
		b.Run(bench.name, func(b *testing.B) {
			m := bench.new()
			if err := m.Init(bench.s); err != nil {
				b.Fatal(err)
			}
			c := learnerOf(m)
			var in []batch
			for i := range 8 {
				s := bench.s
				s.Sparse = 0 // randomBatch fills a quarter of it
				x := randomBatch(s, 32, uint64(i))
				// A ring has one edge in ten of a field; most pairs have none.
				for j := range x.edges.Cats {
					if j%10 != 0 {
						x.edges.Cats[j] = -1
					}
				}
				if bench.words > 0 {
					r := newRand(uint64(i))
					x.nodes.Offsets = []int32{0}
					for range 32 * s.W * s.K {
						v := int32(0)
						for range bench.words {
							v += 1 + r.Int32N(int32(bench.s.Sparse/bench.words-1))
							x.nodes.Sparse = append(x.nodes.Sparse, v)
						}
						x.nodes.Offsets = append(x.nodes.Offsets, int32(len(x.nodes.Sparse)))
					}
				}
				in = append(in, x)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if _, err := c.step(in[n%len(in)]); err != nil {
					b.Fatal(err)
				}
				n++
			}
			b.ReportMetric(float64(n*32)/b.Elapsed().Seconds(), "examples/s")
		})
	}
}
