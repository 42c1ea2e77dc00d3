package graphkernel

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
)

const svmKind = "svm"

func init() { modelfile.Register(svmKind, (*SVM).restore) }

// savedSVM is what a file says of a machine beside its tensors.
type savedSVM struct {
	C         float64       `json:"c"`
	Tolerance float64       `json:"tolerance"`
	Kernel    nn.Similarity `json:"kernel"`
	Classes   []int32       `json:"classes"`           // that were learned, ascending
	Missing   []int32       `json:"missing,omitempty"` // the other classes of the shape, ascending
	Bias      []float64     `json:"bias"`              // of each pair
	Support   []int         `json:"support"`           // how many support vectors each pair has
	Counts    bool          `json:"counts"`            // whether it learned from counts
}

// Save writes a safetensors file for Load: the float64 coefficients of all pairs, and their rows. A
// machine that has learned from counts has the support vectors in its file. A machine on a matrix
// has the numbers of the rows alone: it answers where the similarities to the same rows are given.
//
//	pairs.row (n)   pairs.coef (n)           n support vectors of all pairs
//	vectors.at (v+1)  .ids (z)  .counts (z)  the v different ones, as Counts has them
//	vectors.row (v)                          the rows that they were
func (m *SVM) Save(w io.Writer) error {
	if !m.Trained() {
		return nn.ErrUntrained
	}
	saved := savedSVM{C: m.C, Tolerance: m.Tolerance, Kernel: m.Kernel, Classes: m.classes, Counts: m.kept != nil}
	for c := range int32(m.shape.Classes) {
		if !slices.Contains(m.classes, c) {
			saved.Missing = append(saved.Missing, c)
		}
	}
	var rows []uint64
	var coef []float64
	for _, p := range m.pairs {
		saved.Bias, saved.Support = append(saved.Bias, p.bias), append(saved.Support, len(p.rows))
		rows, coef = append(rows, toUint64(p.rows)...), append(coef, p.coef...)
	}
	f := &modelfile.File{Kind: svmKind, Info: m.Info}
	f.Tensors = append(f.Tensors, modelfile.Vector("pairs.row", rows), modelfile.Vector("pairs.coef", coef))
	if m.kept != nil {
		f.Tensors = append(f.Tensors, modelfile.Vector("vectors.at", toUint64(m.kept.Offsets)), modelfile.Vector("vectors.row", toUint64(m.origin)))
		if len(m.kept.IDs) > 0 {
			f.Tensors = append(f.Tensors, modelfile.Vector("vectors.ids", m.kept.IDs), modelfile.Vector("vectors.counts", m.kept.Values))
		}
	}
	return modelfile.Save(w, f, map[string]any{modelfile.Shape: m.shape, modelfile.Settings: saved})
}

func toUint64[T int | int32](list []T) []uint64 {
	out := make([]uint64, len(list))
	for i, v := range list {
		out[i] = uint64(v)
	}
	return out
}

// Metadata returns Info, which it makes if it is nil.
func (m *SVM) Metadata() map[string]string { return modelfile.Metadata(&m.Info) }

// Load reads the output of Save, up to the end of r. An error leaves m unchanged.
func (m *SVM) Load(r io.Reader) error {
	return modelfile.Load(m, r, m.Trained(), (*SVM).restore)
}

func (m *SVM) restore(f *modelfile.File) error {
	next := SVM{Info: f.Info, MaxSteps: m.MaxSteps, Cache: m.Cache}
	var saved savedSVM
	if err := f.Open(svmKind, &saved); err != nil {
		return err
	}
	if err := f.Get(modelfile.Shape, &next.shape); err != nil {
		return err
	}
	next.C, next.Tolerance, next.Kernel, next.classes = saved.C, saved.Tolerance, saved.Kernel, saved.Classes
	if err := next.resolve(); err != nil {
		return err
	}
	if saved.C == 0 || saved.Tolerance == 0 || saved.Kernel == "" {
		return fmt.Errorf("settings: C is %v, the tolerance %v and the kernel %q", saved.C, saved.Tolerance, saved.Kernel)
	}
	if err := saved.checkClasses(next.shape); err != nil {
		return err
	}
	t := map[string]modelfile.Tensor{}
	for _, one := range f.Tensors {
		if len(one.Shape) != 1 {
			return fmt.Errorf("tensor %q has the shape %v, want one dimension", one.Name, one.Shape)
		}
		t[one.Name] = one
	}
	if saved.Counts {
		if err := next.restoreVectors(t); err != nil {
			return err
		}
	}
	if err := next.restorePairs(saved, t["pairs.row"].U64, t["pairs.coef"].F64); err != nil {
		return err
	}
	*m = next
	return nil
}

// checkClasses returns an error unless the classes that were learned ascend, and are
// with those that are missing the classes of the shape.
func (s *savedSVM) checkClasses(shape nn.Shape) error {
	for _, list := range [][]int32{s.Classes, s.Missing} {
		for i, c := range list {
			if i > 0 && c <= list[i-1] {
				return fmt.Errorf("settings: class %d after class %d, want classes that ascend", c, list[i-1])
			}
		}
	}
	if err := shape.Check(countShape(shape)); err != nil {
		return fmt.Errorf("shape: %w", err)
	}
	if len(shape.Counts) == 0 && shape.Classes == 0 {
		return nil // what it is asked about is not known yet
	}
	all := slices.Sorted(slices.Values(slices.Concat(s.Classes, s.Missing)))
	if len(all) != shape.Classes || !s.Counts {
		return fmt.Errorf("shape: %d classes of counts, and the file has learned %d and names %d others", shape.Classes, len(s.Classes), len(s.Missing))
	}
	for c, class := range all {
		if int(class) != c {
			return fmt.Errorf("settings: class %d in place of class %d", class, c)
		}
	}
	return nil
}

// restoreVectors reads the support vectors of a machine that learned from counts.
func (m *SVM) restoreVectors(t map[string]modelfile.Tensor) error {
	m.kept = &nn.Counts{IDs: t["vectors.ids"].U64, Values: t["vectors.counts"].F64}
	for _, end := range t["vectors.at"].U64 {
		m.kept.Offsets = append(m.kept.Offsets, int(min(end, math.MaxInt32)))
	}
	if err := checkCounts(m.Kernel, m.kept); err != nil {
		return err
	}
	rows := t["vectors.row"].U64
	if len(rows) != m.kept.Len() {
		return fmt.Errorf("tensor %q has %d rows, want %d", "vectors.row", len(rows), m.kept.Len())
	}
	for _, row := range rows {
		if row > math.MaxInt32 || len(m.origin) > 0 && int32(row) <= m.origin[len(m.origin)-1] {
			return fmt.Errorf("tensor %q has row %d, want rows that ascend", "vectors.row", row)
		}
		m.origin = append(m.origin, int32(row))
	}
	m.index()
	return nil
}

// restorePairs reads the decision between each two classes.
func (m *SVM) restorePairs(saved savedSVM, rows []uint64, coef []float64) error {
	n := len(m.classes)
	if n < 2 || len(saved.Bias) != n*(n-1)/2 || len(saved.Support) != len(saved.Bias) || len(rows) != len(coef) {
		return fmt.Errorf("settings: %d classes, %d biases and %d pairs, of %d rows and %d coefficients", n, len(saved.Bias), len(saved.Support), len(rows), len(coef))
	}
	for a := range n {
		for b := a + 1; b < n; b++ {
			i := len(m.pairs)
			k := saved.Support[i]
			if k < 1 || k > len(rows) {
				return fmt.Errorf("settings: pair %d has %d support vectors of %d", i, k, len(rows))
			}
			p := svmPair{a: a, b: b, bias: saved.Bias[i], coef: coef[:k:k]}
			if err := m.restorePair(&p, rows[:k]); err != nil {
				return fmt.Errorf("pair %d: %w", i, err)
			}
			rows, coef = rows[k:], coef[k:]
			m.pairs = append(m.pairs, p)
		}
	}
	if len(rows) > 0 {
		return fmt.Errorf("%d support vectors are of no pair", len(rows))
	}
	return nil
}

// restorePair sets the rows of a pair, and returns an error where a number of it is
// none that a Fit leads to.
func (m *SVM) restorePair(p *svmPair, rows []uint64) error {
	// A matrix is not in the file, so that of its similarities nothing is known but
	// that sums of them are finite.
	most, largest := uint64(math.MaxInt32), math.MaxFloat64/4
	if m.kept != nil {
		most, largest = uint64(m.kept.Len()), 0
	}
	sum := 0.0
	for i, row := range rows {
		switch x := p.coef[i]; {
		case row >= most || i > 0 && int32(row) < p.rows[i-1]:
			return fmt.Errorf("support vector %d is row %d of %d, want rows that ascend", i, row, most)
		case x == 0 || math.Abs(x) > m.C*(1+1e-9):
			return fmt.Errorf("support vector %d has the coefficient %v, and C is %v", i, x, m.C)
		}
		sum += math.Abs(p.coef[i])
		p.rows = append(p.rows, int32(row))
		if m.kept != nil {
			own := 1.0
			if !unit(m.Kernel) {
				_, values := m.kept.Row(int(row))
				own = self(m.Kernel, values)
			}
			largest = max(largest, own)
		}
	}
	// The bias moves the decision of a support vector, which is a sum of coefficients
	// times similarities, to the margin at ±1, but for the tolerance.
	if m.kept != nil {
		largest = (3 + sum*largest) * (1 + 1e-9)
	}
	if !(math.Abs(p.bias) <= largest) {
		return fmt.Errorf("the bias is %v, want at most %.4g", p.bias, largest)
	}
	return nil
}
