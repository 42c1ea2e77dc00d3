package graphkernel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/validation"
)

// SVM is a support vector machine for classes on a kernel (C-SVC: Cortes and Vapnik,
// "Support-vector networks", 1995), one against one for more than two classes. It fits on rows
// of a matrix of a kernel, such as those of the PATCHY-SAN paper:
//
//	gram, err := graphkernel.GramOf(ctx, counts, nn.Cosine, 2)
//	svm := graphkernel.SVM{C: 10}
//	err = svm.Fit(ctx, gram, rows, classes) // rows of gram to learn from
//	class := svm.Class(gram.Row(i))         // of any row of it
//
// It gives no probabilities. A fit costs about O(rows² to rows³), and nearly no memory beside the
// matrix. One goroutine at a time may fit an SVM; any number may call the other methods after the
// fit.
type SVM struct {
	C         float64 // the cost of a row on the wrong side; 0 = 1
	Tolerance float64 // the largest violation of the optimality conditions; 0 = 1e-3
	// MaxSteps bounds the steps for a pair of classes. Reaching it is an error. 0 = 10 million, or 100 for
	// each row if that is more.
	MaxSteps int

	classes []int32   // classes of the training rows, ascending
	pairs   []svmPair // all pairs of indices into classes: 0 and 1, 0 and 2, … 1 and 2, …
}

// svmPair separates two classes: the first one where Σ coef·K + bias > 0.
type svmPair struct {
	a, b    int       // indices into classes
	support []support // ascending by row
	bias    float64
}

// support is a support vector: a row of the matrix with its yᵢαᵢ.
type support struct {
	row  int32
	coef float64
}

// Fit learns from rows of the Gram matrix with the class of each, in place of what was learned before.
// Repeated rows count repeatedly. Fit does not keep the matrix. A single class, a matrix that is not
// symmetric or not finite, C < 0, and no optimum within MaxSteps are errors.
func (m *SVM) Fit(ctx context.Context, k *Gram, rows, class []int32) error {
	if err := k.Check(); err != nil {
		return err
	}
	all, err := m.path(ctx, k, rows, class, []float64{m.C})
	if err == nil {
		*m = all[0]
	}
	return err
}

// Path learns from the training rows of a split for each cost of c, which ascends, and scores the test rows: the
// number of correct rows, and the hinge loss of the decisions between the class of a row and the others. class has
// the class of each row of the matrix, which Path does not check: see [Gram.Check]. If all training rows are of one
// class, that is the answer. C is not used.
//
// The search for a cost begins at the optimum of the cost before it. A MaxSteps of 0 is here a million for up to 500
// rows. For more rows it limits a fit to about a second: 5·10⁸ steps over the number of rows, or 10 steps for each row
// if that is more, from 7071 rows on. Kernels of few dimensions would take millions of steps for a high cost without a
// better result. A cost whose search ends there scores as the cost before it, and fits is the number of the others. The
// first search must find its optimum.
func (m SVM) Path(ctx context.Context, k *Gram, class []int32, c []float64, s validation.Split) (correct []int, loss []float64, fits int, err error) {
	switch {
	case len(c) == 0 || !(c[0] > 0) || math.IsInf(c[len(c)-1], 1) || !slices.IsSorted(c):
		return nil, nil, 0, fmt.Errorf("graphkernel: svm: C is %v, want positive numbers that ascend", c)
	case k.N != len(class):
		return nil, nil, 0, fmt.Errorf("graphkernel: svm: a matrix of %d rows for %d classes", k.N, len(class))
	case len(s.Train) == 0:
		return nil, nil, 0, errors.New("graphkernel: svm: there are no rows to learn from")
	}
	of := make([]int32, len(s.Train))
	for i, row := range s.Train {
		of[i] = class[row]
	}
	m.MaxSteps = cmp.Or(m.MaxSteps, pathSteps(len(s.Train)))
	all := make([]SVM, len(c))
	if slices.Min(of) == slices.Max(of) {
		for i := range all {
			all[i].classes = of[:1]
		}
	} else if all, err = m.path(ctx, k, s.Train, of, c); err != nil {
		return nil, nil, 0, err
	}
	correct, loss = make([]int, len(c)), make([]float64, len(c))
	var d []float64
	for i := range c {
		if i >= len(all) {
			correct[i], loss[i] = correct[i-1], loss[i-1]
			continue
		}
		for _, row := range s.Test {
			d = all[i].Decide(k.Row(int(row)), d[:0])
			if all[i].vote(d) == class[row] {
				correct[i]++
			}
			loss[i] += all[i].missed(d, class[row])
		}
	}
	return correct, loss, len(all), nil
}

// pathSteps returns the maximum number of steps of a fit. Up to 500 rows it is a million: there, one or two rows decide between
// high values of C, and a lower limit changed the accuracy of a nested cross-validation on PTC by 1 %. For more rows it is about
// a second of work, but at least 10 steps for each row.
func pathSteps(rows int) int {
	const most, work = 1_000_000, 500_000_000
	return max(10*rows, min(most, work/max(rows, 1)))
}

// path returns a machine for each C in c, which ascends; a C of 0 is 1. The search for a C begins at the optimum
// of the C before it. If MaxSteps ends a search except the first, only the machines before it are returned.
func (m *SVM) path(ctx context.Context, k *Gram, rows, class []int32, c []float64) ([]SVM, error) {
	all := make([]SVM, len(c))
	for i := range all {
		all[i] = SVM{C: c[i], Tolerance: m.Tolerance, MaxSteps: m.MaxSteps}
		if err := all[i].resolve(); err != nil {
			return nil, err
		}
	}
	for _, r := range rows {
		if r < 0 || int(r) >= k.N {
			return nil, fmt.Errorf("graphkernel: svm: row %d of a matrix of %d", r, k.N)
		}
	}
	if len(rows) != len(class) {
		return nil, fmt.Errorf("graphkernel: svm: %d rows and %d classes", len(rows), len(class))
	}
	classes := slices.Compact(slices.Sorted(slices.Values(class)))
	if len(classes) < 2 {
		return nil, errors.New("graphkernel: svm: fewer than two classes to tell apart")
	}
	for i := range all {
		all[i].classes = classes
	}
	for a := range classes {
		for b := a + 1; b < len(classes); b++ {
			n, err := fitPair(ctx, k, rows, class, a, b, all)
			if all = all[:n]; err != nil && (n == 0 || !errors.Is(err, errNoEnd)) {
				return nil, fmt.Errorf("classes %d and %d: %w", classes[a], classes[b], err)
			}
		}
	}
	return all, nil
}

// resolve sets the defaults of zero settings and checks all.
func (m *SVM) resolve() error {
	m.C, m.Tolerance = cmp.Or(m.C, 1), cmp.Or(m.Tolerance, 1e-3)
	switch {
	case !(m.C > 0) || !kernel.Finite(m.C):
		return fmt.Errorf("graphkernel: svm: C is %v, want a positive number", m.C)
	case !(m.Tolerance > 0 && m.Tolerance < 2): // with 2 no step is needed
		return fmt.Errorf("graphkernel: svm: Tolerance is %v, want a positive number below 2", m.Tolerance)
	case m.MaxSteps < 0:
		return fmt.Errorf("graphkernel: svm: MaxSteps is %d, want 0 or more", m.MaxSteps)
	}
	return nil
}

// fitPair fits a pair of classes for each machine in turn, and returns the number of fitted machines.
func fitPair(ctx context.Context, k *Gram, rows, class []int32, a, b int, all []SVM) (int, error) {
	classes := all[0].classes
	p := svmProblem{rows: k, tolerance: all[0].Tolerance, maxSteps: all[0].MaxSteps}
	for y, of := range []int32{classes[a], classes[b]} {
		for i, r := range rows {
			if class[i] == of {
				p.place, p.y = append(p.place, r), append(p.y, float64(1-2*y))
			}
		}
	}
	if p.maxSteps == 0 {
		p.maxSteps = max(10_000_000, 100*len(p.place))
	}
	p.start()
	for i := range all {
		m := &all[i]
		bias, err := p.solve(ctx, m.C)
		if err != nil {
			return i, err
		}
		pair := svmPair{a: a, b: b, bias: bias}
		for i, alpha := range p.alpha {
			if alpha > 0 {
				pair.support = append(pair.support, support{p.place[i], p.y[i] * alpha})
			}
		}
		slices.SortStableFunc(pair.support, func(a, b support) int { return cmp.Compare(a.row, b.row) })
		m.pairs = append(m.pairs, pair)
	}
	return len(all), nil
}

// Support returns the rows of the matrix that are support vectors, ascending.
func (m *SVM) Support() []int32 {
	var all []int32
	for _, p := range m.pairs {
		for _, v := range p.support {
			all = append(all, v.row)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Decide appends to dst the decision of each pair of classes, 0 and 1, 0 and 2, …, in ascending order of the
// classes, for a row with the similarities k to the rows of the matrix. It is positive for the first class of
// the pair.
func (m *SVM) Decide(k []float64, dst []float64) []float64 {
	for _, p := range m.pairs {
		sum := p.bias
		for _, v := range p.support {
			sum += v.coef * k[v.row]
		}
		dst = append(dst, sum)
	}
	return dst
}

// Class returns the class with the most votes of pairs, the first of equals. It returns -1 before Fit, and if
// a decision is not finite.
func (m *SVM) Class(k []float64) int32 {
	decisions := m.Decide(k, nil)
	if len(m.pairs) == 0 || slices.ContainsFunc(decisions, func(d float64) bool { return !kernel.Finite(d) }) {
		return -1
	}
	return m.vote(decisions)
}

// vote returns the class that most decisions between two classes prefer, of equal ones the smallest.
func (m *SVM) vote(decisions []float64) int32 {
	votes := make([]int, len(m.classes))
	for i, d := range decisions {
		if d > 0 {
			votes[m.pairs[i].a]++
		} else {
			votes[m.pairs[i].b]++
		}
	}
	return m.classes[slices.Index(votes, slices.Max(votes))]
}

// missed returns the hinge loss of the decisions about a row of that class.
func (m *SVM) missed(decisions []float64, class int32) (sum float64) {
	for i, p := range m.pairs {
		switch class {
		case m.classes[p.a]:
			sum += max(0, 1-decisions[i])
		case m.classes[p.b]:
			sum += max(0, 1+decisions[i])
		}
	}
	return sum
}
