package nn

import "gorgonia.org/tensor"

// Cloner is a Predictor that can be copied, so that several goroutines ask at
// the same time, or go on asking while the model learns. The models of this
// package are.
type Cloner interface {
	Predictor

	// Clone returns a predictor with the weights of now, copied, and memory of
	// its own, but none for learning. It is nil before Init.
	Clone() Predictor
}

// Clone returns a predictor with the weights of now; see Cloner.
func (c *core) Clone() Predictor {
	if c == nil {
		return nil
	}
	f := &core{arch: c.arch, shape: c.shape, loss: c.loss, taught: c.Trained()}
	f.work = lay(c.arch, c.shape)
	f.work.place(append([]float32(nil), c.work.w...))
	return clone{f}
}

// clone is a core that predicts and does nothing else.
type clone struct{ core *core }

func (f clone) Init(s Shape) error { return f.core.shape.Check(s.of(len(f.core.shape.Counts) > 0)) }

func (f clone) Trained() bool { return f.core.Trained() }

func (f clone) Shape() Shape { return f.core.Shape() }

func (f clone) Predict(b Batch, dst *tensor.Dense) (*tensor.Dense, error) {
	return f.core.Predict(b, dst)
}

func (f clone) Clone() Predictor { return f.core.Clone() }
