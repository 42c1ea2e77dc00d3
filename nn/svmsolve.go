package nn

import (
	"context"
	"fmt"
	"math"
)

// svmProblem is the dual of a support vector machine for two classes:
//
//	min ½ αᵀQα - Σα   with 0 ≤ αᵢ ≤ C, yᵀα = 0 and Q_ij = yᵢyⱼ K_ij
//
// solved by sequential minimal optimization over pairs that second-order
// information chooses, with shrinking (Fan, Chen and Lin, "Working set selection
// using second order information for training support vector machines", 2005,
// which is what LIBSVM does too).
type svmProblem struct {
	gram      *Gram
	rows      []int32   // of the Gram matrix that take part
	y         []float64 // +1 or -1 for each
	c         float64
	tolerance float64
	maxSteps  int

	alpha []float64
	// f[i] is yᵢ times the gradient: Σⱼ yⱼαⱼK_ij - yᵢ. It is up to date for the
	// active ones.
	f      []float64
	active []int32 // places in rows
	shrunk bool
	steps  int
}

// minCurvature stands for the curvature of a pair that has none.
const minCurvature = 1e-12

// solve returns the bias b of the decision Σ yᵢαᵢK(i, x) + b.
func (s *svmProblem) solve(ctx context.Context) (b float64, err error) {
	n := len(s.rows)
	s.alpha, s.f = make([]float64, n), make([]float64, n)
	s.active = make([]int32, n)
	for i := range s.rows {
		s.f[i] = -s.y[i]
		s.active[i] = int32(i)
	}
	every := min(n, 1000)
	for next := every; ; {
		if s.steps >= next {
			if ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
			s.shrink()
			next += every
		}
		i, j := s.pair()
		if j < 0 {
			if len(s.active) == n {
				break
			}
			s.unshrink()
			if i, j = s.pair(); j < 0 {
				break
			}
			next = s.steps + 1 // shrink again soon
		}
		if s.steps >= s.maxSteps {
			return 0, fmt.Errorf("nn: svm: no end after %d steps, with %d rows and C = %v; scale the kernel, or raise MaxSteps or Tolerance", s.steps, n, s.c)
		}
		s.steps++
		s.step(i, j)
	}
	return s.bias(), nil
}

func (s *svmProblem) k(i, j int32) float64 { return s.gram.K[int(s.rows[i])*s.gram.N+int(s.rows[j])] }

// up and low tell whether yᵢαᵢ can rise, and fall.
func (s *svmProblem) up(i int32) bool {
	return s.y[i] > 0 && s.alpha[i] < s.c || s.y[i] < 0 && s.alpha[i] > 0
}

func (s *svmProblem) low(i int32) bool {
	return s.y[i] > 0 && s.alpha[i] > 0 || s.y[i] < 0 && s.alpha[i] < s.c
}

// pair returns the two to change next, or j = -1 where none breaks the conditions
// of an optimum by more than the tolerance.
func (s *svmProblem) pair() (i, j int32) {
	i, j = -1, -1
	most := math.Inf(-1)
	for _, t := range s.active {
		if -s.f[t] > most && s.up(t) {
			i, most = t, -s.f[t]
		}
	}
	if i < 0 {
		return -1, -1
	}
	row := s.gram.Row(int(s.rows[i]))
	kii := row[s.rows[i]]
	gap, best := math.Inf(-1), math.Inf(1)
	for _, t := range s.active {
		if !s.low(t) {
			continue
		}
		d := most + s.f[t]
		gap = max(gap, d)
		if d > 0 {
			a := kii + s.k(t, t) - 2*row[s.rows[t]]
			if a <= 0 {
				a = minCurvature
			}
			if gain := -d * d / a; gain < best {
				j, best = t, gain
			}
		}
	}
	if gap < s.tolerance {
		return i, -1
	}
	return i, j
}

// step moves αᵢ and αⱼ to the optimum of the pair, within their bounds.
func (s *svmProblem) step(i, j int32) {
	a := s.k(i, i) + s.k(j, j) - 2*s.k(i, j)
	if a <= 0 {
		a = minCurvature
	}
	t := (s.f[j] - s.f[i]) / a // yᵢαᵢ rises by t, yⱼαⱼ falls by it; t > 0
	room := func(k int32, rises bool) float64 {
		if rises == (s.y[k] > 0) {
			return s.c - s.alpha[k]
		}
		return s.alpha[k]
	}
	ri, rj := room(i, true), room(j, false)
	t = min(t, ri, rj)
	s.move(i, t, t == ri)
	s.move(j, -t, t == rj)
	ki, kj := s.gram.Row(int(s.rows[i])), s.gram.Row(int(s.rows[j]))
	for _, k := range s.active {
		r := s.rows[k]
		s.f[k] += t * (ki[r] - kj[r])
	}
}

// move adds by to yα, exactly to a bound where the step ends there.
func (s *svmProblem) move(i int32, by float64, bound bool) {
	d := s.y[i] * by
	switch {
	case !bound:
		s.alpha[i] += d
	case d > 0:
		s.alpha[i] = s.c
	default:
		s.alpha[i] = 0
	}
}

// shrink leaves out those at a bound that will most likely stay there.
func (s *svmProblem) shrink() {
	up, low := math.Inf(-1), math.Inf(-1) // greatest -f that can rise, greatest f that can fall
	for _, t := range s.active {
		if s.up(t) {
			up = max(up, -s.f[t])
		}
		if s.low(t) {
			low = max(low, s.f[t])
		}
	}
	if !s.shrunk && up+low <= 10*s.tolerance {
		s.shrunk = true
		s.unshrink()
		return
	}
	kept := s.active[:0]
	for _, t := range s.active {
		out := s.up(t) != s.low(t) && (s.up(t) && s.f[t] > low || s.low(t) && -s.f[t] > up)
		if !out {
			kept = append(kept, t)
		}
	}
	s.active = kept
}

// unshrink makes all active again, and brings their f up to date.
func (s *svmProblem) unshrink() {
	n := len(s.rows)
	if len(s.active) == n {
		return
	}
	in := make([]bool, n)
	for _, t := range s.active {
		in[t] = true
	}
	for t := range n {
		if !in[t] {
			s.f[t] = -s.y[t]
		}
	}
	for j := range n {
		if s.alpha[j] == 0 {
			continue
		}
		row, w := s.gram.Row(int(s.rows[j])), s.y[j]*s.alpha[j]
		for t := range n {
			if !in[t] {
				s.f[t] += w * row[s.rows[t]]
			}
		}
	}
	s.active = s.active[:0]
	for t := range int32(n) {
		s.active = append(s.active, t)
	}
}

// bias is the mean over those between the bounds, or the middle of what the
// others allow.
func (s *svmProblem) bias() float64 {
	above, below := math.Inf(1), math.Inf(-1)
	sum, free := 0.0, 0
	for t, f := range s.f {
		up, low := s.up(int32(t)), s.low(int32(t))
		switch {
		case up && low:
			sum += f
			free++
		case low:
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
