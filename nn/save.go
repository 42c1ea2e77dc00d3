package nn

import (
	"fmt"
	"io"

	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
)

func init() {
	modelfile.Register(ensembleKind, (*Ensemble).restore)
	modelfile.Register(targetsKind, (*Targets).restore)
	modelfile.Register("cnn", restoreNet[CNN])
	modelfile.Register("gru", restoreNet[GRU])
	modelfile.Register("logistic", restoreNet[Logistic])
	modelfile.Register("pooled", restoreNet[Pooled])
	modelfile.Register("pslr", restoreNet[PSLR])
	modelfile.Register("rbm", (*RBM).restore)
	modelfile.Register("autoencoder", (*Autoencoder).restore)
}

// LoadPredictor reads any saved Predictor, up to the end of r: a model, an Ensemble or, if package
// trees is imported, a trees.Model. A damaged or foreign file is an error.
func LoadPredictor(r io.Reader) (Saver, error) {
	return modelfile.New[Saver](r, "model that predicts")
}

// LoadEncoder is LoadPredictor for an RBM and an Autoencoder.
func LoadEncoder(r io.Reader) (Encoder, error) { return modelfile.New[Encoder](r, "encoder") }

// SaveFile saves m under that name. The file appears whole or not at all: see package
// flow/file.
func SaveFile(name string, m interface{ Save(io.Writer) error }) error {
	return saveFileOn(nil, name, m)
}

// saveFileOn is SaveFile on a file system; nil is that of the machine.
func saveFileOn(fsys file.FS, name string, m interface{ Save(io.Writer) error }) error {
	f, err := file.Create(fsys, name)
	if err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	defer f.Discard()
	if err := m.Save(f); err != nil {
		return err
	}
	if err := f.Publish(); err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	return nil
}

// keyUnit is the metadata key of the unit of the values that a network learned.
const keyUnit = "target"

// save implements Save of every network.
func (c *Learner) save(w io.Writer, info map[string]string) error {
	switch {
	case !c.ready():
		return ErrNotReady
	case !c.Trained():
		return ErrUntrained
	}
	f := &modelfile.File{Kind: c.arch.settings().kind, Meta: c.meta, Info: info, Tensors: packed(c.work.Tensors())}
	return modelfile.Save(w, f, map[string]any{keyUnit: c.unit})
}

// restoreNet sets m to the network of a file.
func restoreNet[M any, P pointer[M]](m *M, f *modelfile.File) error {
	set := P(m).settings()
	var shape Shape
	var saved savedSettings
	if err := f.Open(set.kind, &saved); err != nil {
		return err
	}
	if err := f.Get(modelfile.Shape, &shape); err != nil {
		return err
	}
	if err := set.adopt(saved, shape); err != nil {
		return err
	}
	arch := *m // the Learner keeps its own copy
	c, err := build(P(&arch), shape)
	if err != nil {
		return err
	}
	list, err := unpack(f.Tensors, c.work.Tensors())
	if err != nil {
		return err
	}
	if err := c.work.Fits(list); err != nil {
		return err
	}
	if err := f.Get(keyUnit, &c.unit); err != nil {
		return err
	}
	if err := c.unit.check(); err != nil {
		return err
	}
	c.moments = fixed
	c.start()
	c.work.Set(list)
	c.given = true
	*m = arch
	*set.learner = Learner{c, f.Info}
	return nil
}

// Hash returns the SHA-256 of the weights in hexadecimal; empty before Init.
func (c *Learner) Hash() string {
	if !c.ready() {
		return ""
	}
	return c.work.Hash()
}
