package graphkernel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sanflow/sanflow/internal/pool"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// Contexts are lists of ids of substructures that occur near each other, in compressed sparse rows.
// The order within a list has no meaning.
type Contexts struct {
	Offsets []int // from 0; list i is IDs[Offsets[i]:Offsets[i+1]]
	IDs     []uint64
}

// Len returns the number of lists.
func (c *Contexts) Len() int { return max(0, len(c.Offsets)-1) }

// Append adds a list, which is copied.
func (c *Contexts) Append(ids []uint64) {
	if len(c.Offsets) == 0 {
		c.Offsets = append(c.Offsets, 0)
	}
	c.IDs = append(c.IDs, ids...)
	c.Offsets = append(c.Offsets, len(c.IDs))
}

// Deep compares counts of substructures by the similarity of the substructures (Yanardag and
// Vishwanathan, "Deep graph kernels", 2015): with φ the counts of a graph,
//
//	k(G, H) = φ(G) · M · φ(H),  M = V·Vᵀ,
//
// where row i of V is a vector for substructure i, learned by the skip-gram with negative sampling
// (Mikolov et al., "Distributed representations of words and phrases", 2013): substructures with
// common contexts have similar vectors. Their mean over the contexts is subtracted (Mu and
// Viswanath, "All-but-the-top", 2018), since it dominates if a graph has dozens of ids. Then they
// are scaled to unit length, so M is 1 for an id and itself.
//
//	deep := graphkernel.Deep{Size: 32, Seed: 1}
//	err := deep.Fit(ctx, contexts)
//	gram, err := deep.Gram(ctx, counts)
//	gram.Normalize()
//
// An id without a context has no vector and does not count. Deep reads no targets.
//
// Fit takes the pairs in batches of a fixed size, whose gradients are computed side by side and
// added in their order, with steps that shrink by row (Duchi, Hazan and Singer, "Adaptive
// subgradient methods", 2011); so the same seed gives the same vectors at any number of workers.
// Memory is 8·Size bytes for each different id.
type Deep struct {
	Size      int     // d, the length of a vector. 0 = 32
	Window    int     // of the others in a context, so many are drawn for each. 0 = 5
	Negatives int     // negative samples for each of these; 0 = 5
	Epochs    int     // 0 = 5
	Rate      float64 // 0 = 0.1
	Seed      uint64
	Workers   int // goroutines, 0 = 1; the result does not depend on them

	fitted  bool
	size    int      // of what was learned
	ids     []uint64 // ascending
	vectors []float32
}

// resolved replaces zero settings by what they stand for.
func (d *Deep) resolved() Deep {
	return Deep{
		Size: cmp.Or(d.Size, 32), Window: cmp.Or(d.Window, 5), Negatives: cmp.Or(d.Negatives, 5), Epochs: cmp.Or(d.Epochs, 5),
		Rate: cmp.Or(d.Rate, 0.1), Seed: d.Seed, Workers: max(1, d.Workers),
	}
}

func (d *Deep) check() error {
	for _, s := range []struct {
		name        string
		value, most int
	}{{"Size", d.Size, 1 << 12}, {"Window", d.Window, 1 << 12}, {"Negatives", d.Negatives, 1 << 12}, {"Epochs", d.Epochs, 1 << 20}, {"Workers", d.Workers, math.MaxInt}} {
		if s.value < 0 || s.value > s.most {
			return fmt.Errorf("graphkernel: deep: %s is %d, want 0 to %d", s.name, s.value, s.most)
		}
	}
	if !(d.Rate >= 0 && d.Rate <= math.MaxFloat32) {
		return fmt.Errorf("graphkernel: deep: Rate is %v, want a number from 0 that float32 holds", d.Rate)
	}
	return nil
}

// Fit learns the vectors of all ids in c. What was learned before is forgotten.
func (d *Deep) Fit(ctx context.Context, c *Contexts) error {
	if err := d.check(); err != nil {
		return err
	}
	if n := c.Len(); n > 0 && (c.Offsets[0] != 0 || c.Offsets[n] != len(c.IDs) || !slices.IsSorted(c.Offsets)) {
		return errors.New("graphkernel: deep: the offsets of contexts fall or leave their ids")
	}
	s := newSkipGram(d, c)
	if err := s.learn(ctx); err != nil {
		return err
	}
	if !kernel.Finite(kernel.Squares(s.rows)) {
		return errors.New("graphkernel: deep: the vectors are not finite; a lower Rate may help")
	}
	s.centre()
	d.fitted, d.size, d.ids, d.vectors = true, s.size, s.ids, s.rows[:len(s.ids)*s.size:len(s.ids)*s.size]
	return nil
}

// centre takes the mean over the contexts off the vectors, and gives them unit
// length; one that is the mean becomes 0.
func (s *skipGram) centre() {
	mean := make([]float64, s.size)
	for _, word := range s.words {
		for f, x := range s.rows[int(word)*s.size : (int(word)+1)*s.size] {
			mean[f] += float64(x) / float64(len(s.words))
		}
	}
	for i := range s.ids {
		v := s.rows[i*s.size : (i+1)*s.size]
		squares, before := 0.0, 0.0
		for f, x := range v {
			before += float64(x) * float64(x)
			v[f] = float32(float64(x) - mean[f])
			squares += float64(v[f]) * float64(v[f])
		}
		if squares <= 1e-10*before {
			clear(v)
			continue
		}
		for f := range v {
			v[f] = float32(float64(v[f]) / math.Sqrt(squares))
		}
	}
}

// Vector returns the vector of an id, borrowed; nil if there is none, as before Fit.
func (d *Deep) Vector(id uint64) []float32 {
	i, ok := slices.BinarySearch(d.ids, id)
	if !ok {
		return nil
	}
	return d.vectors[i*d.size : (i+1)*d.size]
}

// Gram compares all rows of counts with each other. Before Fit or Load it is an
// ErrUntrained.
func (d *Deep) Gram(ctx context.Context, c *nn.Counts) (*Gram, error) {
	k, err := d.Compare(ctx, c, c)
	if err != nil {
		return nil, err
	}
	return &Gram{N: c.Len(), K: k}, nil
}

// Compare returns the similarities of the rows of x to those of c, (x.Len(),
// c.Len()) row-major; see Gram.
func (d *Deep) Compare(ctx context.Context, x, c *nn.Counts) ([]float64, error) {
	a, err := d.sums(x)
	if err != nil {
		return nil, err
	}
	b := a
	if x != c {
		if b, err = d.sums(c); err != nil {
			return nil, err
		}
	}
	n, m := x.Len(), c.Len()
	out := make([]float64, n*m)
	err = pool.Each(ctx, max(1, d.Workers), n, func(_ context.Context, _, i int) error {
		for j := range m {
			sum := 0.0
			for f, y := range b[j] {
				sum += a[i][f] * y
			}
			out[i*m+j] = sum
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// sums returns φ·V for each row of counts.
func (d *Deep) sums(c *nn.Counts) ([][]float64, error) {
	if !d.fitted {
		return nil, nn.ErrUntrained
	}
	if err := c.Check(); err != nil {
		return nil, err
	}
	out := make([][]float64, c.Len())
	for i := range out {
		out[i] = make([]float64, d.size)
		ids, values := c.Row(i)
		for j, id := range ids {
			for f, v := range d.Vector(id) {
				out[i][f] += values[j] * float64(v)
			}
		}
		// No similarity is larger than those of both rows to themselves.
		if sum := self(nn.Linear, out[i]); !kernel.Finite(sum) {
			return nil, fmt.Errorf("graphkernel: deep: row %d has counts too large to compare: its similarity to itself is %v", i, sum)
		}
	}
	return out, nil
}

// skipGram is a training of a Deep.
type skipGram struct {
	size, window, negatives, epochs, workers int
	rate                                     float32
	seed                                     uint64

	ids   []uint64
	words []int32   // of all contexts: places in ids
	lists []int32   // of each word: its context
	ends  []int     // of contexts
	noise []float64 // ascending sums of the chances to be drawn at large

	// The first len(ids) rows are the vectors, the others those of the same things
	// as contexts.
	rows []float32
	past []float32 // of each row: the sum of squared gradients
}

func newSkipGram(d *Deep, c *Contexts) *skipGram {
	set := d.resolved()
	s := &skipGram{
		size: set.Size, window: set.Window, negatives: set.Negatives, epochs: set.Epochs,
		workers: pool.Workers(set.Workers, deepBatch), rate: float32(set.Rate), seed: set.Seed, ends: c.Offsets,
	}
	s.ids = slices.Compact(slices.Sorted(slices.Values(c.IDs)))
	counts := make([]float64, len(s.ids))
	for i := range c.Len() {
		for _, id := range c.IDs[c.Offsets[i]:c.Offsets[i+1]] {
			at, _ := slices.BinarySearch(s.ids, id)
			s.words, s.lists = append(s.words, int32(at)), append(s.lists, int32(i))
			counts[at]++
		}
	}
	sum := 0.0
	for _, n := range counts {
		sum += math.Pow(n, 0.75) // word2vec's
		s.noise = append(s.noise, sum)
	}
	n := len(s.ids)
	s.rows, s.past = make([]float32, 2*n*s.size), make([]float32, 2*n)
	rng := random.New(d.Seed, random.Init)
	for i := range s.rows[:n*s.size] { // contexts begin at 0, as word2vec's
		s.rows[i] = (rng.Float() - 0.5) / float32(s.size)
	}
	return s
}
