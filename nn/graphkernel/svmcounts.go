package graphkernel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/tensors"
)

var (
	_ nn.Saver     = (*SVM)(nil)
	_ nn.Evaluator = (*SVM)(nil)
)

// FitCounts learns from all rows of c, of the classes given, compared by Kernel. The result equals
// the result of Fit on their Gram matrix, up to rounding. Rows of the matrix are computed when
// needed and kept within Cache. The rows that became support vectors are copied into the model.
func (m *SVM) FitCounts(ctx context.Context, c *nn.Counts, class []int32) error {
	kernel, cache := cmp.Or(m.Kernel, nn.Cosine), cmp.Or(m.Cache, 256<<20)
	if err := checkCounts(kernel, c); err != nil {
		return err
	}
	rows := make([]int32, c.Len())
	for i := range rows {
		rows[i] = int32(i)
	}
	k := newCountRows(c, kernel, cache)
	next, err := m.learn(ctx, k, rows, class)
	if err != nil {
		return err
	}
	if next.shape = m.shape; len(next.shape.Counts) > 0 {
		if err := next.checkClasses(next.shape); err != nil {
			return fmt.Errorf("graphkernel: svm: %w", err)
		}
	}
	next.adopt(c)
	*m = next
	return nil
}

// adopt copies the support vectors from c, and numbers them from 0.
func (m *SVM) adopt(c *nn.Counts) {
	support := m.support()
	m.origin, m.kept = support, new(nn.Counts)
	for _, row := range support {
		m.kept.Append(c.Row(int(row)))
	}
	for _, p := range m.pairs {
		for i, row := range p.rows {
			at, _ := slices.BinarySearch(support, row)
			p.rows[i] = int32(at)
		}
	}
	m.index()
}

// index makes ready what is asked of the support vectors.
func (m *SVM) index() { m.words, m.size = newPostings(m.kept), lengths(m.kept, m.Kernel) }

// errMatrix is the error of asking a machine on a matrix for anything else.
var errMatrix = errors.New("graphkernel: svm: it has not learned from counts")

// Similar returns how similar a row of counts is to each of the support vectors of
// FitCounts, for Decide and Class. The result is appended to dst.
func (m *SVM) Similar(ids []uint64, values []float64, dst []float64) ([]float64, error) {
	if !m.Trained() {
		return dst, nn.ErrUntrained
	}
	if m.kept == nil {
		return dst, errMatrix
	}
	one := nn.Counts{Offsets: []int{0, len(ids)}, IDs: ids, Values: values}
	if err := checkCounts(m.Kernel, &one); err != nil {
		var row *nn.RowError
		if errors.As(err, &row) {
			err = row.Err
		}
		return dst, fmt.Errorf("graphkernel: svm: %w", err)
	}
	from, n := len(dst), m.kept.Len()
	dst = slices.Grow(dst, n)[:from+n]
	k := dst[from:]
	clear(k)
	m.words.compare(ids, values, minima(m.Kernel), nil, k)
	if unit(m.Kernel) {
		scaleCosine(k, math.Sqrt(self(m.Kernel, values)), m.size)
	}
	return dst, nil
}

// Classify returns the class of a row of counts, ids ascending, which need not be
// among those learned from; see Class.
func (m *SVM) Classify(ids []uint64, values []float64) (int32, error) {
	k, err := m.Similar(ids, values, nil)
	if err != nil {
		return -1, err
	}
	decisions := m.Decide(k, nil)
	if err := checkDecisions(decisions); err != nil {
		return -1, err
	}
	return m.vote(decisions), nil
}

// checkDecisions returns an error for a decision that large counts have made no
// number.
func checkDecisions(decisions []float64) error {
	for _, d := range decisions {
		if !kernel.Finite(d) {
			return fmt.Errorf("graphkernel: svm: a decision is %v: the counts are too large", d)
		}
	}
	return nil
}

// Init sets the shape of the counts for Predict. The shape must have counts and, where FitCounts
// came before, all of its classes.
func (m *SVM) Init(s nn.Shape) error {
	s = countShape(s)
	if len(s.Counts) == 0 {
		return errors.New("an SVM reads counts, and there are none")
	}
	if len(m.shape.Counts) > 0 {
		return m.shape.Check(s)
	}
	if m.Trained() && m.kept == nil { // no rows but those of its matrix can be asked about
		return errMatrix
	}
	if err := m.checkClasses(s); err != nil {
		return err
	}
	m.shape = s
	return nil
}

// checkClasses returns an error where a class that was learned is none of s.
func (m *SVM) checkClasses(s nn.Shape) error {
	for _, c := range m.classes {
		if c < 0 || int(c) >= s.Classes {
			return fmt.Errorf("the model has learned class %d, the data have %d classes", c, s.Classes)
		}
	}
	return nil
}

// Shape returns the shape from Init or Load.
func (m *SVM) Shape() nn.Shape { return countShape(m.shape) }

// countShape returns the part of a shape that a machine looks at.
func countShape(s nn.Shape) nn.Shape {
	return nn.Shape{Counts: slices.Clone(s.Counts), Classes: s.Classes}
}

// Clone returns a machine that shares the support vectors, which Predict does not
// change; see nn.Predictor.
func (m *SVM) Clone() nn.Predictor {
	if m.kept == nil {
		return nil
	}
	f := *m
	return &f
}

// Predict returns for each row of b.Counts the share of the votes of pairs for each class, float32
// (B, classes). An SVM has no probabilities. Of classes with the same share Class takes the first.
func (m *SVM) Predict(b nn.Batch, dst *tensor.Dense) (*tensor.Dense, error) {
	if _, err := m.open(b, false); err != nil {
		return nil, err
	}
	n := m.shape.Classes
	dst, p, err := tensors.Result(dst, b.Counts.Len(), n)
	if err != nil {
		return dst, err
	}
	err = m.decideAll(b.Counts, func(row int, decisions []float64) { m.shares(decisions, p[row*n:(row+1)*n]) })
	if err != nil {
		return nil, err
	}
	return dst, nil
}

// Evaluate tests the machine on a batch with targets. The loss of a row is by how
// much the decisions between its class and each other miss the margin, added up: of
// two classes the hinge loss. A class that was not learned has none, and is never
// right.
func (m *SVM) Evaluate(b nn.Batch) (r nn.Result, err error) {
	class, err := m.open(b, true)
	if err != nil || b.Counts.Len() == 0 {
		return r, err
	}
	for i, c := range class {
		if c < 0 || int(c) >= m.shape.Classes {
			return r, &nn.RowError{Row: i, Err: fmt.Errorf("class %d, want 0 to %d", c, m.shape.Classes-1)}
		}
	}
	r.Rows = len(class)
	err = m.decideAll(b.Counts, func(row int, decisions []float64) {
		if m.vote(decisions) == class[row] {
			r.Correct++
		}
		r.Loss += m.missed(decisions, class[row])
	})
	if err != nil {
		return nn.Result{}, err
	}
	r.Loss /= float64(r.Rows)
	return r, nil
}

// open checks the counts of a batch, and returns its targets if they are asked for.
func (m *SVM) open(b nn.Batch, targets bool) ([]int32, error) {
	switch {
	case m.kept == nil:
		return nil, nn.ErrUntrained
	case len(m.shape.Counts) == 0:
		return nil, nn.ErrNotReady
	case b.Counts == nil:
		return nil, errors.New("nn: batch: Counts is missing")
	}
	if err := b.Counts.Check(); err != nil || !targets || b.Counts.Len() == 0 {
		return nil, err
	}
	if err := tensors.Check("Targets", b.Targets, tensor.Int32, b.Counts.Len()); err != nil {
		return nil, err
	}
	return b.Targets.Int32s(), nil
}

// decideAll calls f with the decisions about each row.
func (m *SVM) decideAll(c *nn.Counts, f func(row int, decisions []float64)) (err error) {
	var k, decisions []float64
	for i := range c.Len() {
		ids, values := c.Row(i)
		if k, err = m.Similar(ids, values, k[:0]); err != nil {
			return &nn.RowError{Row: i, Err: err}
		}
		decisions = m.Decide(k, decisions[:0])
		if err := checkDecisions(decisions); err != nil {
			return &nn.RowError{Row: i, Err: err}
		}
		f(i, decisions)
	}
	return nil
}

// shares sets the share of the votes that each class of the shape has.
func (m *SVM) shares(decisions []float64, p []float32) {
	clear(p)
	for c, votes := range m.votes(decisions) {
		p[m.classes[c]] = float32(votes) / float32(len(m.pairs))
	}
}
