package nn

import (
	"fmt"
	"math"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

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

func (o RMSprop) name() string { return "rmsprop" }

func (o RMSprop) resolve() (Optimizer, error) {
	if o.Rate == 0 {
		o.Rate = 1e-3
	}
	if o.Decay == 0 {
		o.Decay = 0.9
	}
	if o.Epsilon == 0 {
		o.Epsilon = 1e-7
	}
	// The bounds are those of float32, which is what is computed in.
	switch rate, eps := float32(o.Rate), float32(o.Epsilon); {
	case !(rate > 0 && rate <= math.MaxFloat32):
		return nil, fmt.Errorf("RMSprop: Rate is %v, want a positive number", o.Rate)
	case !(o.Decay > 0 && float32(o.Decay) < 1):
		return nil, fmt.Errorf("RMSprop: Decay is %v, want between 0 and 1", o.Decay)
	case !(eps > 0 && eps <= math.MaxFloat32):
		return nil, fmt.Errorf("RMSprop: Epsilon is %v, want a positive number", o.Epsilon)
	}
	return o, nil
}

func (o RMSprop) start(n int) stepper { return &rmsprop{o, make([]float32, n)} }

type rmsprop struct {
	set RMSprop
	v   []float32
}

func (o *rmsprop) step(w, g []float32) {
	kernel.RMSprop(w, g, o.v, float32(o.set.Rate), float32(o.set.Decay), float32(o.set.Epsilon))
}
