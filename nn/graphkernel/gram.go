package graphkernel

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/sanflow/sanflow/internal/pool"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// Gram is a symmetric matrix of similarities.
type Gram struct {
	N int
	K []float64 // (N, N), row-major
}

// Row returns row i, which borrows g.
func (g *Gram) Row(i int) []float64 { return g.K[i*g.N : (i+1)*g.N : (i+1)*g.N] }

// Check reports a matrix that is not symmetric or has values that are not
// finite. O(N²).
func (g *Gram) Check() error {
	if g.N < 0 || len(g.K) != g.N*g.N {
		return fmt.Errorf("graphkernel: gram: %d values, want %d × %d", len(g.K), g.N, g.N)
	}
	for i := range g.N {
		for j, x := range g.Row(i)[:i+1] {
			switch y := g.K[j*g.N+i]; {
			case !kernel.Finite(x):
				return fmt.Errorf("graphkernel: gram: the value of %d and %d is %v", i, j, x)
			case !kernel.Finite(y):
				return fmt.Errorf("graphkernel: gram: the value of %d and %d is %v", j, i, y)
			case math.Abs(x-y) > 1e-9*(1+math.Abs(x)):
				return fmt.Errorf("graphkernel: gram: not symmetric: %v for %d and %d, %v for %d and %d", x, i, j, y, j, i)
			}
		}
	}
	return nil
}

// Normalize scales g to a diagonal of ones, the cosine of the compared features. Rows whose diagonal is not
// positive become 0.
func (g *Gram) Normalize() {
	scale := make([]float64, g.N)
	for i := range scale {
		if d := g.K[i*g.N+i]; d > 0 {
			scale[i] = 1 / math.Sqrt(d)
		}
	}
	for i := range g.N {
		for j, x := range g.Row(i) {
			g.K[i*g.N+j] = x * scale[i] * scale[j]
		}
		if scale[i] > 0 {
			g.K[i*g.N+i] = 1
		}
	}
}

// GramOf compares all rows of c with each other on that many goroutines, 0 = 1, with equal results. It visits
// the pairs of rows that share an id: O(Σ over ids of the square of the rows with the id), and 8·n² bytes.
// Sums are over ascending ids, so the matrix is symmetric.
func GramOf(ctx context.Context, c *nn.Counts, s nn.Similarity, workers int) (*Gram, error) {
	if err := checkSimilarity(s); err != nil {
		return nil, err
	}
	if err := checkCounts(s, c); err != nil {
		return nil, err
	}
	p := newPostings(c)
	var l []float64
	if s == nn.Cosine {
		l = lengths(c, s)
	}
	n := c.Len()
	g := &Gram{N: n, K: make([]float64, n*n)}
	err := pool.Each(ctx, max(1, workers), n, func(_ context.Context, _, i int) error {
		ids, values := c.Row(i)
		row := g.Row(i)
		p.compare(ids, values, s == nn.Min, row)
		if s == nn.Cosine {
			scaleCosine(row, l[i], l)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return g, nil
}

// scaleCosine converts the products k of a row with all rows to cosines. one is the length of the row, and
// all has the lengths of all rows.
func scaleCosine(k []float64, one float64, all []float64) {
	for j, l := range all {
		if l *= one; l > 0 {
			k[j] /= l
		}
	}
}

func lengths(c *nn.Counts, s nn.Similarity) []float64 {
	l := make([]float64, c.Len())
	for i := range l {
		_, values := c.Row(i)
		l[i] = math.Sqrt(self(s, values))
	}
	return l
}

// postings lists for each id the rows that have it.
type postings struct {
	at     map[uint64]int32 // index of an id in ends
	ends   []int
	rows   []int32
	values []float64
}

func newPostings(c *nn.Counts) *postings {
	p := &postings{at: make(map[uint64]int32), rows: make([]int32, len(c.IDs)), values: make([]float64, len(c.IDs))}
	slot := make([]int32, len(c.IDs))
	var n []int
	for i, id := range c.IDs {
		s, ok := p.at[id]
		if !ok {
			s = int32(len(n))
			p.at[id] = s
			n = append(n, 0)
		}
		slot[i] = s
		n[s]++
	}
	p.ends = make([]int, len(n)+1)
	for i, k := range n {
		p.ends[i+1] = p.ends[i] + k
	}
	next := slices.Clone(p.ends[:len(n)])
	for row := range c.Len() {
		for i := c.Offsets[row]; i < c.Offsets[row+1]; i++ {
			at := &next[slot[i]]
			p.rows[*at], p.values[*at] = int32(row), c.Values[i]
			*at++
		}
	}
	return p
}

// compare adds the similarities of a row to all rows to out.
func (p *postings) compare(ids []uint64, values []float64, least bool, out []float64) {
	for j, id := range ids {
		s, ok := p.at[id]
		if !ok {
			continue
		}
		rows, with := p.rows[p.ends[s]:p.ends[s+1]], p.values[p.ends[s]:p.ends[s+1]]
		x := values[j]
		if least {
			for i, row := range rows {
				out[row] += min(x, with[i])
			}
			continue
		}
		for i, row := range rows {
			out[row] += x * with[i]
		}
	}
}
