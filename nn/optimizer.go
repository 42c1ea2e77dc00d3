package nn

import (
	"encoding/json"
	"fmt"
)

// Optimizer says how gradients become steps; RMSprop is one. It is a setting
// and holds no state, so one value can serve many models.
type Optimizer interface {
	// name is what a saved model calls it.
	name() string

	// resolve returns the optimizer with its zero fields filled in, or what is
	// wrong with them.
	resolve() (Optimizer, error)

	// start returns the state for n weights of a resolved optimizer.
	start(n int) stepper
}

// stepper is an optimizer at work.
type stepper interface {
	// step changes the weights w against their gradient g.
	step(w, g []float32)
}

// parseOptimizer is the inverse of name and json.Marshal.
func parseOptimizer(name string, fields json.RawMessage) (Optimizer, error) {
	switch name {
	case "rmsprop":
		var o RMSprop
		if err := strictJSON(fields, &o); err != nil {
			return nil, fmt.Errorf("optimizer: %w", err)
		}
		return o, nil
	default:
		return nil, fmt.Errorf("optimizer %q is not known", name)
	}
}
