package nn

import (
	"cmp"
	"fmt"
	"math"

	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
)

// Optimizer turns gradients into steps: RMSprop, Adam or AdaGrad. It holds no state; models can
// share it.
type Optimizer interface {
	// name is the name in a file.
	name() string

	// resolve returns the optimizer with defaults for zero fields, or an error for a field out of range.
	resolve() (Optimizer, error)

	// rates are the numbers in a file.
	rates() rates

	// at returns the optimizer with another rate.
	at(rate float64) Optimizer

	// start returns the state for n weights of a resolved optimizer.
	start(n int) stepper
}

// rates are the numbers of an optimizer in a file. Numbers that it lacks are 0.
type rates struct {
	Rate         float64
	Rho          float64 `json:",omitempty"`
	Beta1, Beta2 float64 `json:",omitempty"`
	Epsilon      float64
	WeightDecay  float64
	ClipNorm     float64
}

// check returns an error for numbers out of the range of float32, in which steps are computed.
func (r rates) check(name string) error {
	switch rate, eps, decay := float32(r.Rate), float32(r.Epsilon), float32(r.WeightDecay); {
	case !(rate > 0 && rate <= math.MaxFloat32):
		return fmt.Errorf("%s: Rate is %v, want a positive number", name, r.Rate)
	case !(eps > 0 && eps <= math.MaxFloat32):
		return fmt.Errorf("%s: Epsilon is %v, want a positive number", name, r.Epsilon)
	case !(decay >= 0 && decay <= math.MaxFloat32):
		return fmt.Errorf("%s: WeightDecay is %v, want 0 or a positive number", name, r.WeightDecay)
	}
	return nil
}

// decay is the share of each weight that a step subtracts from it.
func (r rates) decay() float64 { return r.Rate * r.WeightDecay }

// stepper is the state of an optimizer.
type stepper interface {
	// step changes the weights w by their gradient g. n is the number of the step, from 1.
	step(n int, w, g []float32)

	// state returns the state to save, in slices as long as the weights. The optimizer continues to use them.
	state() []state
}

// state is one slice of the state of an optimizer.
type state struct {
	name    string
	x       []float32
	squares bool // x are means or sums of squares
}

// update takes step n with the gradient of the weights, then subtracts the share decay of each weight except
// biases. It returns false, and changes nothing, if the squares of the gradient are not finite, since an
// optimizer would keep them in its averages.
func update(p *layer.Params, opt stepper, decay float64, n int) bool {
	if !kernel.Finite(kernel.Squares(p.G)) {
		return false
	}
	opt.step(n, p.W, p.G)
	if decay > 0 {
		p.Decay(float32(decay))
	}
	return true
}

// adopt sets o to the optimizer of a file.
func (s savedOptimizer) adopt(o *Optimizer) error {
	var r rates
	if err := modelfile.StrictJSON(s.Rates, &r); err != nil {
		return fmt.Errorf("optimizer: %w", err)
	}
	switch s.Optimizer {
	case "rmsprop":
		*o = RMSprop{Rate: r.Rate, Rho: r.Rho}
	case "adam":
		*o = Adam{Rate: r.Rate, WeightDecay: r.WeightDecay}
	case "adagrad":
		*o = AdaGrad{Rate: r.Rate, Epsilon: r.Epsilon}
	default:
		return fmt.Errorf("optimizer %q is not known", s.Optimizer)
	}
	if has := (*o).rates(); has != r {
		return fmt.Errorf("optimizer %s: the file has %+v, want %+v", s.Optimizer, r, has)
	}
	return nil
}

// RMSprop divides the step of each weight by a running root mean square of its gradient
// (Tieleman and Hinton, 2012), in the form of Keras:
//
//	v = Rho·v + (1-Rho)·g²
//	w = w - Rate·g/(√v + 1e-7)
type RMSprop struct {
	Rate float64 // learning rate; 0 = 1e-3
	Rho  float64 // decay of the mean square, below 1; 0 = 0.9
}

func (o RMSprop) name() string { return "rmsprop" }

func (o RMSprop) rates() rates { return rates{Rate: o.Rate, Rho: o.Rho, Epsilon: 1e-7} }

func (o RMSprop) resolve() (Optimizer, error) {
	o.Rate = cmp.Or(o.Rate, 1e-3)
	if o.Rho = cmp.Or(o.Rho, 0.9); !(o.Rho > 0 && float32(o.Rho) < 1) {
		return nil, fmt.Errorf("RMSprop: Rho is %v, want between 0 and 1", o.Rho)
	}
	return o, o.rates().check("RMSprop")
}

func (o RMSprop) at(rate float64) Optimizer {
	o.Rate = rate
	return o
}

func (o RMSprop) start(n int) stepper { return &rmsprop{o.rates(), make([]float32, n)} }

type rmsprop struct {
	set rates
	v   []float32
}

func (o *rmsprop) step(_ int, w, g []float32) {
	kernel.RMSprop(w, g, o.v, float32(o.set.Rate), float32(o.set.Rho), float32(o.set.Epsilon))
}

func (o *rmsprop) state() []state { return []state{{"rmsprop.v", o.v, true}} }

// Adam divides a running mean of the gradient by a running root mean square of it, both
// corrected for their start at 0 (Kingma and Ba, ICLR 2015, algorithm 1; with WeightDecay,
// AdamW: Loshchilov and Hutter, ICLR 2019). Biases do not decay.
//
//	m = 0.9·m + 0.1·g
//	v = 0.999·v + 0.001·g²
//	w = w - Rate·(m/(1-0.9ᵗ)) / (√(v/(1-0.999ᵗ)) + 1e-8)
//	w = w - Rate·WeightDecay·w
type Adam struct {
	Rate        float64 // learning rate; 0 = 1e-3
	WeightDecay float64 // 0 = none
}

func (o Adam) name() string { return "adam" }

func (o Adam) rates() rates {
	return rates{Rate: o.Rate, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: o.WeightDecay}
}

func (o Adam) resolve() (Optimizer, error) {
	o.Rate = cmp.Or(o.Rate, 1e-3)
	return o, o.rates().check("Adam")
}

func (o Adam) at(rate float64) Optimizer {
	o.Rate = rate
	return o
}

func (o Adam) start(n int) stepper { return startAdam(o.rates(), n) }

func startAdam(set rates, n int) *adam { return &adam{set, make([]float32, n), make([]float32, n)} }

type adam struct {
	set  rates
	m, v []float32
}

func (o *adam) step(n int, w, g []float32) {
	// The bias corrections are constants outside the loop, by √(v/c) + ε = (√v + ε√c)/√c.
	c1 := 1 - math.Pow(o.set.Beta1, float64(n))
	c2 := math.Sqrt(1 - math.Pow(o.set.Beta2, float64(n)))
	rate, eps := float32(o.set.Rate*c2/c1), float32(o.set.Epsilon*c2)
	kernel.Adam(w, g, o.m, o.v, rate, float32(o.set.Beta1), float32(o.set.Beta2), eps)
}

func (o *adam) state() []state { return []state{{"adam.m", o.m, false}, {"adam.v", o.v, true}} }

// AdaGrad divides the step of each weight by the root of the sum of its squared gradients
// (Duchi, Hazan and Singer, JMLR 12, 2011). A step of a Logistic touches only the
// table rows of its batch.
//
//	v = v + g²
//	w = w - Rate·g/(√v + Epsilon)
type AdaGrad struct {
	Rate    float64 // learning rate; 0 = 0.01
	Epsilon float64 // avoids division by zero; 0 = 1e-7
}

func (o AdaGrad) name() string { return "adagrad" }

func (o AdaGrad) rates() rates { return rates{Rate: o.Rate, Epsilon: o.Epsilon} }

func (o AdaGrad) resolve() (Optimizer, error) {
	o.Rate = cmp.Or(o.Rate, 0.01)
	o.Epsilon = cmp.Or(o.Epsilon, 1e-7)
	return o, o.rates().check("AdaGrad")
}

func (o AdaGrad) at(rate float64) Optimizer {
	o.Rate = rate
	return o
}

func (o AdaGrad) start(n int) stepper { return &adagrad{o, make([]float32, n)} }

type adagrad struct {
	set AdaGrad
	v   []float32
}

func (o *adagrad) step(_ int, w, g []float32) { o.part(w, g, 0) }

func (o *adagrad) part(w, g []float32, at int) {
	kernel.AdaGrad(w, g, o.v[at:at+len(w)], float32(o.set.Rate), float32(o.set.Epsilon))
}

func (o *adagrad) rows(w []float32, c int, idx []int32, g []float32, at int) {
	kernel.AdaGradRows(w, o.v[at:at+len(w)], c, idx, g, float32(o.set.Rate), float32(o.set.Epsilon))
}

func (o *adagrad) state() []state { return []state{{"adagrad.v", o.v, true}} }
