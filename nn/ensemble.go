package nn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn/internal/modelfile"
)

// Ensemble predicts the mean of several models, such as copies with other seeds. The models
// learn separately; see sinks.Fit. The mean is that of the probabilities, or the numbers. If all models
// are Additive, it is that of the logits, and a clone is Additive too.
type Ensemble struct {
	Nets []Predictor       // one or more, of one shape
	info map[string]string // see Saver.Metadata
}

var _ Saver = (*Ensemble)(nil)

func (e *Ensemble) Init(s Shape) error {
	if len(e.Nets) == 0 {
		return errors.New("an ensemble of no models")
	}
	for _, m := range e.Nets {
		if err := m.Init(s); err != nil {
			return err
		}
	}
	return nil
}

// Trained reports whether every model is trained.
func (e *Ensemble) Trained() bool { return allTrained(e.Nets) }

func allTrained(nets []Predictor) bool {
	return len(nets) > 0 && !slices.ContainsFunc(nets, func(m Predictor) bool { return !m.Trained() })
}

// clones returns a clone of each model, or nil before Init.
func clones(nets []Predictor) (all []Predictor) {
	for _, m := range nets {
		next := m.Clone()
		if next == nil {
			return nil
		}
		all = append(all, next)
	}
	return all
}

func (e *Ensemble) Shape() Shape {
	if len(e.Nets) == 0 {
		return Shape{}
	}
	return e.Nets[0].Shape()
}

func (e *Ensemble) Metadata() map[string]string { return modelfile.Metadata(&e.info) }

// additive reports whether every model is Additive.
func (e *Ensemble) additive() bool {
	return !slices.ContainsFunc(e.Nets, func(m Predictor) bool { _, ok := m.(Additive); return !ok })
}

// Predict returns the mean of the models' predictions, summed in float64.
func (e *Ensemble) Predict(b Batch, dst *tensor.Dense) (*tensor.Dense, error) {
	if len(e.Nets) == 0 {
		return nil, ErrNotReady
	}
	dst, err := e.Nets[0].Predict(b, dst)
	if err != nil || len(e.Nets) == 1 {
		return dst, err
	}
	out := dst.Float32s()
	sum := make([]float64, len(out))
	classes := e.Shape().Classes
	logits := classes > 0 && e.additive()
	for i, m := range e.Nets {
		one := dst
		if i > 0 {
			if one, err = m.Predict(b, nil); err != nil {
				return nil, err
			}
		}
		for j, x := range one.Float32s() {
			y := float64(x)
			if logits {
				y = math.Log(max(y, math.SmallestNonzeroFloat32))
			}
			sum[j] += y
		}
	}
	for j, x := range sum {
		out[j] = float32(x / float64(len(e.Nets)))
	}
	if logits {
		softmax(out, len(out)/classes, classes)
	}
	return dst, nil
}

// Contributions returns the mean of the terms of the models. An id that the row lacks can occur once for each
// model.
func (a additiveEnsemble) Contributions(b Batch, row int) (mean Contributions, err error) {
	for _, m := range a.Nets {
		one, err := m.(Additive).Contributions(b, row)
		if err != nil {
			return mean, err
		}
		for _, list := range [][]float64{one.Bias, one.Weights, one.Columns} {
			floats.Scale(1/float64(len(a.Nets)), list)
		}
		if mean.Outputs == 0 {
			mean = one
			continue
		}
		same := 0 // number of equal ids in front: those of the row
		for same < min(len(mean.IDs), len(one.IDs)) && mean.IDs[same] == one.IDs[same] {
			mean.Shared[same] = mean.Shared[same] || one.Shared[same]
			same++
		}
		at := same * one.Outputs
		floats.Add(mean.Weights[:at], one.Weights[:at])
		mean.Weights, mean.IDs, mean.Shared = append(mean.Weights, one.Weights[at:]...), append(mean.IDs, one.IDs[same:]...), append(mean.Shared, one.Shared[same:]...)
		floats.Add(mean.Bias, one.Bias)
		if mean.Columns == nil {
			mean.Columns = one.Columns
		} else if one.Columns != nil {
			floats.Add(mean.Columns, one.Columns)
		}
	}
	return mean, nil
}

// additiveEnsemble is a clone of an Ensemble of Additive models.
type additiveEnsemble struct{ *Ensemble }

var _ Additive = additiveEnsemble{}

// Clone returns a predictor; nil before Init.
func (e *Ensemble) Clone() Predictor {
	c := &Ensemble{Nets: clones(e.Nets)}
	switch {
	case c.Nets == nil:
		return nil
	case c.additive():
		return additiveEnsemble{c}
	}
	return c
}

const (
	ensembleKind = "ensemble"
	keyNets      = "nets"
)

// savedNet is a model in the file of an Ensemble. Names of its tensors begin with its number and a dot.
type savedNet struct {
	Kind string                     `json:"kind"`
	Meta map[string]json.RawMessage `json:"meta"`
	Info map[string]string          `json:"info,omitempty"` // only of a model of Targets
}

// Save writes all models as one file. A model that Load cannot read is an error.
func (e *Ensemble) Save(w io.Writer) error {
	return saveNets(w, ensembleKind, e.Nets, e.info)
}

// saveNets writes models as one file of that kind.
func saveNets(w io.Writer, kind string, list []Predictor, info map[string]string) error {
	if len(list) == 0 {
		return ErrNotReady
	}
	var nets []savedNet
	all := &modelfile.File{Kind: kind, Info: info}
	for i, m := range list {
		s, ok := m.(interface{ Save(io.Writer) error })
		if !ok {
			return fmt.Errorf("nn: save: model %d of the %s is a %T, which has no Save", i, kind, m)
		}
		var file bytes.Buffer
		if err := s.Save(&file); err != nil {
			return err
		}
		f, err := modelfile.Read(&file)
		if err != nil {
			return fmt.Errorf("nn: save: model %d of the %s: %w", i, kind, err)
		}
		one := savedNet{Kind: f.Kind, Meta: map[string]json.RawMessage{}}
		for key, text := range f.Meta {
			one.Meta[key] = json.RawMessage(text)
		}
		if kind == targetsKind {
			one.Info = f.Info
		}
		nets = append(nets, one)
		for _, t := range f.Tensors {
			t.Name = netName(i, t.Name)
			all.Tensors = append(all.Tensors, t)
		}
	}
	return modelfile.Save(w, all, map[string]any{keyNets: nets})
}

func netName(i int, tensor string) string { return fmt.Sprintf("%d.%s", i, tensor) }

// restore makes e the ensemble that a file holds.
func (e *Ensemble) restore(f *modelfile.File) error {
	loaded, err := restoreNets(f, ensembleKind, ensembleKind, targetsKind)
	if err != nil {
		return err
	}
	for i, m := range loaded {
		if !reflect.DeepEqual(m.Shape(), loaded[0].Shape()) {
			return fmt.Errorf("model %d of the ensemble is for rows of the shape %+v, the first for %+v", i, m.Shape(), loaded[0].Shape())
		}
	}
	e.Nets, e.info = loaded, f.Info
	return nil
}

// restoreNets returns the models of a file of that kind. Models of the kinds in not are an error.
func restoreNets(f *modelfile.File, kind string, not ...string) (loaded []Predictor, err error) {
	if f.Kind != kind {
		return nil, fmt.Errorf("the file holds a model %q, want %q", f.Kind, kind)
	}
	var nets []savedNet
	if err := f.Get(keyNets, &nets); err != nil {
		return nil, err
	}
	if len(nets) == 0 || len(f.Meta) > 1 {
		return nil, fmt.Errorf("%s: %d models, with %d entries", kind, len(nets), len(f.Meta))
	}
	rest := f.Tensors
	for i, net := range nets {
		one := &modelfile.File{Kind: net.Kind, Meta: map[string]string{}, Info: net.Info}
		for key, text := range net.Meta {
			one.Meta[key] = string(text)
		}
		for len(rest) > 0 && strings.HasPrefix(rest[0].Name, netName(i, "")) {
			t := rest[0]
			t.Name = strings.TrimPrefix(t.Name, netName(i, ""))
			one.Tensors, rest = append(one.Tensors, t), rest[1:]
		}
		if slices.Contains(not, net.Kind) {
			return nil, fmt.Errorf("model %d makes it an %s of an %s", i, kind, net.Kind)
		}
		m, err := modelfile.Restore[Predictor](one, "model that predicts")
		if err != nil {
			return nil, fmt.Errorf("model %d of the %s: %w", i, kind, err)
		}
		loaded = append(loaded, m)
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("the %s has no model for the tensor %q", kind, rest[0].Name)
	}
	return loaded, nil
}
