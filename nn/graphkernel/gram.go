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
// Sums are over ascending ids, so the matrix is symmetric. A row that s cannot compare is an *nn.RowError.
func GramOf(ctx context.Context, c *nn.Counts, s nn.Similarity, workers int) (*Gram, error) {
	if s != nn.Linear && s != nn.Cosine && s != nn.Min {
		return nil, fmt.Errorf("graphkernel: the similarity is %q, want %q, %q or %q", s, nn.Linear, nn.Cosine, nn.Min)
	}
	if err := c.Check(); err != nil {
		return nil, err
	}
	n := c.Len()
	length := make([]float64, n) // length of each row as a vector, for Cosine
	for i := range length {
		ids, values := c.Row(i)
		same, err := self(s, ids, values)
		if err != nil {
			return nil, &nn.RowError{Row: i, Err: err}
		}
		length[i] = math.Sqrt(same)
	}
	postings := postingsOf(c)
	g := &Gram{N: n, K: make([]float64, n*n)}
	err := pool.Each(ctx, max(1, workers), n, func(_ context.Context, _, i int) error {
		row, from, to := g.Row(i), c.Offsets[i], c.Offsets[i+1]
		compare(c.Values[from:to], postings[from:to], s == nn.Min, row)
		if s == nn.Cosine {
			for j, l := range length {
				if l *= length[i]; l > 0 {
					row[j] /= l
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return g, nil
}

// self returns the similarity of a row to itself, for the cosine without scaling, or why the row cannot be compared.
func self(s nn.Similarity, ids []uint64, values []float64) (sum float64, err error) {
	for j, x := range values {
		switch {
		case s != nn.Min:
			sum += x * x
		case x < 0:
			return 0, fmt.Errorf("the count of %#x is %v, and min wants none below 0", ids[j], x)
		default:
			sum += x
		}
	}
	const normal = 0x1p-1022 // the smallest normal number
	switch {
	case !kernel.Finite(sum):
		err = fmt.Errorf("counts too large to compare: the similarity of the row to itself is %v", sum)
	case s == nn.Cosine && sum < normal && slices.ContainsFunc(values, func(x float64) bool { return x != 0 }):
		err = fmt.Errorf("counts too small to compare: the similarity of the row to itself is %v", sum)
	}
	return sum, err
}

// posting is the rows that have an id, ascending, and their counts of it.
type posting struct {
	rows   []int32
	values []float64
}

// postingsOf returns for each entry of c the posting of its id.
func postingsOf(c *nn.Counts) []*posting {
	all, byID := make([]*posting, len(c.IDs)), map[uint64]*posting{}
	for row := range c.Len() {
		for i := c.Offsets[row]; i < c.Offsets[row+1]; i++ {
			p := byID[c.IDs[i]]
			if p == nil {
				p = new(posting)
				byID[c.IDs[i]] = p
			}
			p.rows, p.values = append(p.rows, int32(row)), append(p.values, c.Values[i])
			all[i] = p
		}
	}
	return all
}

// compare adds the similarities of a row to all rows to out. values are its counts, with has the postings of their ids, and least selects Min.
// The inner loops take 1.4 times as long where the compiler inlines compare into the function of GramOf.
//
//go:noinline
func compare(values []float64, with []*posting, least bool, out []float64) {
	for j, x := range values {
		rows, others := with[j].rows, with[j].values
		if least {
			for i, row := range rows {
				out[row] += min(x, others[i])
			}
			continue
		}
		for i, row := range rows {
			out[row] += x * others[i]
		}
	}
}
