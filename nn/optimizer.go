package nn

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"

	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
)

// Optimizer turns gradients into steps: RMSprop, SGD, Adam or AdaGrad. It holds no state;
// models can share it. WeightDecay is decoupled (Loshchilov and Hutter, ICLR 2019): each step
// subtracts Rate·WeightDecay·w from each weight w, except biases. ClipNorm bounds the norm of
// the gradient of all weights together (Pascanu et al., ICML 2013).
type Optimizer interface {
	// name is what a saved model calls it.
	name() string

	// resolve returns the optimizer with its zero fields filled in, or what is
	// wrong with them.
	resolve() (Optimizer, error)

	// rule returns what does not depend on the kind of optimizer.
	rule() rule

	// start returns the state for n weights of a resolved optimizer.
	start(n int) stepper
}

// rule is what all optimizers share.
type rule struct{ rate, decay, clip float64 }

// resolve returns an error unless r can be computed with. The bounds are those
// of float32, which is what is computed in.
func (r rule) resolve(name string) error {
	switch rate, decay, clip := float32(r.rate), float32(r.decay), float32(r.clip); {
	case !(rate > 0 && rate <= math.MaxFloat32):
		return fmt.Errorf("%s: Rate is %v, want a positive number", name, r.rate)
	case !(decay >= 0 && decay <= math.MaxFloat32):
		return fmt.Errorf("%s: WeightDecay is %v, want 0 or a positive number", name, r.decay)
	case !(clip >= 0 && clip <= math.MaxFloat32):
		return fmt.Errorf("%s: ClipNorm is %v, want 0 or a positive number", name, r.clip)
	}
	return nil
}

// stepper is an optimizer at work.
type stepper interface {
	// step changes the weights w against their gradient g. n is the number of
	// the step, from 1.
	step(n int, w, g []float32)

	// state returns what the optimizer remembers from step to step, each as
	// long as the weights, in memory that it goes on using.
	state() []state
}

// state is one slice of an optimizer's memory.
type state struct {
	name    string
	x       []float32
	squares bool // x are means or sums of squares
}

// update takes step n against the gradient of the weights. It returns false, and
// changes nothing, when the gradient is not finite or its squares are not, which
// an optimizer would keep in its averages for good.
func update(p *layer.Params, opt stepper, r rule, n int) bool {
	length := math.Sqrt(kernel.Squares(p.G))
	if !kernel.Finite(length) {
		return false
	}
	if r.clip > 0 && length > r.clip {
		kernel.Axpy(float32(r.clip/length)-1, p.G, p.G)
	}
	opt.step(n, p.W, p.G)
	if r.decay > 0 {
		p.Decay(float32(r.rate * r.decay))
	}
	return true
}

// adopt makes an optimizer that of a file.
func (s savedOptimizer) adopt(o *Optimizer) (err error) {
	switch s.Optimizer {
	case "rmsprop":
		*o, err = parse[RMSprop](s.Rates)
	case "sgd":
		*o, err = parse[SGD](s.Rates)
	case "adam":
		*o, err = parse[Adam](s.Rates)
	case "adagrad":
		*o, err = parse[AdaGrad](s.Rates)
	default:
		return fmt.Errorf("optimizer %q is not known", s.Optimizer)
	}
	if err != nil {
		return fmt.Errorf("optimizer: %w", err)
	}
	return nil
}

func parse[T Optimizer](fields json.RawMessage) (o T, err error) {
	return o, modelfile.StrictJSON(fields, &o)
}

// RMSprop divides the step of each weight by a running root mean square of its gradient
// (Tieleman and Hinton, 2012), in the form of Keras:
//
//	v = Rho·v + (1-Rho)·g²
//	w = w - Rate·g/(√v + Epsilon)
type RMSprop struct {
	Rate        float64 // learning rate; 0 = 1e-3
	Rho         float64 // decay of the mean square, below 1; 0 = 0.9
	Epsilon     float64 // avoids division by zero; 0 = 1e-7
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

// SGD steps against the gradient (Sutskever et al., ICML 2013, in the form of PyTorch):
//
//	v = Momentum·v + g
//	w = w - Rate·v                   or, with Nesterov,
//	w = w - Rate·(g + Momentum·v)
type SGD struct {
	Rate        float64 // learning rate; 0 = 1e-2
	Momentum    float64 // share of the last step that a step keeps, below 1; 0 = none
	Nesterov    bool    // Nesterov's momentum
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

// Adam divides a running mean of the gradient by a running root mean square of it, both
// corrected for their start at 0 (Kingma and Ba, ICLR 2015, algorithm 1; with WeightDecay,
// AdamW):
//
//	m = Beta1·m + (1-Beta1)·g
//	v = Beta2·v + (1-Beta2)·g²
//	w = w - Rate·(m/(1-Beta1ᵗ)) / (√(v/(1-Beta2ᵗ)) + Epsilon)
type Adam struct {
	Rate        float64 // learning rate; 0 = 1e-3
	Beta1       float64 // decay of the mean, below 1; 0 = 0.9
	Beta2       float64 // decay of the mean square, below 1; 0 = 0.999
	Epsilon     float64 // avoids division by zero; 0 = 1e-8
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

// AdaGrad divides the step of each weight by the root of the sum of its squared gradients
// (Duchi, Hazan and Singer, JMLR 12, 2011). Without WeightDecay and ClipNorm, a step of a
// Logistic touches only the table rows of its batch.
//
//	v = v + g²
//	w = w - Rate·g/(√v + Epsilon)
type AdaGrad struct {
	Rate        float64 // learning rate; 0 = 0.01
	Epsilon     float64 // avoids division by zero; 0 = 1e-7
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

func (o *adagrad) part(w, g []float32, at int) {
	kernel.AdaGrad(w, g, o.v[at:at+len(w)], float32(o.set.Rate), float32(o.set.Epsilon))
}

func (o *adagrad) rows(w []float32, c int, idx []int32, g []float32, at int) {
	kernel.AdaGradRows(w, o.v[at:at+len(w)], c, idx, g, float32(o.set.Rate), float32(o.set.Epsilon))
}

func (o *adagrad) state() []state { return []state{{"adagrad.v", o.v, true}} }
