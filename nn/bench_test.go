package nn

import (
	"fmt"
	"testing"
	"time"
)

// The shapes of the paper's collections: w = average number of nodes, k = 10,
// one discrete channel.
var benchShapes = []struct {
	name string
	s    Shape
}{
	{"MUTAG", Shape{W: 18, K: 10, Cats: []int{7}, Classes: 2}},
	{"NCI1", Shape{W: 30, K: 10, Cats: []int{37}, Classes: 2}},
	{"DD", Shape{W: 284, K: 10, Cats: []int{89}, Classes: 2}},
}

// go test ./nn -run '^$' -bench 'BenchmarkTrain/MUTAG/B=32$' -cpu 1
func BenchmarkTrain(b *testing.B) {
	benchmark(b, func(c *CNN, in batch, _ []float32) error {
		_, err := c.step(in)
		return err
	})
}

func BenchmarkInfer(b *testing.B) {
	benchmark(b, func(c *CNN, in batch, p []float32) error { return c.predict(p, in) })
}

func benchmark(b *testing.B, run func(c *CNN, in batch, p []float32) error) {
	for _, shape := range benchShapes {
		for _, size := range []struct {
			name string
			rows int
		}{{"B=32", 32}, {"B=128", 128}} {
			b.Run(shape.name+"/"+size.name, func(b *testing.B) {
				c := new(CNN)
				if err := c.Init(shape.s); err != nil {
					b.Fatal(err)
				}
				// Several batches, or the branch predictor learns the data.
				var in []batch
				for i := range 8 {
					in = append(in, randomBatch(shape.s, size.rows, uint64(i)))
				}
				p := make([]float32, size.rows*shape.s.Classes)
				b.ReportAllocs()
				n := 0
				for b.Loop() {
					if err := run(c, in[n%len(in)], p); err != nil {
						b.Fatal(err)
					}
					n++
				}
				b.ReportMetric(float64(n*size.rows)/b.Elapsed().Seconds(), "examples/s")
			})
		}
	}
}

// The same steps by one goroutine and by two, a round each in turn, so that
// both see the same machine. speedup is what the second gains.
//
//	go test ./nn -run '^$' -bench BenchmarkTrainWorkers -cpu 2
func BenchmarkTrainWorkers(b *testing.B) {
	for _, shape := range benchShapes {
		for _, rows := range []int{128, 256} {
			b.Run(fmt.Sprintf("%s/B=%d", shape.name, rows), func(b *testing.B) {
				var nets [2]*CNN
				for i := range nets {
					nets[i] = &CNN{Workers: i + 1}
					if err := nets[i].Init(shape.s); err != nil {
						b.Fatal(err)
					}
				}
				in := randomBatch(shape.s, rows, 1)
				steps := 1 + 40_000/(rows*shape.s.W) // of a round
				var seconds, best [2]float64
				n := 0
				for b.Loop() {
					n++
					for i, net := range nets {
						start := time.Now()
						for range steps {
							if _, err := net.step(in); err != nil {
								b.Fatal(err)
							}
						}
						s := time.Since(start).Seconds()
						if seconds[i] += s; best[i] == 0 || s < best[i] {
							best[i] = s
						}
					}
				}
				if nets[0].Hash() != nets[1].Hash() {
					b.Fatal("the weights depend on the number of workers")
				}
				all := float64(n * steps * rows)
				b.ReportMetric(all/seconds[0], "examples/s:1")
				b.ReportMetric(all/seconds[1], "examples/s:2")
				b.ReportMetric(seconds[0]/seconds[1], "speedup")
				b.ReportMetric(best[0]/best[1], "speedup:best")
			})
		}
	}
}
