package nn

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// SVM is a support vector machine for classes on a kernel (C-SVC: Cortes and
// Vapnik, "Support-vector networks", 1995), one against one where there are more
// than two classes. It is what the kernels that the PATCHY-SAN paper compares with
// are fed to:
//
//	gram, err := nn.GramOf(ctx, counts, nn.Cosine, 2)
//	svm := nn.SVM{C: 10}
//	err = svm.Fit(ctx, gram, rows, classes) // rows of gram to learn from
//	class := svm.Class(gram.Row(i))         // of any row of it
//
// It gives no probabilities. A fit costs about O(rows² to rows³) and next to no
// memory beside the matrix.
type SVM struct {
	C         float64 // the price of a row on the wrong side; 0 = 1
	Tolerance float64 // how far the conditions of an optimum may be missed; 0 = 1e-3
	// MaxSteps bounds the steps for a pair of classes; an end there is an error.
	// 0 = 10 million, or 100 for each row where that is more.
	MaxSteps int

	classes []int32   // ascending
	pairs   []svmPair // 0 and 1, 0 and 2, … 1 and 2, …
	steps   int
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
// not symmetric or not finite, C ≤ 0, or no end within MaxSteps are errors.
func (m *SVM) Fit(ctx context.Context, k *Gram, rows, class []int32) error {
	if m.C == 0 {
		m.C = 1
	}
	if m.Tolerance == 0 {
		m.Tolerance = 1e-3
	}
	switch {
	case !(m.C > 0) || !finite(m.C):
		return fmt.Errorf("nn: svm: C is %v, want a positive number", m.C)
	case !(m.Tolerance > 0):
		return fmt.Errorf("nn: svm: Tolerance is %v, want a positive number", m.Tolerance)
	case m.MaxSteps < 0:
		return fmt.Errorf("nn: svm: MaxSteps is %d, want 0 or more", m.MaxSteps)
	case len(rows) != len(class):
		return fmt.Errorf("nn: svm: %d rows and %d classes", len(rows), len(class))
	}
	for _, r := range rows {
		if r < 0 || int(r) >= k.N {
			return fmt.Errorf("nn: svm: row %d of a matrix of %d", r, k.N)
		}
	}
	if err := k.Check(); err != nil {
		return err
	}
	classes := slices.Compact(slices.Sorted(slices.Values(class)))
	if len(classes) < 2 {
		return errors.New("nn: svm: fewer than two classes to tell apart")
	}
	var pairs []svmPair
	steps := 0
	for a := range classes {
		for b := a + 1; b < len(classes); b++ {
			pair, n, err := m.fit(ctx, k, rows, class, classes, a, b)
			if err != nil {
				return err
			}
			pairs = append(pairs, pair)
			steps += n
		}
	}
	m.classes, m.pairs, m.steps = classes, pairs, steps
	return nil
}

// fit learns to tell two classes apart.
func (m *SVM) fit(ctx context.Context, k *Gram, rows, class, classes []int32, a, b int) (svmPair, int, error) {
	p := svmProblem{gram: k, c: m.C, tolerance: m.Tolerance, maxSteps: m.MaxSteps}
	for i, r := range rows {
		switch class[i] {
		case classes[a]:
			p.rows, p.y = append(p.rows, r), append(p.y, 1)
		case classes[b]:
			p.rows, p.y = append(p.rows, r), append(p.y, -1)
		}
	}
	if p.maxSteps == 0 {
		p.maxSteps = max(10_000_000, 100*len(p.rows))
	}
	bias, err := p.solve(ctx)
	if err != nil {
		return svmPair{}, 0, fmt.Errorf("classes %d and %d: %w", classes[a], classes[b], err)
	}
	pair := svmPair{a: a, b: b, bias: bias}
	for i, alpha := range p.alpha {
		if alpha > 0 {
			pair.rows, pair.coef = append(pair.rows, p.rows[i]), append(pair.coef, p.y[i]*alpha)
		}
	}
	return pair, p.steps, nil
}

// Classes returns the classes that were learned, ascending.
func (m *SVM) Classes() []int32 { return slices.Clone(m.classes) }

// Steps returns how many steps the last Fit took.
func (m *SVM) Steps() int { return m.steps }

// Support returns the rows of the matrix that decide, ascending.
func (m *SVM) Support() []int32 {
	var all []int32
	for _, p := range m.pairs {
		all = append(all, p.rows...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Decide returns the decision of each pair of classes, 0 and 1, 0 and 2, …, in
// the order of Classes, for something whose similarities to the rows of the
// matrix are k: positive for the first of the two. The result is appended to dst.
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
// before Fit.
func (m *SVM) Class(k []float64) int32 {
	votes := make([]int, len(m.classes))
	best, most := int32(-1), 0
	for i, d := range m.Decide(k, nil) {
		if d > 0 {
			votes[m.pairs[i].a]++
		} else {
			votes[m.pairs[i].b]++
		}
	}
	for i, n := range votes {
		if n > most {
			best, most = m.classes[i], n
		}
	}
	return best
}
