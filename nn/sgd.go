package nn

import (
	"cmp"
	"fmt"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// SGD steps against the gradient, with momentum when that is set (Sutskever et
// al., ICML 2013, in the form of PyTorch, where Rate scales the whole step):
//
//	v = Momentum·v + g
//	w = w - Rate·v                   or, with Nesterov,
//	w = w - Rate·(g + Momentum·v)
type SGD struct {
	Rate     float64 // learning rate; 0 = 1e-2
	Momentum float64 // how much of the last step a step keeps, below 1; 0 = none
	Nesterov bool    // look ahead: Nesterov's momentum

	WeightDecay float64 // see Optimizer; 0 = none
	ClipNorm    float64 // see Optimizer; 0 = none
}

func (o SGD) name() string { return "sgd" }

func (o SGD) rule() rule { return rule{o.Rate, o.WeightDecay, o.ClipNorm} }

func (o SGD) resolve() (Optimizer, error) {
	o.Rate = cmp.Or(o.Rate, 1e-2)
	if err := o.rule().resolve("SGD"); err != nil {
		return nil, err
	}
	if o.Momentum != 0 {
		if err := checkShare("SGD", "Momentum", o.Momentum); err != nil {
			return nil, err
		}
	} else if o.Nesterov {
		return nil, fmt.Errorf("SGD: Nesterov is set, Momentum is not")
	}
	return o, nil
}

func (o SGD) start(n int) stepper {
	s := &sgd{set: o}
	if o.Momentum != 0 {
		s.v = make([]float32, n)
	}
	return s
}

type sgd struct {
	set SGD
	v   []float32 // nil without momentum
}

func (o *sgd) step(_ int, w, g []float32) {
	rate, momentum := float32(o.set.Rate), float32(o.set.Momentum)
	switch {
	case o.v == nil:
		kernel.Axpy(-rate, g, w)
		return
	case o.set.Nesterov:
		kernel.Momentum(w, g, o.v, momentum, rate*momentum, rate)
	default:
		kernel.Momentum(w, g, o.v, momentum, rate, 0)
	}
}

func (o *sgd) state() []state {
	if o.v == nil {
		return nil
	}
	return []state{{"sgd.v", o.v, false}}
}
