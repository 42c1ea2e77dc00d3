package graphkernel

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// svmProblem is the dual of a support vector machine for two classes:
//
//	min ½ αᵀQα - Σα   with 0 ≤ αᵢ ≤ C, yᵀα = 0 and Q_ij = yᵢyⱼ K_ij
//
// It is solved by sequential minimal optimization with second-order working set selection and
// shrinking, as in LIBSVM (Fan, Chen and Lin, "Working set selection using second order information for
// training support vector machines", 2005). Of equal candidates it takes the last, as LIBSVM does. With
// equal rows the optimum is not unique, and this rule gives the same support vectors.
//
// The slices are in the order of place, which changes. The active rows are the first.
type svmProblem struct {
	rows      *Gram
	place     []int32   // index in the matrix of each row of the problem
	y         []float64 // class of each row, +1 or -1
	c         float64
	tolerance float64
	maxSteps  int

	alpha   []float64
	f       []float64 // yᵢ times the gradient, Σⱼ yⱼαⱼK_ij - yᵢ; current for active rows
	diag    []float64
	up, low []bool // whether yᵢαᵢ can rise and fall
	active  int
	shrunk  bool
	steps   int
}

var errNoEnd = errors.New("graphkernel: svm: no end")

// minCurvature replaces the curvature of a pair if it is not positive.
const minCurvature = 1e-12

// start allocates the state and sets all α to 0.
func (s *svmProblem) start() {
	n := len(s.place)
	s.alpha, s.f, s.diag = make([]float64, n), make([]float64, n), make([]float64, n)
	s.up, s.low, s.active = make([]bool, n), make([]bool, n), n
	for i, at := range s.place {
		s.f[i], s.diag[i] = -s.y[i], s.rows.K[int(at)*(s.rows.N+1)]
	}
}

// solve moves the current α to the optimum for c, which must not decrease, and returns the bias b of the
// decision Σ yᵢαᵢK(i, x) + b.
func (s *svmProblem) solve(ctx context.Context, c float64) (b float64, err error) {
	n := len(s.place)
	s.c, s.steps, s.shrunk = c, 0, false
	for i := range s.alpha {
		s.bounds(i)
	}
	every := min(n, 1000)
	for next := every; ; {
		if s.steps >= next {
			if ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
			s.shrink()
			next = s.steps + every
		}
		i, j := s.pair()
		if j < 0 {
			s.unshrink()
			if i, j = s.pair(); j < 0 {
				break
			}
			next = s.steps + 1 // shrink again after this step
		}
		if s.steps >= s.maxSteps {
			return 0, fmt.Errorf("%w after %d steps, with %d rows and C = %v; scale the kernel, or raise MaxSteps or Tolerance", errNoEnd, s.steps, n, s.c)
		}
		s.steps++
		s.step(i, j)
	}
	return s.bias(), nil
}

// bounds sets whether yα of i can rise and fall.
func (s *svmProblem) bounds(i int) {
	below, above := s.alpha[i] < s.c, s.alpha[i] > 0
	if s.y[i] < 0 {
		below, above = above, below
	}
	s.up[i], s.low[i] = below, above
}

// pair returns the next two rows to change. j is -1 if no pair violates the optimality conditions by more
// than the tolerance.
func (s *svmProblem) pair() (i, j int) {
	i, j = -1, -1
	most := math.Inf(-1)
	n := s.active
	f, up, low, diag, place := s.f[:n], s.up[:n], s.low[:n], s.diag[:n], s.place[:n]
	for t, v := range f {
		if -v >= most && up[t] {
			i, most = t, -v
		}
	}
	if i < 0 {
		return -1, -1
	}
	row, kii := s.rows.Row(int(place[i])), diag[i]
	gap, best := math.Inf(-1), math.Inf(1)
	for t, v := range f {
		if !low[t] {
			continue
		}
		d := most + v
		gap = max(gap, d)
		if d > 0 {
			a := kii + diag[t] - 2*row[place[t]]
			if a <= 0 {
				a = minCurvature
			}
			if gain := -d * d / a; gain <= best {
				j, best = t, gain
			}
		}
	}
	if gap < s.tolerance {
		return i, -1
	}
	return i, j
}

// step moves αᵢ and αⱼ to the optimum of the pair within their bounds.
func (s *svmProblem) step(i, j int) {
	ki, kj := s.rows.Row(int(s.place[i])), s.rows.Row(int(s.place[j]))
	a := s.diag[i] + s.diag[j] - 2*ki[s.place[j]]
	if a <= 0 {
		a = minCurvature
	}
	t := (s.f[j] - s.f[i]) / a // yᵢαᵢ rises by t, yⱼαⱼ falls by it; t > 0
	oldI, oldJ := s.alpha[i], s.alpha[j]
	if s.y[i] != s.y[j] {
		s.alpha[i], s.alpha[j] = s.apart(oldI-oldJ, oldI+s.y[i]*t, oldJ+s.y[i]*t)
	} else {
		s.alpha[i], s.alpha[j] = s.together(oldI+oldJ, oldI+s.y[i]*t, oldJ-s.y[i]*t)
	}
	di, dj := s.y[i]*(s.alpha[i]-oldI), s.y[j]*(s.alpha[j]-oldJ)
	s.bounds(i)
	s.bounds(j)
	place, f := s.place[:s.active], s.f[:s.active]
	for k, at := range place {
		f[k] += ki[at]*di + kj[at]*dj
	}
}

// apart clips a and b, two α whose difference is constant, to the bounds 0 and C.
func (s *svmProblem) apart(difference, a, b float64) (float64, float64) {
	switch {
	case difference > 0 && b < 0:
		a, b = difference, 0
	case difference <= 0 && a < 0:
		a, b = 0, -difference
	}
	switch {
	case difference > 0 && a > s.c:
		a, b = s.c, s.c-difference
	case difference <= 0 && b > s.c:
		a, b = s.c+difference, s.c
	}
	return a, b
}

// together clips a and b, two α whose sum is constant, to the bounds 0 and C.
func (s *svmProblem) together(sum, a, b float64) (float64, float64) {
	switch {
	case sum > s.c && a > s.c:
		a, b = s.c, sum-s.c
	case sum <= s.c && b < 0:
		a, b = sum, 0
	}
	switch {
	case sum > s.c && b > s.c:
		a, b = sum-s.c, s.c
	case sum <= s.c && a < 0:
		a, b = 0, sum
	}
	return a, b
}

// shrink deactivates rows at a bound that will probably stay there.
func (s *svmProblem) shrink() {
	up, low := math.Inf(-1), math.Inf(-1) // largest -f of the rows whose weight can rise, largest f of the rows whose weight can fall
	for t, f := range s.f[:s.active] {
		if s.up[t] {
			up = max(up, -f)
		}
		if s.low[t] {
			low = max(low, f)
		}
	}
	if !s.shrunk && up+low <= 10*s.tolerance {
		// Near the end, rows that were deactivated by mistake return.
		s.shrunk = true
		s.unshrink()
	}
	stays := func(t int) bool {
		return s.up[t] == s.low[t] || s.up[t] && s.f[t] <= low || s.low[t] && -s.f[t] <= up
	}
	for t := 0; t < s.active; t++ {
		if stays(t) {
			continue
		}
		for s.active--; s.active > t; s.active-- {
			if stays(s.active) {
				s.swap(t, s.active)
				break
			}
		}
	}
}

func (s *svmProblem) swap(i, j int) {
	s.place[i], s.place[j] = s.place[j], s.place[i]
	s.y[i], s.y[j] = s.y[j], s.y[i]
	s.alpha[i], s.alpha[j] = s.alpha[j], s.alpha[i]
	s.f[i], s.f[j] = s.f[j], s.f[i]
	s.diag[i], s.diag[j] = s.diag[j], s.diag[i]
	s.up[i], s.up[j] = s.up[j], s.up[i]
	s.low[i], s.low[j] = s.low[j], s.low[i]
}

// unshrink activates all rows and updates their f.
func (s *svmProblem) unshrink() {
	n, out := len(s.place), s.active
	if out == n {
		return
	}
	for t := out; t < n; t++ {
		s.f[t] = -s.y[t]
	}
	for j, a := range s.alpha {
		if a == 0 {
			continue
		}
		row, w := s.rows.Row(int(s.place[j])), s.y[j]*a
		for t := out; t < n; t++ {
			s.f[t] += w * row[s.place[t]]
		}
	}
	s.active = n
}

// bias returns the mean over the rows between the bounds, or else the middle of the interval that the other
// rows permit.
func (s *svmProblem) bias() float64 {
	above, below := math.Inf(1), math.Inf(-1)
	sum, free := 0.0, 0
	for t, f := range s.f {
		switch {
		case s.up[t] && s.low[t]:
			sum += f
			free++
		case s.low[t]:
			below = max(below, f)
		default:
			above = min(above, f)
		}
	}
	if free > 0 {
		return -sum / float64(free)
	}
	return -(above + below) / 2
}
