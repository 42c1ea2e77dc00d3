package nn

import (
	"context"
	"slices"
)

// walkSolver solves the system of two graphs. A vector of pairs is (n, n') numbers,
// 0 where the labels of a pair differ.
type walkSolver struct {
	decay, tolerance float64
	rounds           int

	a, b       *walkGraph
	from, to   []int32 // of each node of a: the nodes of b that have its label
	types      []int32 // of each label of edges of a: its number in b, or -1
	kinds      int     // labels of edges in b, at least 1
	sums       []float64
	x, r, p, q []float64
}

// solve returns the sum of the solution of (I − decay·A×) x = 1.
func (s *walkSolver) solve(ctx context.Context, a, b *walkGraph) (float64, error) {
	s.match(a, b)
	size := a.n * b.n
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
	for i := range a.n {
		for j := s.from[i]; j < s.to[i]; j++ {
			x := s.x[i*b.n+int(j)]
			if !(x > 0.5) || !finite(x) { // it is 1 at least, but for rounding
				return 0, ErrDiverges
			}
			sum += x
		}
	}
	return sum, nil
}

// match finds the pairs of equal labels.
func (s *walkSolver) match(a, b *walkGraph) {
	s.a, s.b = a, b
	s.from, s.to = slices.Grow(s.from[:0], a.n)[:a.n], slices.Grow(s.to[:0], a.n)[:a.n]
	at, end := 0, 0
	for i, l := range a.label {
		if i == 0 || l != a.label[i-1] {
			for at = end; at < b.n && b.label[at] < l; at++ {
			}
			for end = at; end < b.n && b.label[end] == l; end++ {
			}
		}
		s.from[i], s.to[i] = int32(at), int32(end)
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
		row := out[i*b.n : (i+1)*b.n]
		clear(row)
		if s.from[i] == s.to[i] || a.off[i] == a.off[i+1] {
			continue
		}
		clear(s.sums)
		for e := a.off[i]; e < a.off[i+1]; e++ {
			t, k := s.types[a.types[e]], a.nbr[e]
			from, to := int(s.from[k]), int(s.to[k])
			if t < 0 || from == to {
				continue
			}
			add(s.sums[int(t)*b.n+from:int(t)*b.n+to], v[int(k)*b.n+from:int(k)*b.n+to])
		}
		for j := s.from[i]; j < s.to[i]; j++ {
			sum := 0.0
			for e := b.off[j]; e < b.off[j+1]; e++ {
				sum += s.sums[int(b.types[e])*b.n+int(b.nbr[e])]
			}
			row[j] = sum
		}
	}
}

func add(dst, x []float64) {
	x = x[:len(dst)]
	for i, y := range x {
		dst[i] += y
	}
}

// ones writes the right-hand side.
func (s *walkSolver) ones(v []float64) (count int) {
	clear(v)
	for i := range s.a.n {
		for j := s.from[i]; j < s.to[i]; j++ {
			v[i*s.b.n+int(j)] = 1
		}
		count += int(s.to[i] - s.from[i])
	}
	return count
}

// gradients solves the symmetric system by conjugate gradients (Hestenes and
// Stiefel 1952). A direction of no positive curvature shows that the matrix is not
// positive definite, and then the sum diverges.
func (s *walkSolver) gradients(ctx context.Context) error {
	pairs := s.ones(s.r)
	clear(s.x)
	copy(s.p, s.r)
	square := float64(pairs)
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
	pairs := s.ones(s.x)
	copy(s.r, s.x) // walks of the length of the round
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
		case !finite(square) || !finite(sum):
			return ErrDiverges
		case square <= end*sum || pairs == 0:
			return nil
		case round == s.rounds:
			return ErrDiverges
		}
	}
}
