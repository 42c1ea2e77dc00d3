package nn

import (
	"fmt"
	"math"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// Optimizer turns gradients into steps. It is a setting, and holds no state: a
// model starts one of its own from it.
type Optimizer interface {
	// start checks the settings and returns the state for n weights.
	start(n int) (stepper, error)
}

// stepper is a running optimizer.
type stepper interface {
	// step changes the weights w against their gradient g.
	step(w, g []float32)
}

// RMSprop divides each weight's step by a running root mean square of its
// gradient (Tieleman and Hinton, 2012), in the form of Keras:
//
//	v = Decay·v + (1-Decay)·g²
//	w = w - Rate·g/(√v + Epsilon)
type RMSprop struct {
	Rate    float64 // learning rate; 0 = 1e-3
	Decay   float64 // how much of the mean square a step keeps, below 1; 0 = 0.9
	Epsilon float64 // keeps the quotient finite; 0 = 1e-7
}

func (o RMSprop) withDefaults() RMSprop {
	if o.Rate == 0 {
		o.Rate = 1e-3
	}
	if o.Decay == 0 {
		o.Decay = 0.9
	}
	if o.Epsilon == 0 {
		o.Epsilon = 1e-7
	}
	return o
}

func (o RMSprop) start(n int) (stepper, error) {
	o = o.withDefaults()
	switch {
	case !(o.Rate > 0) || math.IsInf(o.Rate, 0):
		return nil, fmt.Errorf("nn: RMSprop: rate %v, want a positive number", o.Rate)
	case !(o.Decay > 0 && o.Decay < 1):
		return nil, fmt.Errorf("nn: RMSprop: decay %v, want between 0 and 1", o.Decay)
	case !(o.Epsilon > 0) || math.IsInf(o.Epsilon, 0):
		return nil, fmt.Errorf("nn: RMSprop: epsilon %v, want a positive number", o.Epsilon)
	}
	return &rmsprop{o, make([]float32, n)}, nil
}

type rmsprop struct {
	set RMSprop
	v   []float32
}

func (o *rmsprop) step(w, g []float32) {
	kernel.RMSprop(w, g, o.v, float32(o.set.Rate), float32(o.set.Decay), float32(o.set.Epsilon))
}
