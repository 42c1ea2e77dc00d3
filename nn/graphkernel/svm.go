package graphkernel

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sanflow/sanflow/nn/internal/kernel"
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
	C         float64 // the price of a row on the wrong side; 0 = 1
	Tolerance float64 // how far the conditions of an optimum may be missed; 0 = 1e-3
	// MaxSteps bounds the steps for a pair of classes; an end there is an error.
	// 0 = 10 million, or 100 for each row if that is more.
	MaxSteps int

	classes []int32   // ascending
	pairs   []svmPair // 0 and 1, 0 and 2, … 1 and 2, …
}

// svmPair tells two classes apart: the first where Σ coef·K + bias > 0.
type svmPair struct {
	a, b int // indices into classes
	rows []int32
	coef []float64 // yᵢαᵢ of the support vectors, which are rows
	bias float64
}

// Fit learns from those rows of the Gram matrix, of the classes given, one of
// each row in rows; equal rows count as often as they are named. What was learned
// before is forgotten. The matrix is not kept. One class alone, a matrix that is
// not symmetric or not finite, C < 0, or no end within MaxSteps are errors.
func (m *SVM) Fit(ctx context.Context, k *Gram, rows, class []int32) error {
	if err := k.Check(); err != nil {
		return err
	}
	for _, r := range rows {
		if r < 0 || int(r) >= k.N {
			return fmt.Errorf("graphkernel: svm: row %d of a matrix of %d", r, k.N)
		}
	}
	next, err := m.learn(ctx, k, rows, class)
	if err == nil {
		*m = next
	}
	return err
}

// learn returns the machine that tells those rows of a kernel apart.
func (m *SVM) learn(ctx context.Context, k *Gram, rows, class []int32) (next SVM, err error) {
	all, err := m.learnPath(ctx, k, rows, class, []float64{m.C})
	if err != nil {
		return next, err
	}
	return all[0], nil
}

// learnPath returns a machine for each C, which ascend, 0 for 1. The search for one
// begins where that for the C before it has ended. If MaxSteps ends the search for
// one other than the first, there are only the machines before.
func (m *SVM) learnPath(ctx context.Context, k *Gram, rows, class []int32, c []float64) ([]SVM, error) {
	all := make([]SVM, len(c))
	for i := range all {
		all[i] = SVM{C: c[i], Tolerance: m.Tolerance, MaxSteps: m.MaxSteps}
		if err := all[i].resolve(); err != nil {
			return nil, err
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

// resolve replaces zero settings by what they stand for, and checks them.
func (m *SVM) resolve() error {
	if m.C == 0 {
		m.C = 1
	}
	if m.Tolerance == 0 {
		m.Tolerance = 1e-3
	}
	switch {
	case !(m.C > 0) || !kernel.Finite(m.C):
		return fmt.Errorf("graphkernel: svm: C is %v, want a positive number", m.C)
	case !(m.Tolerance > 0 && m.Tolerance < 2): // at 2 nothing need be learned
		return fmt.Errorf("graphkernel: svm: Tolerance is %v, want a positive number below 2", m.Tolerance)
	case m.MaxSteps < 0:
		return fmt.Errorf("graphkernel: svm: MaxSteps is %d, want 0 or more", m.MaxSteps)
	}
	return nil
}

// fitPair lets machines learn to tell two classes apart, one after the other, and
// returns how many have.
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
				pair.rows, pair.coef = append(pair.rows, p.place[i]), append(pair.coef, p.y[i]*alpha)
			}
		}
		pair.sort()
		m.pairs = append(m.pairs, pair)
	}
	return len(all), nil
}

// sort brings the support vectors in the order of their rows, in which they are
// added up.
func (p *svmPair) sort() {
	order := make([]int, len(p.rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return int(p.rows[i]) - int(p.rows[j]) })
	rows, coef := slices.Clone(p.rows), slices.Clone(p.coef)
	for to, from := range order {
		p.rows[to], p.coef[to] = rows[from], coef[from]
	}
}

// Support returns the rows of the matrix that are support vectors, ascending.
func (m *SVM) Support() []int32 {
	var all []int32
	for _, p := range m.pairs {
		all = append(all, p.rows...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Decide returns the decision of each pair of classes, 0 and 1, 0 and 2, …, in the order of Classes, for a row
// with the similarities k to the rows of the matrix. It is positive for the first class of the pair. The result is appended to dst.
func (m *SVM) Decide(k []float64, dst []float64) []float64 {
	for _, p := range m.pairs {
		sum := p.bias
		for i, r := range p.rows {
			sum += p.coef[i] * k[r]
		}
		dst = append(dst, sum)
	}
	return dst
}

// Class returns the class that most pairs vote for, the first of equals; -1
// before Fit, and if a decision is not a number.
func (m *SVM) Class(k []float64) int32 {
	decisions := m.Decide(k, nil)
	if len(m.pairs) == 0 || slices.ContainsFunc(decisions, func(d float64) bool { return !kernel.Finite(d) }) {
		return -1
	}
	return m.vote(decisions)
}

// vote returns the class that most decisions are for.
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
