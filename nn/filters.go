package nn

import (
	"fmt"

	"github.com/sanflow/sanflow/nn/internal/layer"
)

// Filtered is a Predictor whose first layer reads the nodes of each receptive field by
// filters: a clone of a [CNN].
type Filtered interface {
	Predictor

	// Filters returns the outputs of the filters, (B, w, filters), behind the activation. They
	// are borrowed until the next call.
	Filters(b Batch) ([]float32, error)

	// FilterWeights returns the weights of a filter, (k, channels): the values of the discrete
	// channels, then the continuous channels. Those of a sparse channel are left out.
	FilterWeights(filter int) []float64

	// WithoutFilters returns a copy in which the weights and the bias of some filters are 0.
	WithoutFilters(filters ...int) (Predictor, error)
}

var _ Filtered = filtered{}

// filtered is a clone of a CNN.
type filtered struct{ clone }

func (f filtered) conv() *layer.FieldConv { return f.learner.work.body.(*cnnLayers).nodes.Conv1 }

func (f filtered) Filters(b Batch) ([]float32, error) {
	in, err := b.open(f.learner.shape, false)
	if err != nil || in.rows == 0 {
		return nil, err
	}
	if !f.learner.Trained() {
		return nil, ErrUntrained
	}
	l := f.learner.work.body.(*cnnLayers)
	if _, err := l.forward(in); err != nil {
		return nil, err
	}
	return l.nodes.First()[:in.rows*l.nodes.Conv1.W*l.nodes.Conv1.Maps], nil
}

func (f filtered) FilterWeights(filter int) (w []float64) {
	l := f.conv()
	for cell := range l.N {
		if l.Table != nil {
			for i := range l.Total {
				w = append(w, float64(l.Table.W[(cell*l.Total+i)*l.Maps+filter]))
			}
		}
		if l.Dense != nil {
			for i := range l.Attrs {
				w = append(w, float64(l.Dense.W[(cell*l.Attrs+i)*l.Maps+filter]))
			}
		}
	}
	return w
}

func (f filtered) WithoutFilters(filters ...int) (Predictor, error) {
	without := f.learner.Clone().(filtered)
	l := without.conv()
	for _, i := range filters {
		if i < 0 || i >= l.Maps {
			return nil, fmt.Errorf("nn: there are %d filters, and none %d", l.Maps, i)
		}
		for _, w := range l.Weights() {
			for j := i; j < len(w.W); j += l.Maps {
				w.W[j] = 0
			}
		}
	}
	return without, nil
}
