package graphkernel

import (
	"math"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// common is the things that many rows have, as matrices: adding up their products
// by a matrix product costs a fraction of going from row to row, though it
// multiplies many zeros. They are float32, and so only where that is exact in any
// order: all counts are whole, those of rare things too, and no sum of products
// leaves the whole numbers that float32 has, or float64 where rare things are added.
// The result is the same, bit by bit.
type common struct {
	of       []bool // by slot of the postings
	n        int
	row, col []float32 // (rows of x, n) and (n, rows of c)
	cols     int
}

// commonRows is how many rows are multiplied at once.
const commonRows = 32

// newCommon returns nil where nothing is gained.
func newCommon(x, c *nn.Counts, p *postings) *common {
	// A multiplication of the kernels costs a sixteenth of one by postings, and in
	// plain Go about as much (BenchmarkGramOf).
	const ratio = 16
	if kernel.Variant() == "generic" {
		return nil
	}
	m := &common{of: make([]bool, len(p.ends)-1), cols: c.Len()}
	place := make([]int32, len(m.of))
	for s := range m.of {
		if ratio*(p.ends[s+1]-p.ends[s]) > c.Len() {
			m.of[s], place[s] = true, int32(m.n)
			m.n++
		}
	}
	if m.n < 4 || c.Len() < 128 {
		return nil
	}
	m.row, m.col = make([]float32, x.Len()*m.n), make([]float32, m.n*m.cols)
	var most, mostAll [2]float64 // squared lengths, of what is common and of all
	for k, rows := range []*nn.Counts{x, c} {
		for i := range rows.Len() {
			square, all := 0.0, 0.0
			ids, values := rows.Row(i)
			for j, id := range ids {
				v := values[j]
				if v != math.Trunc(v) {
					return nil
				}
				all += v * v
				s, ok := p.at[id]
				if !ok || !m.of[s] {
					continue
				}
				square += v * v
				if k == 0 {
					m.row[i*m.n+int(place[s])] = float32(v)
				} else {
					m.col[int(place[s])*m.cols+i] = float32(v)
				}
			}
			most[k], mostAll[k] = max(most[k], square), max(mostAll[k], all)
		}
	}
	// Cauchy and Schwarz: sums of what is common are below 2²⁴, of all below 2⁵³.
	if !(most[0]*most[1] < 1<<48) || !(mostAll[0]*mostAll[1] < 1<<106) {
		return nil
	}
	return m
}

// multiply writes the sums of rows from to to, at most commonRows, to out, (to −
// from, cols). room has as many numbers.
func (m *common) multiply(from, to int, room []float32, out []float64) {
	rows := to - from
	kernel.Gemm(rows, m.cols, m.n, m.row[from*m.n:to*m.n], m.n, m.col, m.cols, room, m.cols, false)
	for i, x := range room[:rows*m.cols] {
		out[i] = float64(x)
	}
}
