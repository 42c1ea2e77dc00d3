package nn

import (
	"cmp"
	"math"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// Adam steps by a running mean of the gradient over a running root mean square
// of it, both corrected for having begun at 0 (Kingma and Ba, ICLR 2015,
// algorithm 1; with WeightDecay, AdamW):
//
//	m = Beta1·m + (1-Beta1)·g
//	v = Beta2·v + (1-Beta2)·g²
//	w = w - Rate·(m/(1-Beta1ᵗ)) / (√(v/(1-Beta2ᵗ)) + Epsilon)
type Adam struct {
	Rate    float64 // learning rate; 0 = 1e-3
	Beta1   float64 // how much of the mean a step keeps, below 1; 0 = 0.9
	Beta2   float64 // how much of the mean square a step keeps, below 1; 0 = 0.999
	Epsilon float64 // keeps the quotient finite; 0 = 1e-8

	WeightDecay float64 // see Optimizer; 0 = none
	ClipNorm    float64 // see Optimizer; 0 = none
}

func (o Adam) name() string { return "adam" }

func (o Adam) rule() rule { return rule{o.Rate, o.WeightDecay, o.ClipNorm} }

func (o Adam) resolve() (Optimizer, error) {
	o.Rate = cmp.Or(o.Rate, 1e-3)
	o.Beta1 = cmp.Or(o.Beta1, 0.9)
	o.Beta2 = cmp.Or(o.Beta2, 0.999)
	o.Epsilon = cmp.Or(o.Epsilon, 1e-8)
	if err := o.rule().resolve("Adam"); err != nil {
		return nil, err
	}
	if err := checkShare("Adam", "Beta1", o.Beta1); err != nil {
		return nil, err
	}
	if err := checkShare("Adam", "Beta2", o.Beta2); err != nil {
		return nil, err
	}
	return o, checkEpsilon("Adam", o.Epsilon)
}

func (o Adam) start(n int) stepper { return &adam{o, make([]float32, n), make([]float32, n)} }

type adam struct {
	set  Adam
	m, v []float32
}

func (o *adam) step(n int, w, g []float32) {
	// The corrections are numbers, moved out of the loop: √(v/c) + ε is
	// (√v + ε√c)/√c.
	c1 := 1 - math.Pow(o.set.Beta1, float64(n))
	c2 := math.Sqrt(1 - math.Pow(o.set.Beta2, float64(n)))
	rate, eps := float32(o.set.Rate*c2/c1), float32(o.set.Epsilon*c2)
	kernel.Adam(w, g, o.m, o.v, rate, float32(o.set.Beta1), float32(o.set.Beta2), eps)
}

func (o *adam) state() []state { return []state{{"adam.m", o.m, false}, {"adam.v", o.v, true}} }
