package nn

import (
	"errors"

	"gorgonia.org/tensor"
)

// Ensemble is models that answer together: the mean of what each predicts. Those
// that differ in their seed alone are wrong about different rows, so the mean is
// right more often than most of them. Each learns by itself; see sinks.Fit.
type Ensemble []Model

var _ Predictor = Ensemble{}

// Init fits every model to the records, or checks it.
func (e Ensemble) Init(s Shape) error {
	if len(e) == 0 {
		return errors.New("an ensemble of no models")
	}
	for _, m := range e {
		if err := m.Init(s); err != nil {
			return err
		}
	}
	return nil
}

// Trained reports whether every model has learned.
func (e Ensemble) Trained() bool {
	for _, m := range e {
		if !Trained(m) {
			return false
		}
	}
	return len(e) > 0
}

// Shape returns that of the first model.
func (e Ensemble) Shape() Shape {
	if len(e) == 0 {
		return Shape{}
	}
	return e[0].Shape()
}

// Predict returns the mean over the models of what Model.Predict returns.
func (e Ensemble) Predict(b Batch, dst *tensor.Dense) (*tensor.Dense, error) {
	if len(e) == 0 {
		return nil, ErrNotReady
	}
	dst, err := e[0].Predict(b, dst)
	if err != nil || len(e) == 1 {
		return dst, err
	}
	sum := dst.Float32s()
	for _, m := range e[1:] {
		one, err := m.Predict(b, nil)
		if err != nil {
			return nil, err
		}
		for i, x := range one.Float32s() {
			sum[i] += x
		}
	}
	for i := range sum {
		sum[i] /= float32(len(e))
	}
	return dst, nil
}
