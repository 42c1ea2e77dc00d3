package nn

import "gorgonia.org/tensor"

// Forker is a Predictor that can be copied, so that several goroutines ask at
// the same time, or go on asking while the model learns. The models of this
// package are.
type Forker interface {
	Predictor

	// Fork returns a predictor with the weights of now, copied, and memory of
	// its own, but none for learning. It is nil before Init.
	Fork() Predictor
}

// Fork returns a predictor with the weights of now; see Forker.
func (c *core) Fork() Predictor {
	if c == nil {
		return nil
	}
	f := &core{arch: c.arch, shape: c.shape, loss: c.loss, taught: c.Trained()}
	f.work = lay(c.arch, c.shape)
	f.work.place(append([]float32(nil), c.work.w...))
	return fork{f}
}

// fork is a core that predicts and does nothing else.
type fork struct{ core *core }

func (f fork) Init(s Shape) error { return f.core.shape.check(s.of(len(f.core.shape.Counts) > 0)) }

func (f fork) Trained() bool { return f.core.Trained() }

func (f fork) Shape() Shape { return f.core.Shape() }

func (f fork) Predict(b Batch, dst *tensor.Dense) (*tensor.Dense, error) {
	return f.core.Predict(b, dst)
}

func (f fork) Fork() Predictor { return f.core.Fork() }
