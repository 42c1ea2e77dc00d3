package nn

import (
	"cmp"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// AdaGrad divides each weight's step by the root of the sum of all squares of its
// gradient so far (Duchi, Hazan and Singer, "Adaptive subgradient methods", JMLR
// 12, 2011), so that a weight that is rarely looked at still moves when it is:
//
//	v = v + g²
//	w = w - Rate·g/(√v + Epsilon)
//
// Without WeightDecay and ClipNorm a weight without a gradient stays as it is, so
// that a Logistic takes a step in the time of the words that a batch has, and not
// in that of its whole table.
type AdaGrad struct {
	Rate    float64 // learning rate; 0 = 0.01
	Epsilon float64 // keeps the quotient finite; 0 = 1e-7

	WeightDecay float64 // see Optimizer; 0 = none
	ClipNorm    float64 // see Optimizer; 0 = none
}

func (o AdaGrad) name() string { return "adagrad" }

func (o AdaGrad) rule() rule { return rule{o.Rate, o.WeightDecay, o.ClipNorm} }

func (o AdaGrad) resolve() (Optimizer, error) {
	o.Rate = cmp.Or(o.Rate, 0.01)
	o.Epsilon = cmp.Or(o.Epsilon, 1e-7)
	if err := o.rule().resolve("AdaGrad"); err != nil {
		return nil, err
	}
	return o, checkEpsilon("AdaGrad", o.Epsilon)
}

func (o AdaGrad) start(n int) stepper { return &adagrad{o, make([]float32, n)} }

type adagrad struct {
	set AdaGrad
	v   []float32
}

func (o *adagrad) step(_ int, w, g []float32) { o.part(w, g, 0) }

// part steps the weights from number at on, of which w and g are.
func (o *adagrad) part(w, g []float32, at int) {
	kernel.AdaGrad(w, g, o.v[at:at+len(w)], float32(o.set.Rate), float32(o.set.Epsilon))
}

func (o *adagrad) state() []state { return []state{{"adagrad.v", o.v, true}} }
