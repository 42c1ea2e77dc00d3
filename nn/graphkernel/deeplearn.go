package graphkernel

import (
	"context"
	"math"
	"slices"

	"github.com/sanflow/sanflow/internal/pool"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// A batch of the skip-gram is cut into parts, each with random numbers of its own.
// The gradients of a batch are those of the vectors before it.
const (
	deepPart  = 64 // words
	deepBatch = 8  // parts
)

// deepStep is the gradients of one part: rows, and size numbers for each.
type deepStep struct {
	rows []int32
	g    []float32
}

// learn goes through all words, epoch by epoch, each time in another order.
func (s *skipGram) learn(ctx context.Context) error {
	order := make([]int32, len(s.words))
	for i := range order {
		order[i] = int32(i)
	}
	steps := make([]deepStep, deepBatch)
	part := random.Parts
	for range s.epochs {
		shuffle(order, random.New(s.seed, part))
		part++
		for begin := 0; begin < len(order); begin += deepPart * deepBatch {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			words := order[begin:min(len(order), begin+deepPart*deepBatch)]
			n := (len(words) + deepPart - 1) / deepPart
			err := pool.Each(ctx, s.workers, n, func(_ context.Context, _, i int) error {
				own := words[i*deepPart : min(len(words), (i+1)*deepPart)]
				s.gradients(own, random.New(s.seed, part+uint64(i)), &steps[i])
				return nil
			})
			if err != nil {
				return err
			}
			// Each worker has rows of its own, so the order of the steps of a row
			// is that of the parts.
			err = pool.Each(ctx, s.workers, s.workers, func(_ context.Context, _, w int) error {
				for i := range n {
					s.apply(&steps[i], int32(w))
				}
				return nil
			})
			if err != nil {
				return err
			}
			part += uint64(n)
		}
	}
	return nil
}

func shuffle(x []int32, rng random.Source) {
	for i := len(x) - 1; i > 0; i-- {
		j := below(rng, i+1)
		x[i], x[j] = x[j], x[i]
	}
}

// below draws a number below n.
func below(rng random.Source, n int) int { return int(rng.Uint64() >> 1 % uint64(n)) }

// gradients writes to step what some words, by their places, and the contexts and
// the things at large that are drawn for them ask of the vectors.
func (s *skipGram) gradients(words []int32, rng random.Source, step *deepStep) {
	step.rows, step.g = step.rows[:0], step.g[:0]
	n := len(s.ids)
	for _, at := range words {
		list := s.lists[at]
		begin, end := s.ends[list], s.ends[list+1]
		if end-begin < 2 {
			continue // nothing stands near
		}
		word := s.words[at]
		mine := step.room(word, s.size)
		for range s.window {
			other := begin + below(rng, end-begin-1)
			if other >= int(at) {
				other++
			}
			s.pair(word, s.words[other], 1, mine, step)
			for range s.negatives {
				x := rng.Float()
				drawn, _ := slices.BinarySearch(s.noise, float64(x)*s.noise[n-1])
				if int32(drawn) != s.words[other] {
					s.pair(word, int32(min(drawn, n-1)), 0, mine, step)
				}
			}
		}
	}
}

// room adds a row to the step and returns where its gradient begins.
func (p *deepStep) room(row int32, size int) int {
	at := len(p.g)
	p.rows = append(p.rows, row)
	p.g = slices.Grow(p.g, size)[:at+size]
	clear(p.g[at:])
	return at
}

// pair adds the gradient of −log σ(±v·c), for a word and what is, or is not, its
// context.
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

// apply takes the steps of those rows that are worker w's.
func (s *skipGram) apply(p *deepStep, w int32) {
	size := s.size
	for k, row := range p.rows {
		if row%int32(s.workers) != w {
			continue
		}
		g := p.g[k*size : (k+1)*size]
		squares := float32(0)
		for _, x := range g {
			squares += x * x
		}
		s.past[row] += squares
		if s.past[row] == 0 {
			continue
		}
		rate := s.rate / float32(math.Sqrt(float64(s.past[row])))
		v := s.rows[int(row)*size : (int(row)+1)*size]
		for i, x := range g {
			v[i] -= rate * x
		}
	}
}
