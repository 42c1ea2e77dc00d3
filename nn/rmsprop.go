package nn

import (
	"cmp"
	"fmt"
	"math"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// RMSprop divides each weight's step by a running root mean square of its
// gradient (Tieleman and Hinton, 2012), in the form of Keras:
//
//	v = Rho·v + (1-Rho)·g²
//	w = w - Rate·g/(√v + Epsilon)
type RMSprop struct {
	Rate    float64 // learning rate; 0 = 1e-3
	Rho     float64 // how much of the mean square a step keeps, below 1; 0 = 0.9
	Epsilon float64 // keeps the quotient finite; 0 = 1e-7

	WeightDecay float64 // see Optimizer; 0 = none
	ClipNorm    float64 // see Optimizer; 0 = none
}

func (o RMSprop) name() string { return "rmsprop" }

func (o RMSprop) rule() rule { return rule{o.Rate, o.WeightDecay, o.ClipNorm} }

func (o RMSprop) resolve() (Optimizer, error) {
	o.Rate = cmp.Or(o.Rate, 1e-3)
	o.Rho = cmp.Or(o.Rho, 0.9)
	o.Epsilon = cmp.Or(o.Epsilon, 1e-7)
	if err := o.rule().resolve("RMSprop"); err != nil {
		return nil, err
	}
	if err := checkShare("RMSprop", "Rho", o.Rho); err != nil {
		return nil, err
	}
	return o, checkEpsilon("RMSprop", o.Epsilon)
}

func (o RMSprop) start(n int) stepper { return &rmsprop{o, make([]float32, n)} }

type rmsprop struct {
	set RMSprop
	v   []float32
}

func (o *rmsprop) step(_ int, w, g []float32) {
	kernel.RMSprop(w, g, o.v, float32(o.set.Rate), float32(o.set.Rho), float32(o.set.Epsilon))
}

func (o *rmsprop) state() []state { return []state{{"rmsprop.v", o.v, true}} }

// checkShare returns an error unless x, as float32, is between 0 and 1.
func checkShare(optimizer, field string, x float64) error {
	if !(x > 0 && float32(x) < 1) {
		return fmt.Errorf("%s: %s is %v, want between 0 and 1", optimizer, field, x)
	}
	return nil
}

func checkEpsilon(optimizer string, x float64) error {
	if eps := float32(x); !(eps > 0 && eps <= math.MaxFloat32) {
		return fmt.Errorf("%s: Epsilon is %v, want a positive number", optimizer, x)
	}
	return nil
}
