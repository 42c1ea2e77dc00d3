package nn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/tensor"
)

var (
	_ Forker    = (*SVM)(nil)
	_ Noted     = (*SVM)(nil)
	_ Evaluator = (*SVM)(nil)
)

// FitCounts learns from all rows of c, of the classes given, compared by Kernel.
// It is Fit on their Gram matrix, to the same result but for rounding, which is
// computed row by row, as far as it is needed, and kept as far as Cache allows. The
// rows that became support vectors are copied into the model.
func (m *SVM) FitCounts(ctx context.Context, c *Counts, class []int32) error {
	kernel, cache := cmp.Or(m.Kernel, Cosine), cmp.Or(m.Cache, 256<<20)
	if err := kernel.checkCounts(c); err != nil {
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
			return fmt.Errorf("nn: svm: %w", err)
		}
	}
	next.adopt(c)
	*m = next
	return nil
}

// adopt copies the support vectors from c, and numbers them from 0.
func (m *SVM) adopt(c *Counts) {
	support := m.support()
	m.origin, m.kept = support, new(Counts)
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
var errMatrix = errors.New("nn: svm: it has not learned from counts")

// Similar returns how similar a row of counts is to each of the support vectors of
// FitCounts, for Decide and Class. The result is appended to dst.
func (m *SVM) Similar(ids []uint64, values []float64, dst []float64) ([]float64, error) {
	if !m.Trained() {
		return dst, ErrUntrained
	}
	if m.kept == nil {
		return dst, errMatrix
	}
	one := Counts{Offsets: []int{0, len(ids)}, IDs: ids, Values: values}
	_, err := one.check()
	if err == nil {
		err = m.Kernel.checkRow(ids, values)
	}
	if err != nil {
		return dst, fmt.Errorf("nn: svm: %w", err)
	}
	from, n := len(dst), m.kept.Len()
	dst = slices.Grow(dst, n)[:from+n]
	k := dst[from:]
	clear(k)
	m.words.compare(ids, values, m.Kernel.least(), nil, k)
	if m.Kernel.unit() {
		scaleCosine(k, m.Kernel.length(values), m.size)
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
		if !finite(d) {
			return fmt.Errorf("nn: svm: a decision is %v: the counts are too large", d)
		}
	}
	return nil
}

// Init says of which shape the counts are that Predict is asked about. The shape
// must have counts and, where FitCounts came before, all of its classes.
func (m *SVM) Init(s Shape) error {
	s = s.of(true)
	if len(s.Counts) == 0 {
		return errors.New("an SVM looks at counts, and there are none")
	}
	if len(m.shape.Counts) > 0 {
		return m.shape.check(s)
	}
	if err := m.checkClasses(s); err != nil {
		return err
	}
	m.shape = s.clone()
	return nil
}

// checkClasses returns an error where a class that was learned is none of s.
func (m *SVM) checkClasses(s Shape) error {
	for _, c := range m.classes {
		if c < 0 || int(c) >= s.Classes {
			return fmt.Errorf("the model has learned class %d, the data have %d classes", c, s.Classes)
		}
	}
	return nil
}

// Shape returns what Init was called with or Load has read.
func (m *SVM) Shape() Shape { return m.shape.clone() }

// Fork returns a machine that shares the support vectors, which Predict does not
// change; see Forker.
func (m *SVM) Fork() Predictor {
	if m.kept == nil {
		return nil
	}
	f := *m
	return &f
}

// Predict returns for each row of b.Counts the share of the votes of pairs that
// each class has, float32 (B, classes): an SVM knows no probabilities. Of classes
// with the same share Class takes the first.
func (m *SVM) Predict(b Batch, dst *tensor.Dense) (*tensor.Dense, error) {
	in, err := m.open(b, false)
	if err != nil {
		return nil, err
	}
	dst, p, err := result(dst, in.rows, m.shape.Classes)
	if err != nil {
		return dst, err
	}
	n := m.shape.Classes
	err = m.decideAll(in, func(row int, decisions []float64) { m.shares(decisions, p[row*n:(row+1)*n]) })
	if err != nil {
		return nil, err
	}
	return dst, nil
}

// Evaluate tests the machine on a batch with targets. The loss of a row is by how
// much the decisions between its class and each other miss the margin, added up: of
// two classes the hinge loss. A class that was not learned has none, and is never
// right.
func (m *SVM) Evaluate(b Batch) (Result, error) {
	in, err := m.open(b, true)
	if err != nil || in.rows == 0 {
		return Result{}, err
	}
	for i, class := range in.targets {
		if class < 0 || int(class) >= m.shape.Classes {
			return Result{}, rowErrorf(i, "class %d, want 0 to %d", class, m.shape.Classes-1)
		}
	}
	t := tally{rows: in.rows}
	err = m.decideAll(in, func(row int, decisions []float64) {
		if m.vote(decisions) == in.targets[row] {
			t.correct++
		}
		t.loss += m.missed(decisions, in.targets[row])
	})
	if err != nil {
		return Result{}, err
	}
	return t.result(), nil
}

// open is that of b for a machine that can answer.
func (m *SVM) open(b Batch, targets bool) (batch, error) {
	switch {
	case m.kept == nil:
		return batch{}, ErrUntrained
	case len(m.shape.Counts) == 0:
		return batch{}, ErrNotReady
	}
	return b.open(m.shape, targets)
}

// decideAll calls f with the decisions about each row.
func (m *SVM) decideAll(in batch, f func(row int, decisions []float64)) (err error) {
	var k, decisions []float64
	for i := range in.rows {
		ids, values := in.counts.Row(i)
		if k, err = m.Similar(ids, values, k[:0]); err != nil {
			return &RowError{i, err}
		}
		decisions = m.Decide(k, decisions[:0])
		if err := checkDecisions(decisions); err != nil {
			return &RowError{i, err}
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
