package nn

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

const svmKind = "svm"

// savedSVM is what a file says of a machine beside its tensors.
type savedSVM struct {
	C         float64    `json:"c"`
	Tolerance float64    `json:"tolerance"`
	Kernel    Similarity `json:"kernel"`
	Classes   []int32    `json:"classes"`
	Bias      []float64  `json:"bias"`    // of each pair
	Support   []int      `json:"support"` // how many support vectors each pair has
	Counts    bool       `json:"counts"`  // whether it learned from counts
}

// Save writes what was learned, which Load reads: a safetensors file with, of
// float64, the coefficients of all pairs, and the rows they stand at. Of a machine
// that has learned from counts it has the support vectors, of one on a matrix only
// the numbers of the rows: what it is asked about must be compared with the same
// rows.
//
//	pairs.row (n)   pairs.coef (n)           n support vectors of all pairs
//	vectors.at (v+1)  .ids (z)  .counts (z)  the v different ones, as Counts has them
//	vectors.row (v)                          the rows that they were
func (m *SVM) Save(w io.Writer) error {
	if len(m.pairs) == 0 {
		return ErrUntrained
	}
	shape, err := json.Marshal(m.shape)
	if err != nil {
		return err
	}
	saved := savedSVM{C: m.C, Tolerance: m.Tolerance, Kernel: m.Kernel, Classes: m.classes, Counts: m.kept != nil}
	rows, coef := tensorData{name: "pairs.row", dtype: "U64"}, tensorData{name: "pairs.coef", dtype: "F64"}
	for _, p := range m.pairs {
		saved.Bias, saved.Support = append(saved.Bias, p.bias), append(saved.Support, len(p.rows))
		for i, row := range p.rows {
			rows.wide, coef.wide = append(rows.wide, uint64(row)), append(coef.wide, math.Float64bits(p.coef[i]))
		}
	}
	list := []tensorData{rows, coef}
	if m.kept != nil {
		at := tensorData{name: "vectors.at", dtype: "U64"}
		for _, end := range m.kept.Offsets {
			at.wide = append(at.wide, uint64(end))
		}
		ids := tensorData{name: "vectors.ids", dtype: "U64", wide: m.kept.IDs}
		counts := tensorData{name: "vectors.counts", dtype: "F64"}
		for _, x := range m.kept.Values {
			counts.wide = append(counts.wide, math.Float64bits(x))
		}
		row := tensorData{name: "vectors.row", dtype: "U64"}
		for _, r := range m.origin {
			row.wide = append(row.wide, uint64(r))
		}
		if list = append(list, at); len(row.wide) > 0 {
			list = append(list, row)
		}
		if len(ids.wide) > 0 {
			list = append(list, ids, counts)
		}
	}
	for i := range list {
		list[i].shape = []int{len(list[i].wide)}
	}
	text, err := json.Marshal(saved)
	if err != nil {
		return err
	}
	meta := map[string]string{
		metaModel: svmKind, metaVersion: fileVersion, metaShape: string(shape), metaSettings: string(text),
	}
	return saveTensors(w, meta, m.Info, list)
}

// Notes returns Info, which it makes where it is nil.
func (m *SVM) Notes() map[string]string { return notes(&m.Info) }

// Load reads what Save wrote, up to the end of r. m is as before when it fails.
func (m *SVM) Load(r io.Reader) error {
	if len(m.pairs) > 0 {
		return errors.New("nn: load: the model has learned already")
	}
	meta, list, err := readTensors(r)
	if err != nil {
		return err
	}
	next, err := restoredSVM(meta, list)
	if err != nil {
		return fmt.Errorf("nn: load: %w", err)
	}
	next.MaxSteps, next.Cache = m.MaxSteps, m.Cache
	*m = *next
	return nil
}

func restoredSVM(meta map[string]string, list []tensorData) (*SVM, error) {
	if err := checkKind(meta, svmKind); err != nil {
		return nil, err
	}
	m := &SVM{Info: userInfo(meta)}
	var saved savedSVM
	if err := strictJSON([]byte(meta[metaShape]), &m.shape); err != nil {
		return nil, fmt.Errorf("shape: %w", err)
	}
	if err := strictJSON([]byte(meta[metaSettings]), &saved); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	if got := checksum(meta, list); got != meta[metaSum] {
		return nil, fmt.Errorf("the file is damaged: its checksum is %s, want %q", got, meta[metaSum])
	}
	m.C, m.Tolerance, m.Kernel, m.classes = saved.C, saved.Tolerance, saved.Kernel, saved.Classes
	if err := m.resolve(); err != nil {
		return nil, err
	}
	if len(m.shape.Counts) > 0 {
		if err := m.checkClasses(m.shape); err != nil {
			return nil, fmt.Errorf("shape: %w", err)
		}
	}
	if err := m.restoreVectors(saved, byName(list)); err != nil {
		return nil, err
	}
	return m, m.restorePairs(saved, byName(list))
}

// wideTensors are tensors by name.
type wideTensors map[string]tensorData

func byName(list []tensorData) wideTensors {
	t := wideTensors{}
	for _, one := range list {
		t[one.name] = one
	}
	return t
}

// of returns the values of a tensor of one dimension; none where it is missing.
func (t wideTensors) of(name, dtype string) ([]uint64, error) {
	one, ok := t[name]
	if ok && (one.dtype != dtype || len(one.shape) != 1) {
		return nil, fmt.Errorf("tensor %q is %s %v, want %s of one dimension", name, one.dtype, one.shape, dtype)
	}
	return one.wide, nil
}

// restoreVectors reads the support vectors of a machine that learned from counts.
func (m *SVM) restoreVectors(saved savedSVM, t wideTensors) error {
	if !saved.Counts {
		return nil
	}
	at, err1 := t.of("vectors.at", "U64")
	ids, err2 := t.of("vectors.ids", "U64")
	counts, err3 := t.of("vectors.counts", "F64")
	rows, err4 := t.of("vectors.row", "U64")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	m.kept = &Counts{IDs: ids}
	for _, end := range at {
		m.kept.Offsets = append(m.kept.Offsets, int(min(end, math.MaxInt32)))
	}
	for _, x := range counts {
		m.kept.Values = append(m.kept.Values, math.Float64frombits(x))
	}
	if err := m.kept.Check(); err != nil {
		return err
	}
	m.index()
	if len(rows) != m.kept.Len() && len(rows) > 0 { // files had none once
		return fmt.Errorf("tensor %q has %d rows, want %d", "vectors.row", len(rows), m.kept.Len())
	}
	for _, row := range rows {
		if row > math.MaxInt32 || len(m.origin) > 0 && int32(row) <= m.origin[len(m.origin)-1] {
			return fmt.Errorf("tensor %q has row %d, want rows that ascend", "vectors.row", row)
		}
		m.origin = append(m.origin, int32(row))
	}
	return nil
}

// restorePairs reads what tells each two classes apart.
func (m *SVM) restorePairs(saved savedSVM, t wideTensors) error {
	rows, err1 := t.of("pairs.row", "U64")
	coef, err2 := t.of("pairs.coef", "F64")
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	n := len(m.classes)
	if n < 2 || len(saved.Bias) != n*(n-1)/2 || len(saved.Support) != len(saved.Bias) || len(rows) != len(coef) {
		return fmt.Errorf("settings: %d classes, %d biases and %d pairs, of %d rows and %d coefficients", n, len(saved.Bias), len(saved.Support), len(rows), len(coef))
	}
	most := uint64(math.MaxInt32)
	if m.kept != nil {
		most = uint64(m.kept.Len())
	}
	for a := range n {
		for b := a + 1; b < n; b++ {
			i := len(m.pairs)
			p := svmPair{a: a, b: b, bias: saved.Bias[i]}
			if saved.Support[i] < 0 || saved.Support[i] > len(rows) {
				return fmt.Errorf("settings: pair %d has %d support vectors of %d", i, saved.Support[i], len(rows))
			}
			for j := range saved.Support[i] {
				x := math.Float64frombits(coef[j])
				if rows[j] >= most || !finite(x) {
					return fmt.Errorf("support vector %d of pair %d is row %d of %d with %v", j, i, rows[j], most, x)
				}
				p.rows, p.coef = append(p.rows, int32(rows[j])), append(p.coef, x)
			}
			rows, coef = rows[saved.Support[i]:], coef[saved.Support[i]:]
			m.pairs = append(m.pairs, p)
		}
	}
	if len(rows) > 0 {
		return fmt.Errorf("%d support vectors are of no pair", len(rows))
	}
	return nil
}
