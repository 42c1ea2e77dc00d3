package nn

import (
	"errors"
	"fmt"
	"io"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn/internal/modelfile"
	"github.com/sanflow/sanflow/nn/internal/tensors"
)

// Targets is a model of several targets of the same rows: one model for each, which learn separately. The metadata of
// the models, such as the calibration of their answers, are in the file too.
type Targets struct {
	Nets []Predictor       // one or more, of rows of one shape but for the classes
	info map[string]string // see Saver.Metadata
}

var _ Saver = (*Targets)(nil)

// targetsKind is the kind of the file, which has the form of the file of an Ensemble.
const targetsKind = "targets"

// Init checks the shape of each model, whose classes are Shape.Targets.
func (t *Targets) Init(s Shape) error {
	if len(t.Nets) == 0 {
		return errors.New("nn: a model of no targets")
	}
	if len(s.Targets) != len(t.Nets) {
		return fmt.Errorf("the model is for %d targets, the data have %d", len(t.Nets), len(s.Targets))
	}
	for i, m := range t.Nets {
		if err := m.Init(s.Of(i)); err != nil {
			return fmt.Errorf("target %d: %w", i, err)
		}
	}
	return nil
}

// Trained reports whether every model is trained.
func (t *Targets) Trained() bool { return allTrained(t.Nets) }

// Shape returns the shape of the rows, with the classes of each model in Targets.
func (t *Targets) Shape() Shape {
	if len(t.Nets) == 0 {
		return Shape{}
	}
	s := t.Nets[0].Shape()
	s.Classes = 0
	for _, m := range t.Nets {
		s.Targets = append(s.Targets, m.Shape().Classes)
	}
	return s
}

func (t *Targets) Metadata() map[string]string { return modelfile.Metadata(&t.info) }

// Predict returns the predictions of the models side by side: (B, Shape.Width).
func (t *Targets) Predict(b Batch, dst *tensor.Dense) (*tensor.Dense, error) {
	if len(t.Nets) == 0 {
		return nil, ErrNotReady
	}
	s := t.Shape()
	width, at := s.Width(), 0
	for i, m := range t.Nets {
		one, err := m.Predict(b, nil)
		if err != nil {
			return nil, err
		}
		rows, n := one.Shape()[0], s.Of(i).Width()
		if at == 0 {
			if dst, _, err = tensors.Result(dst, rows, width); err != nil {
				return nil, err
			}
		}
		for row := range rows {
			copy(dst.Float32s()[row*width+at:], one.Float32s()[row*n:(row+1)*n])
		}
		at += n
	}
	return dst, nil
}

// Clone returns a predictor; nil before Init.
func (t *Targets) Clone() Predictor {
	if nets := clones(t.Nets); nets != nil {
		return &Targets{Nets: nets}
	}
	return nil
}

// Save writes all models as one file.
func (t *Targets) Save(w io.Writer) error { return saveNets(w, targetsKind, t.Nets, t.info) }

// restore makes t the model that a file holds.
func (t *Targets) restore(f *modelfile.File) error {
	loaded, err := restoreNets(f, targetsKind, targetsKind)
	if err != nil {
		return err
	}
	next := Targets{Nets: loaded, info: f.Info}
	if err := next.Init(next.Shape()); err != nil {
		return err
	}
	*t = next
	return nil
}
