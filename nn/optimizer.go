package nn

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
)

// Optimizer says how gradients become steps: RMSprop, SGD, Adam or AdaGrad. It is a
// setting and holds no state, so one value can serve many models.
//
// Two settings are common to all. WeightDecay draws weights to 0 apart from the
// gradient (decoupled: Loshchilov and Hutter, ICLR 2019): every step also takes
// Rate·WeightDecay·w off each weight w, except biases. ClipNorm shortens the
// gradient of all weights together to that length when it is longer (Pascanu et
// al., ICML 2013).
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

// adopt makes a nil optimizer that of a file.
func (s savedOptimizer) adopt(o *Optimizer) (err error) {
	if *o != nil {
		return nil
	}
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
