package graphkernel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
	"github.com/sanflow/sanflow/nn/internal/tensors"
)

var _ nn.Saver = (*SVM)(nil)

const svmKind = "svm"

func init() { modelfile.Register(svmKind, (*SVM).restore) }

// FitCounts learns from all rows of c, of the classes given, on their Gram matrix by Kernel, which
// takes 8·n² bytes. The rows that became support vectors are copied into the model.
func (m *SVM) FitCounts(ctx context.Context, c *nn.Counts, class []int32) error {
	next := *m
	if err := next.resolve(); err != nil {
		return err
	}
	gram, err := GramOf(ctx, c, next.Kernel, 1)
	if err != nil {
		return err
	}
	rows := make([]int32, c.Len())
	for i := range rows {
		rows[i] = int32(i)
	}
	if err := next.Fit(ctx, gram, rows, class); err != nil {
		return err
	}
	if next.shape = m.shape; len(next.shape.Counts) > 0 {
		if err := next.checkClasses(next.shape); err != nil {
			return fmt.Errorf("graphkernel: svm: %w", err)
		}
	}
	support := next.Support()
	next.kept = new(nn.Counts)
	for _, row := range support {
		next.kept.Append(c.Row(int(row)))
	}
	for _, p := range next.pairs {
		for i, row := range p.rows {
			at, _ := slices.BinarySearch(support, row)
			p.rows[i] = int32(at)
		}
	}
	*m = next
	return nil
}

// errMatrix is the error of asking a machine on a matrix for anything else.
var errMatrix = errors.New("graphkernel: svm: it has not learned from counts")

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
	if m.Trained() && m.kept == nil {
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

// Shape returns the shape from Init or a file.
func (m *SVM) Shape() nn.Shape { return countShape(m.shape) }

// countShape returns the part of a shape that a machine reads.
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
	switch {
	case m.kept == nil:
		return nil, nn.ErrUntrained
	case len(m.shape.Counts) == 0:
		return nil, nn.ErrNotReady
	case b.Counts == nil:
		return nil, errors.New("nn: batch: Counts is missing")
	}
	n := m.shape.Classes
	dst, p, err := tensors.Result(dst, b.Counts.Len(), n)
	if err != nil {
		return dst, err
	}
	k, err := Compare(context.Background(), b.Counts, m.kept, m.Kernel, 1)
	if err != nil {
		return nil, err
	}
	clear(p)
	for i := range b.Counts.Len() {
		decisions := m.Decide(k[i*m.kept.Len():(i+1)*m.kept.Len()], nil)
		if err := checkDecisions(decisions); err != nil {
			return nil, &nn.RowError{Row: i, Err: err}
		}
		for c, votes := range m.votes(decisions) {
			p[i*n+int(m.classes[c])] = float32(votes) / float32(len(m.pairs))
		}
	}
	return dst, nil
}

// savedSVM is what a file says of a machine beside its shape and tensors.
type savedSVM struct {
	C         float64       `json:"c"`
	Tolerance float64       `json:"tolerance"`
	Kernel    nn.Similarity `json:"kernel"`
	// Learned tells of each class of the shape whether it was learned: a file has no room for the
	// claim of more classes.
	Learned []bool `json:"learned"`
}

// Save writes a safetensors file of a machine that has learned from counts, after Init. For p pairs
// of classes and v support vectors with z counts it has
//
//	bias (p)   coef (p, v)             float64; coef is 0 where a vector is none of the pair
//	at (v+1)   ids (z)      counts (z) the support vectors, as Counts has them
func (m *SVM) Save(w io.Writer) error {
	switch {
	case !m.Trained():
		return nn.ErrUntrained
	case m.kept == nil:
		return errMatrix
	case len(m.shape.Counts) == 0:
		return nn.ErrNotReady
	}
	v := m.kept.Len()
	var bias []float64
	coef := make([]float64, len(m.pairs)*v)
	for i, p := range m.pairs {
		bias = append(bias, p.bias)
		for j, row := range p.rows {
			coef[i*v+int(row)] += p.coef[j]
		}
	}
	at := make([]uint64, v+1)
	for i, end := range m.kept.Offsets {
		at[i] = uint64(end)
	}
	f := &modelfile.File{Kind: svmKind, Info: m.info, Tensors: []modelfile.Tensor{
		modelfile.Vector("bias", bias), {Name: "coef", Shape: []int{len(bias), v}, F64: coef}, modelfile.Vector("at", at),
	}}
	if len(m.kept.IDs) > 0 {
		f.Tensors = append(f.Tensors, modelfile.Vector("ids", m.kept.IDs), modelfile.Vector("counts", m.kept.Values))
	}
	saved := savedSVM{C: m.C, Tolerance: m.Tolerance, Kernel: m.Kernel, Learned: make([]bool, m.shape.Classes)}
	for _, c := range m.classes {
		saved.Learned[c] = true
	}
	return modelfile.Save(w, f, map[string]any{modelfile.Shape: m.shape, modelfile.Settings: saved})
}

// Metadata returns the notes that Save writes, never nil. The caller may change them.
func (m *SVM) Metadata() map[string]string { return modelfile.Metadata(&m.info) }

func (m *SVM) restore(f *modelfile.File) error {
	next := SVM{info: f.Info}
	var saved savedSVM
	if err := f.Open(svmKind, &saved); err != nil {
		return err
	}
	if err := f.Get(modelfile.Shape, &next.shape); err != nil {
		return err
	}
	next.C, next.Tolerance, next.Kernel = saved.C, saved.Tolerance, saved.Kernel
	for c, learned := range saved.Learned {
		if learned {
			next.classes = append(next.classes, int32(c))
		}
	}
	if err := next.resolve(); err != nil {
		return err
	}
	switch {
	case saved.C == 0 || saved.Tolerance == 0 || saved.Kernel == "":
		return fmt.Errorf("settings: C is %v, the tolerance %v and the kernel %q", saved.C, saved.Tolerance, saved.Kernel)
	case len(next.classes) < 2 || len(saved.Learned) != next.shape.Classes:
		return fmt.Errorf("settings: %d classes, of which %d were learned, and the shape has %d", len(saved.Learned), len(next.classes), next.shape.Classes)
	case len(next.shape.Counts) == 0:
		return errors.New("shape: there are no counts")
	}
	if err := next.shape.Check(countShape(next.shape)); err != nil {
		return fmt.Errorf("shape: %w", err)
	}
	t := map[string]modelfile.Tensor{}
	for _, one := range f.Tensors {
		t[one.Name] = one
	}
	next.kept = &nn.Counts{IDs: t["ids"].U64, Values: t["counts"].F64}
	for _, end := range t["at"].U64 {
		next.kept.Offsets = append(next.kept.Offsets, int(min(end, math.MaxInt32)))
	}
	if err := checkCounts(next.Kernel, next.kept); err != nil {
		return err
	}
	bias, coef, n, v := t["bias"].F64, t["coef"].F64, len(next.classes), next.kept.Len()
	if pairs := n * (n - 1) / 2; len(bias) != pairs || !slices.Equal(t["coef"].Shape, []int{pairs, v}) || len(coef) != pairs*v {
		return fmt.Errorf("%d classes and %d support vectors, with %d biases and coefficients of the shape %v", n, v, len(bias), t["coef"].Shape)
	}
	for a := range n {
		for b := a + 1; b < n; b++ {
			i := len(next.pairs)
			p := svmPair{a: a, b: b, bias: bias[i]}
			sum, largest := 0.0, 1.0
			for row, x := range coef[i*v : (i+1)*v] {
				switch {
				case !(math.Abs(x) <= next.C*(1+1e-9)):
					return fmt.Errorf("pair %d: support vector %d has the coefficient %v, and C is %v", i, row, x, next.C)
				case x != 0:
					p.rows, p.coef = append(p.rows, int32(row)), append(p.coef, x)
					sum += math.Abs(x)
					if !unit(next.Kernel) {
						_, values := next.kept.Row(row)
						largest = max(largest, self(next.Kernel, values))
					}
				}
			}
			// The bias moves the decision of a support vector, a sum of coefficients times
			// similarities, to the margin at ±1, but for the tolerance.
			if len(p.rows) == 0 || !(math.Abs(p.bias) <= (3+sum*largest)*(1+1e-9)) {
				return fmt.Errorf("pair %d has the bias %v and %d support vectors", i, p.bias, len(p.rows))
			}
			next.pairs = append(next.pairs, p)
		}
	}
	*m = next
	return nil
}
