package graphkernel

import (
	"context"
	"slices"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// walkSolver solves the system of two graphs. A vector has a number for each pair of
// nodes with one label and for no other: those of node i of a are from base[i] to
// base[i+1], in the order of the nodes of b, which sorted by label lie side by side.
type walkSolver struct {
	decay, tolerance float64
	rounds           int

	a, b       *walkGraph
	from, to   []int32 // of each node of a: the nodes of b that have its label
	base       []int   // of each node of a: its first pair; and their number
	types      []int32 // of each label of edges of a: its number in b, or -1
	kinds      int     // labels of edges in b, at least 1
	sums       []float64
	x, r, p, q []float64
}

// solve returns the sum of the solution of (I − decay·A×) x = 1.
func (s *walkSolver) solve(ctx context.Context, a, b *walkGraph) (float64, error) {
	s.match(a, b)
	size := s.base[a.n]
	for _, v := range []*[]float64{&s.x, &s.r, &s.p, &s.q} {
		*v = slices.Grow((*v)[:0], size)[:size]
	}
	var err error
	if a.directed {
		err = s.iterate(ctx)
	} else {
		err = s.gradients(ctx)
	}
	if err != nil {
		return 0, err
	}
	// Any solution that is positive is the limit of the sum: were decay times the
	// largest eigenvalue 1 or more, its left eigenvector w ≥ 0 would have
	// (1 − that)·w·x = w·1 > 0, and so w·x < 0.
	sum := 0.0
	for _, x := range s.x {
		if !(x > 0.5) || !kernel.Finite(x) { // it is 1 at least, but for rounding
			return 0, ErrDiverges
		}
		sum += x
	}
	return sum, nil
}

// match finds the pairs of equal labels.
func (s *walkSolver) match(a, b *walkGraph) {
	s.a, s.b = a, b
	s.from, s.to = slices.Grow(s.from[:0], a.n)[:a.n], slices.Grow(s.to[:0], a.n)[:a.n]
	s.base = append(s.base[:0], 0)
	at, end := 0, 0
	for i, l := range a.label {
		if i == 0 || l != a.label[i-1] {
			for at = end; at < b.n && b.label[at] < l; at++ {
			}
			for end = at; end < b.n && b.label[end] == l; end++ {
			}
		}
		s.from[i], s.to[i] = int32(at), int32(end)
		s.base = append(s.base, s.base[i]+end-at)
	}
	s.types = s.types[:0]
	for _, l := range a.edges {
		t, ok := slices.BinarySearch(b.edges, l)
		if !ok {
			t = -1
		}
		s.types = append(s.types, int32(t))
	}
	if len(a.edges) == 0 {
		s.types = append(s.types, 0)
	}
	s.kinds = max(1, len(b.edges))
	s.sums = slices.Grow(s.sums[:0], s.kinds*b.n)[:s.kinds*b.n]
}

// times writes A×·v to out: sums over the neighbours in a, for each label of edges,
// then over those in b.
func (s *walkSolver) times(v, out []float64) {
	a, b := s.a, s.b
	for i := range a.n {
		row := out[s.base[i]:s.base[i+1]]
		if len(row) == 0 {
			continue
		}
		clear(s.sums)
		met := false
		for e := a.off[i]; e < a.off[i+1]; e++ {
			t, k := s.types[a.types[e]], a.nbr[e]
			if x := v[s.base[k]:s.base[k+1]]; t >= 0 && len(x) > 0 {
				add(s.sums[int(t)*b.n+int(s.from[k]):], x)
				met = true
			}
		}
		if !met {
			clear(row)
			continue
		}
		if s.kinds == 1 { // nearly always: no label to look up
			for j := range row {
				v := int(s.from[i]) + j
				sum := 0.0
				for _, u := range b.nbr[b.off[v]:b.off[v+1]] {
					sum += s.sums[u]
				}
				row[j] = sum
			}
			continue
		}
		for j := range row {
			v := int(s.from[i]) + j
			sum := 0.0
			for e := b.off[v]; e < b.off[v+1]; e++ {
				sum += s.sums[int(b.types[e])*b.n+int(b.nbr[e])]
			}
			row[j] = sum
		}
	}
}

// add adds x to the beginning of dst.
func add(dst, x []float64) {
	dst = dst[:len(x)]
	for i, y := range x {
		dst[i] += y
	}
}

// ones writes the right-hand side.
func ones(v []float64) {
	for i := range v {
		v[i] = 1
	}
}

// gradients solves the symmetric system by conjugate gradients (Hestenes and
// Stiefel 1952). A direction of no positive curvature shows that the matrix is not
// positive definite, and then the sum diverges.
func (s *walkSolver) gradients(ctx context.Context) error {
	ones(s.r)
	ones(s.p)
	clear(s.x)
	square := float64(len(s.r))
	end := square * s.tolerance * s.tolerance
	for round := 0; square > end; round++ {
		if round == s.rounds {
			return ErrDiverges
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s.times(s.p, s.q)
		curve := 0.0
		for i, p := range s.p {
			s.q[i] = p - s.decay*s.q[i]
			curve += p * s.q[i]
		}
		if !(curve > 0) {
			return ErrDiverges
		}
		step, next := square/curve, 0.0
		for i, p := range s.p {
			s.x[i] += step * p
			s.r[i] -= step * s.q[i]
			next += s.r[i] * s.r[i]
		}
		turn := next / square
		for i, r := range s.r {
			s.p[i] = r + turn*s.p[i]
		}
		square = next
	}
	return nil
}

// iterate repeats x = 1 + decay·A×x from x = 1. Each round adds the walks that are
// one step longer.
func (s *walkSolver) iterate(ctx context.Context) error {
	ones(s.x)
	ones(s.r) // walks of the length of the round
	end := s.tolerance * s.tolerance
	for round := 0; ; round++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s.times(s.r, s.q)
		square, sum := 0.0, 0.0
		for i, q := range s.q {
			s.r[i] = s.decay * q
			s.x[i] += s.r[i]
			square += s.r[i] * s.r[i]
			sum += s.x[i] * s.x[i]
		}
		switch {
		case !kernel.Finite(square) || !kernel.Finite(sum):
			return ErrDiverges
		case square <= end*sum:
			return nil
		case round == s.rounds:
			return ErrDiverges
		}
	}
}
