package nn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sanflow/sanflow/internal/pool"
)

// Counts is how often each of a set of things stands in each of n graphs, in
// compressed sparse rows. A thing is known by its id.
type Counts struct {
	// Offsets has length n+1: the things of row i are
	// IDs[Offsets[i]:Offsets[i+1]], strictly ascending.
	Offsets []int
	IDs     []uint64
	// Values holds the count of each, which need not be whole but must be finite
	// and, for [Min] and [UnitMin], not negative.
	Values []float64
}

// Len returns n, the number of rows.
func (c *Counts) Len() int { return max(0, len(c.Offsets)-1) }

// Row returns the ids of a row, ascending, and their counts. Both are borrowed.
func (c *Counts) Row(i int) (ids []uint64, values []float64) {
	from, to := c.Offsets[i], c.Offsets[i+1]
	return c.IDs[from:to:to], c.Values[from:to:to]
}

// part returns the rows from, up to to. It shares their memory, and its offsets do
// not begin at 0.
func (c *Counts) part(from, to int) *Counts {
	return &Counts{Offsets: c.Offsets[from : to+1], IDs: c.IDs, Values: c.Values}
}

// Append adds a row, which is copied.
func (c *Counts) Append(ids []uint64, values []float64) {
	if len(c.Offsets) == 0 {
		c.Offsets = append(c.Offsets, 0)
	}
	c.IDs = append(c.IDs, ids...)
	c.Values = append(c.Values, values...)
	c.Offsets = append(c.Offsets, len(c.IDs))
}

// Check reports the first way in which c breaks the rules above. O(values).
func (c *Counts) Check() error {
	row, err := c.check()
	switch {
	case err == nil:
		return nil
	case row < 0:
		return fmt.Errorf("nn: counts: %w", err)
	}
	return fmt.Errorf("nn: counts: row %d: %w", row, err)
}

// check returns the row that is wrong too, -1 where the whole is.
func (c *Counts) check() (row int, err error) {
	end := 0
	if len(c.Offsets) > 0 {
		end = c.Offsets[c.Len()]
	}
	if len(c.Offsets) > 0 && c.Offsets[0] != 0 || end != len(c.IDs) || end != len(c.Values) {
		return -1, fmt.Errorf("%d ids and %d values for offsets that end at %d", len(c.IDs), len(c.Values), end)
	}
	for i := range c.Len() {
		if from, to := c.Offsets[i], c.Offsets[i+1]; from > to || to > len(c.IDs) {
			return -1, fmt.Errorf("row %d from %d to %d, of %d", i, from, to, len(c.IDs))
		}
		ids, values := c.Row(i)
		for j, x := range values {
			switch {
			case !finite(x):
				return i, fmt.Errorf("the count of %#x is %v", ids[j], x)
			case j > 0 && ids[j] <= ids[j-1]:
				return i, errors.New("ids are not strictly ascending")
			}
		}
	}
	return 0, nil
}

// Similarity says how two rows of counts are compared. All are positive
// semi-definite kernels.
type Similarity string

const (
	Linear Similarity = "linear" // Σ xᵢyᵢ
	Cosine Similarity = "cosine" // Σ xᵢyᵢ of rows of unit length; 0 with a row of zeros
	// Min is Σ min(xᵢ, yᵢ), the intersection of histograms; of Weisfeiler–Lehman
	// colours it is their optimal assignment (Kriege, Giscard and Wilson, "On
	// valid optimal assignment kernels", 2016).
	Min Similarity = "min"
	// UnitMin is Min scaled as Cosine is: Σ min(xᵢ, yᵢ) / √(Σxᵢ·Σyᵢ), so that large
	// graphs weigh as much as small ones.
	UnitMin Similarity = "unit min"
)

func (s Similarity) check() error {
	if s != Linear && s != Cosine && s != Min && s != UnitMin {
		return fmt.Errorf("nn: the similarity is %q, want %q, %q, %q or %q", s, Linear, Cosine, Min, UnitMin)
	}
	return nil
}

// checkCounts returns an error unless the rows of c can be compared.
func (s Similarity) checkCounts(c *Counts) error {
	if err := c.Check(); err != nil {
		return err
	}
	for i := range c.Len() {
		if err := s.checkRow(c.Row(i)); err != nil {
			return fmt.Errorf("nn: counts: row %d: %w", i, err)
		}
	}
	return nil
}

// checkRow returns an error for a count below 0 where minima are added up, and for
// counts that are too large: no similarity is larger than those of both rows to
// themselves.
func (s Similarity) checkRow(ids []uint64, values []float64) error {
	for j, x := range values {
		if s.least() && x < 0 {
			return fmt.Errorf("the count of %#x is %v, and min wants none below 0", ids[j], x)
		}
	}
	if self := s.self(ids, values); !finite(self) {
		return fmt.Errorf("counts too large to compare: the similarity of the row to itself is %v", self)
	}
	return nil
}

// least reports whether minima are added up, not products.
func (s Similarity) least() bool { return s == Min || s == UnitMin }

// unit reports whether a row is 1 to itself.
func (s Similarity) unit() bool { return s == Cosine || s == UnitMin }

// length is the root of the similarity of a row to itself, not scaled.
func (s Similarity) length(values []float64) float64 {
	if !s.least() {
		return length(values)
	}
	sum := 0.0
	for _, x := range values {
		sum += x
	}
	return math.Sqrt(sum)
}

// Gram is a symmetric matrix of similarities.
type Gram struct {
	N int
	K []float64 // (N, N), row-major
}

// Row returns row i, borrowed.
func (g *Gram) Row(i int) []float64 { return g.K[i*g.N : (i+1)*g.N : (i+1)*g.N] }

// Check reports a matrix that is not symmetric or has values that are not
// finite. O(N²).
func (g *Gram) Check() error {
	if g.N < 0 || len(g.K) != g.N*g.N {
		return fmt.Errorf("nn: gram: %d values, want %d × %d", len(g.K), g.N, g.N)
	}
	for i := range g.N {
		for j, x := range g.Row(i)[:i+1] {
			switch y := g.K[j*g.N+i]; {
			case !finite(x):
				return fmt.Errorf("nn: gram: the value of %d and %d is %v", i, j, x)
			case !finite(y):
				return fmt.Errorf("nn: gram: the value of %d and %d is %v", j, i, y)
			case math.Abs(x-y) > 1e-9*(1+math.Abs(x)):
				return fmt.Errorf("nn: gram: not symmetric: %v for %d and %d, %v for %d and %d", x, i, j, y, j, i)
			}
		}
	}
	return nil
}

// Add adds h, which has as many rows, to g. A sum of kernels is one.
func (g *Gram) Add(h *Gram) error {
	if g.N != h.N {
		return fmt.Errorf("nn: gram: a matrix of %d rows added to one of %d", h.N, g.N)
	}
	for i, x := range h.K {
		g.K[i] += x
	}
	return nil
}

// Normalize scales g to a diagonal of ones: the cosine of whatever it compares.
// Rows whose diagonal is not positive become 0.
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

// GramOf compares all rows of c with each other, on so many goroutines, 0 = 1;
// the result does not depend on them. It goes through the rows that share an id,
// so that it costs O(Σ over ids of the square of the rows that have it), and
// takes 8·n² bytes; things that many rows have go by a matrix product, where all
// counts are whole. An error is that of Check, or of ctx.
func GramOf(ctx context.Context, c *Counts, s Similarity, workers int) (*Gram, error) {
	k, err := Compare(ctx, c, c, s, workers)
	if err != nil {
		return nil, err
	}
	return &Gram{N: c.Len(), K: k}, nil
}

// Compare returns the similarities of the rows of x to those of c, (x.Len(),
// c.Len()) row-major. The sums are over ascending ids, so x and c may be swapped.
func Compare(ctx context.Context, x, c *Counts, s Similarity, workers int) ([]float64, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	for _, rows := range []*Counts{x, c} {
		if err := s.checkCounts(rows); err != nil {
			return nil, err
		}
	}
	p := newPostings(c)
	var most *common
	if !s.least() {
		most = newCommon(x, c, p)
	}
	var a, b []float64
	if s.unit() {
		a, b = lengths(x, s), lengths(c, s)
	}
	n := c.Len()
	out := make([]float64, x.Len()*n)
	workers, tasks := max(1, workers), (x.Len()+commonRows-1)/commonRows
	rooms := make([][]float32, pool.Workers(workers, tasks))
	err := pool.Each(ctx, workers, tasks, func(_ context.Context, worker, i int) error {
		from, to := i*commonRows, min(x.Len(), (i+1)*commonRows)
		if most != nil {
			rooms[worker] = grown(rooms[worker], commonRows*n)
			most.multiply(from, to, rooms[worker], out[from*n:to*n])
		}
		for i := from; i < to; i++ {
			ids, values := x.Row(i)
			row := out[i*n : (i+1)*n]
			p.compare(ids, values, s.least(), most, row)
			if s.unit() {
				scaleCosine(row, a[i], b)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// self is the similarity of a row to itself, before it is scaled.
func (s Similarity) self(_ []uint64, values []float64) (sum float64) {
	for _, x := range values {
		if s.least() {
			sum += x
		} else {
			sum += x * x
		}
	}
	return sum
}

func lengths(c *Counts, s Similarity) []float64 {
	l := make([]float64, c.Len())
	for i := range l {
		_, values := c.Row(i)
		l[i] = s.length(values)
	}
	return l
}

// postings lists for each id the rows that have it.
type postings struct {
	at     map[uint64]int32 // place of an id in ends
	ends   []int
	rows   []int32
	values []float64
}

func newPostings(c *Counts) *postings {
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

// compare adds the similarities of a row to those of p to out, but for the things
// in done, which may be nil.
func (p *postings) compare(ids []uint64, values []float64, least bool, done *common, out []float64) {
	for j, id := range ids {
		s, ok := p.at[id]
		if !ok || done != nil && done.of[s] {
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
