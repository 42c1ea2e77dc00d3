package nn

import (
	"math"
	"math/rand/v2"
)

// The network as one would write it on a board: float64, one-hot inputs, one
// sum per output. It shares nothing with the layers but the names of weights.

type reference struct {
	s    Shape
	c    *CNN
	w    map[string][]float64
	mask []float64 // dropout, (B, hidden); nil for none
}

func newReference(c *CNN) *reference {
	r := &reference{s: c.shape, c: c, w: make(map[string][]float64)}
	for _, t := range c.work.List {
		x := make([]float64, len(t.W))
		for i, v := range t.W {
			x[i] = float64(v)
		}
		r.w[t.Name] = x
	}
	return r
}

// oneHot returns node (f, p) of graph i as a_v values, discrete channels
// first.
func (r *reference) oneHot(b batch, i, f, p int) []float64 {
	d, c := len(r.s.Cats), r.s.Attrs
	node := (i*r.s.W+f)*r.s.K + p
	var x []float64
	for j, n := range r.s.Cats {
		hot := make([]float64, n)
		if v := b.nodes.Cats[node*d+j]; v >= 0 {
			hot[v] = 1
		}
		x = append(x, hot...)
	}
	for j := range c {
		x = append(x, float64(b.nodes.Attrs[node*c+j]))
	}
	return x
}

// filter returns the weight of channel ch of node p in the first layer, as
// if discrete and continuous channels were one matrix.
func (r *reference) filter(p, ch, m int) float64 {
	total := 0
	for _, n := range r.s.Cats {
		total += n
	}
	if ch < total {
		return r.w["conv1.table"][(p*total+ch)*r.c.Maps1+m]
	}
	return r.w["conv1.weight"][(p*r.s.Attrs+ch-total)*r.c.Maps1+m]
}

func (r *reference) conv1(b batch, i int) [][]float64 {
	y := make([][]float64, r.s.W)
	for f := range y {
		y[f] = make([]float64, r.c.Maps1)
		for m := range y[f] {
			sum := r.w["conv1.bias"][m]
			for p := range r.s.K {
				for ch, x := range r.oneHot(b, i, f, p) {
					sum += x * r.filter(p, ch, m)
				}
			}
			y[f][m] = math.Max(sum, 0)
		}
	}
	return y
}

func (r *reference) conv2(x [][]float64) []float64 {
	size := min(r.c.Size2, r.s.W)
	var y []float64
	for step := 0; step+size <= len(x); step++ {
		for m := range r.c.Maps2 {
			sum := r.w["conv2.bias"][m]
			for j := range size {
				for ch, v := range x[step+j] {
					sum += v * r.w["conv2.weight"][(j*r.c.Maps1+ch)*r.c.Maps2+m]
				}
			}
			y = append(y, math.Max(sum, 0))
		}
	}
	return y
}

func (r *reference) dense(name string, x []float64) []float64 {
	y := make([]float64, len(r.w[name+".bias"]))
	for j := range y {
		y[j] = r.w[name+".bias"][j]
		for i, v := range x {
			y[j] += v * r.w[name+".weight"][i*len(y)+j]
		}
	}
	return y
}

func (r *reference) logits(b batch, i int) []float64 {
	h := r.dense("hidden", r.conv2(r.conv1(b, i)))
	for j := range h {
		h[j] = math.Max(h[j], 0)
		if r.mask != nil {
			h[j] *= r.mask[i*len(h)+j]
		}
	}
	return r.dense("out", h)
}

func (r *reference) loss(b batch) float64 {
	var loss float64
	for i, t := range b.targets {
		x := r.logits(b, i)
		var sum float64
		for _, v := range x {
			sum += math.Exp(v)
		}
		loss += math.Log(sum) - x[t]
	}
	return loss / float64(b.rows)
}

// randomBatch draws values that are real, missing and repeated.
func randomBatch(s Shape, rows int, seed uint64) batch {
	r := rand.New(rand.NewPCG(seed, 99))
	b := batch{rows: rows}
	cells := rows * s.W * s.K
	b.nodes.Cats = randomCats(r, cells, s.Cats)
	b.nodes.Attrs = randomAttrs(r, cells*s.Attrs)
	b.edges.Cats = randomCats(r, cells*s.K, s.EdgeCats)
	b.edges.Attrs = randomAttrs(r, cells*s.K*s.EdgeAttrs)
	if s.Sparse > 0 {
		b.nodes.Offsets = make([]int32, cells+1)
		for i := range cells {
			for v := range int32(s.Sparse) {
				if r.IntN(4) == 0 {
					b.nodes.Sparse = append(b.nodes.Sparse, v)
				}
			}
			b.nodes.Offsets[i+1] = int32(len(b.nodes.Sparse))
		}
	}
	if len(s.Counts) > 0 {
		b.counts = new(Counts)
		for range rows {
			ids, values := []uint64(nil), []float64(nil)
			for id := range uint64(40) {
				if r.IntN(3) == 0 {
					ids, values = append(ids, id<<50), append(values, float64(1+r.IntN(5)))
				}
			}
			b.counts.Append(ids, values)
		}
	}
	if s.Classes == 0 {
		b.values = randomAttrs(r, rows)
		return b
	}
	b.targets = make([]int32, rows)
	for i := range b.targets {
		b.targets[i] = r.Int32N(int32(s.Classes))
	}
	return b
}

func randomCats(r *rand.Rand, cells int, cards []int) []int32 {
	x := make([]int32, cells*len(cards))
	for i := range x {
		x[i] = r.Int32N(int32(cards[i%len(cards)])+1) - 1
	}
	return x
}

func randomAttrs(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func smallBatch(rows int) batch { return randomBatch(small, rows, 1) }
