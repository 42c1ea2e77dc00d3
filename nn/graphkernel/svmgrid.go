package graphkernel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/sanflow/sanflow/nn/validation"
)

// SVMGrid lets a cross-validation learn by support vector machines on Gram matrices. A variant is a
// matrix, one at a time in memory.
//
// MaxSteps is a million for up to 500 rows. For more rows it limits a fit to about a second: 5·10⁸
// steps over the number of rows, or 10 steps for each row if that is more, from 7071 rows on.
// Kernels of few dimensions would take millions of steps for a high C without a better result. A C
// whose search this limit ends scores as the C before it; see Bounded.
type SVMGrid struct {
	// Class has the class of each row of the matrices.
	Class []int32
	// C is positive and ascends; the default is 10⁻³, 10⁻², … 10³.
	C []float64
	// Gram returns the matrix of a variant, which must not change afterwards. Gram
	// must be set.
	Gram func(ctx context.Context, variant int) (*Gram, error)

	svm     SVM // settings except C
	now     *Gram
	bounded []atomic.Int64 // for each C, the number of trials that MaxSteps ended
}

// Bounded returns for each C the number of trials in which MaxSteps ended the search for it, or for a smaller
// C.
func (g *SVMGrid) Bounded() []int {
	trials := make([]int, len(g.bounded))
	for i := range trials {
		trials[i] = int(g.bounded[i].Load())
	}
	return trials
}

// Prepare makes the matrix of a variant.
func (g *SVMGrid) Prepare(ctx context.Context, variant int) (err error) {
	if len(g.C) == 0 {
		g.C = []float64{1e-3, 1e-2, 1e-1, 1, 10, 100, 1000}
	}
	if !slices.IsSorted(g.C) || !(g.C[0] > 0) {
		return fmt.Errorf("graphkernel: svm: C is %v, want positive numbers that ascend", g.C)
	}
	if len(g.bounded) != len(g.C) {
		g.bounded = make([]atomic.Int64, len(g.C))
	}
	if g.Gram == nil {
		return errors.New("graphkernel: svm: a grid needs Gram, the matrix of a variant")
	}
	g.now = nil // frees the matrix before the next one is made
	now, err := g.Gram(ctx, variant)
	if err != nil {
		return err
	}
	if now.N != len(g.Class) {
		return fmt.Errorf("graphkernel: svm: a matrix of %d rows for %d classes", now.N, len(g.Class))
	}
	if err := now.Check(); err != nil {
		return err
	}
	g.now = now
	return nil
}

// Learn learns from the training rows of a split for each C, and scores the test rows: the number
// of correct rows, and the hinge loss of the decisions between the class of a row and the others.
// If all training rows are of one class, that is the answer.
func (g *SVMGrid) Learn(ctx context.Context, t validation.Split) (correct []int, loss []float64, err error) {
	switch {
	case g.now == nil:
		return nil, nil, errors.New("graphkernel: svm: a grid learns after Prepare")
	case len(t.Train) == 0:
		return nil, nil, errors.New("graphkernel: svm: there are no rows to learn from")
	}
	class := make([]int32, len(t.Train))
	for i, row := range t.Train {
		class[i] = g.Class[row]
	}
	correct, loss = make([]int, len(g.C)), make([]float64, len(g.C))
	if slices.Min(class) == slices.Max(class) {
		for i := range correct {
			for _, row := range t.Test {
				if g.Class[row] == class[0] {
					correct[i]++
				}
			}
		}
		return correct, loss, nil
	}
	svm := g.svm
	if svm.MaxSteps == 0 {
		svm.MaxSteps = gridSteps(len(t.Train))
	}
	all, err := svm.learnPath(ctx, g.now, t.Train, class, g.C)
	if err != nil {
		return nil, nil, err
	}
	var d []float64
	for i := range g.C {
		if i >= len(all) {
			correct[i], loss[i] = correct[i-1], loss[i-1]
			g.bounded[i].Add(1)
			continue
		}
		for _, row := range t.Test {
			d = all[i].Decide(g.now.Row(int(row)), d[:0])
			if all[i].vote(d) == g.Class[row] {
				correct[i]++
			}
			loss[i] += all[i].missed(d, g.Class[row])
		}
	}
	return correct, loss, nil
}

// gridSteps returns the maximum number of steps of a fit. Up to 500 rows it is a million: there, one or two rows decide between
// high values of C, and a lower limit changed the accuracy of a nested cross-validation on PTC by 1 %. For more rows it is about
// a second of work, but at least 10 steps for each row.
func gridSteps(rows int) int {
	const most, work = 1_000_000, 500_000_000
	return max(10*rows, min(most, work/max(rows, 1)))
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
