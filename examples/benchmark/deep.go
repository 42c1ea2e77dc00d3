package main

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/graphkernel"
)

// The settings of the skip-gram.
const (
	deepWindow    = 5 // words that are drawn from the context of a word
	deepNegatives = 5 // negative samples for each of them
	deepEpochs    = 5
	deepRate      = 0.1
)

// A batch of the skip-gram has several parts, each with random numbers of its own. The gradients of a
// batch are taken at the vectors before it.
const (
	deepPart  = 64 // words
	deepBatch = 8  // parts
)

// skipGram learns the vectors of a deep graph kernel (Yanardag and Vishwanathan, "Deep graph
// kernels", 2015): with φ the counts of a graph,
//
//	k(G, H) = φ(G) · M · φ(H),  M = V·Vᵀ,
//
// where row i of V is the vector of substructure i, learned by the skip-gram with negative sampling
// (Mikolov et al., "Distributed representations of words and phrases", 2013): substructures with
// common contexts have similar vectors. The rate decreases by row (Duchi, Hazan and Singer, "Adaptive
// subgradient methods", 2011). The same seed gives the same vectors. An id takes 8·size bytes.
type skipGram struct {
	size, workers int
	seed          uint64

	ids   []uint64  // ascending
	words []int32   // of all contexts, as indices of ids
	lists []int32   // of each word, the number of its context
	ends  []int     // of each context in words, after a 0
	noise []float64 // cumulated weights of the negative samples

	// The first len(ids) rows are the vectors of ids as words, the others those of ids as contexts.
	rows []float32
	past []float32 // of each row, the sum of squared gradients
}

// newSkipGram returns random vectors of the ids in contexts, which are lists of ids that occur near each
// other.
func newSkipGram(contexts [][]uint64, size int, seed uint64, workers int) *skipGram {
	s := &skipGram{size: size, workers: workers, seed: seed, ends: []int{0}}
	s.ids = slices.Compact(slices.Sorted(slices.Values(slices.Concat(contexts...))))
	counts := make([]float64, len(s.ids))
	for i, ids := range contexts {
		for _, id := range ids {
			at, _ := slices.BinarySearch(s.ids, id)
			s.words, s.lists = append(s.words, int32(at)), append(s.lists, int32(i))
			counts[at]++
		}
		s.ends = append(s.ends, len(s.words))
	}
	sum := 0.0
	for _, n := range counts {
		sum += math.Pow(n, 0.75) // the exponent of word2vec
		s.noise = append(s.noise, sum)
	}
	n := len(s.ids)
	s.rows, s.past = make([]float32, 2*n*size), make([]float32, 2*n)
	rng := rand.NewPCG(seed, 1)
	for i := range s.rows[:n*size] { // vectors of contexts begin at 0, as in word2vec
		s.rows[i] = (fraction(rng) - 0.5) / float32(size)
	}
	return s
}

// fraction draws a number in [0, 1).
func fraction(rng *rand.PCG) float32 { return float32(rng.Uint64()>>40) * (1.0 / (1 << 24)) }

// below draws a number below n.
func below(rng *rand.PCG, n int) int { return int(rng.Uint64() >> 1 % uint64(n)) }

// deepStep is the gradients of a batch: rows, and size numbers for each.
type deepStep struct {
	rows []int32
	g    []float32
}

// learn visits all words in each epoch, in a new random order.
func (s *skipGram) learn(ctx context.Context) error {
	order := make([]int32, len(s.words))
	for i := range order {
		order[i] = int32(i)
	}
	var step deepStep
	part := uint64(1) << 32 // number of a random stream
	for range deepEpochs {
		rng := rand.NewPCG(s.seed, part)
		for i := len(order) - 1; i > 0; i-- {
			j := below(rng, i+1)
			order[i], order[j] = order[j], order[i]
		}
		part++
		for words := range slices.Chunk(order, deepPart*deepBatch) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			step.rows, step.g = step.rows[:0], step.g[:0]
			for words := range slices.Chunk(words, deepPart) {
				s.gradients(words, rand.NewPCG(s.seed, part), &step)
				part++
			}
			s.apply(&step)
		}
	}
	return nil
}

// gradients adds to step the gradients of some words, given by their places, with words drawn from their
// contexts and with negative samples.
func (s *skipGram) gradients(words []int32, rng *rand.PCG, step *deepStep) {
	n := len(s.ids)
	for _, at := range words {
		begin, end := s.ends[s.lists[at]], s.ends[s.lists[at]+1]
		if end-begin < 2 {
			continue // the context has no other word
		}
		word := s.words[at]
		mine := step.room(word, s.size)
		for range deepWindow {
			other := begin + below(rng, end-begin-1)
			if other >= int(at) {
				other++
			}
			s.pair(word, s.words[other], 1, mine, step)
			for range deepNegatives {
				drawn, _ := slices.BinarySearch(s.noise, float64(fraction(rng))*s.noise[n-1])
				if int32(drawn) != s.words[other] {
					s.pair(word, int32(min(drawn, n-1)), 0, mine, step)
				}
			}
		}
	}
}

// room adds a row to the step and returns the index of its gradient.
func (p *deepStep) room(row int32, size int) int {
	at := len(p.g)
	p.rows = append(p.rows, row)
	p.g = slices.Grow(p.g, size)[:at+size]
	clear(p.g[at:])
	return at
}

// pair adds the gradient of −log σ(±v·c) of a word v and a word c: + where c is from the context, − where
// it is a negative sample.
func (s *skipGram) pair(word, context int32, is float32, mine int, step *deepStep) {
	size, row := s.size, int32(len(s.ids))+context
	v, c := s.rows[int(word)*size:(int(word)+1)*size], s.rows[int(row)*size:(int(row)+1)*size]
	dot := float32(0)
	for i, x := range v {
		dot += x * c[i]
	}
	g := float32(1/(1+math.Exp(-float64(dot)))) - is
	theirs := step.room(row, size)
	own, other := step.g[mine:mine+size], step.g[theirs:theirs+size]
	for i, x := range v {
		own[i] += g * c[i]
		other[i] = g * x
	}
}

// apply adds a step to the vectors.
func (s *skipGram) apply(p *deepStep) {
	size := s.size
	for k, row := range p.rows {
		g := p.g[k*size : (k+1)*size]
		squares := float32(0)
		for _, x := range g {
			squares += x * x
		}
		s.past[row] += squares
		if s.past[row] == 0 {
			continue
		}
		rate := float32(deepRate) / float32(math.Sqrt(float64(s.past[row])))
		v := s.rows[int(row)*size : (int(row)+1)*size]
		for i, x := range g {
			v[i] -= rate * x
		}
	}
}

// centre subtracts the mean over the contexts from the vectors, since it dominates where graphs have
// dozens of ids (Mu and Viswanath, "All-but-the-top", 2018). Then it scales them to unit length, so that
// the diagonal of M is 1. A vector that equals the mean becomes 0.
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

// gram compares all rows of counts. An id without a context has no vector and does not count.
func (s *skipGram) gram(ctx context.Context, c *nn.Counts) (*graphkernel.Gram, error) {
	n := c.Len()
	sums := make([][]float64, n) // φ·V
	for i := range sums {
		sums[i] = make([]float64, s.size)
		ids, values := c.Row(i)
		for j, id := range ids {
			at, ok := slices.BinarySearch(s.ids, id)
			if !ok {
				continue
			}
			for f, v := range s.rows[at*s.size : (at+1)*s.size] {
				sums[i][f] += values[j] * float64(v)
			}
		}
	}
	g := &graphkernel.Gram{N: n, K: make([]float64, n*n)}
	err := each(ctx, s.workers, n, func(_ context.Context, i int) error {
		for j := range n {
			sum := 0.0
			for f, y := range sums[j] {
				sum += sums[i][f] * y
			}
			g.K[i*n+j] = sum
		}
		return nil
	})
	return g, err
}
