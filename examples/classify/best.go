package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sanflow/sanflow/operators/count"
)

// best is the kind of model that makes no fields.
const best = "best"

// checkBest refuses flags that mean nothing to that model.
func (c *config) checkBest() error {
	if c.kind != best {
		return nil
	}
	for _, name := range []string{"k", "w", "stride", "select", "normalize", "edges"} {
		if slices.Contains(c.given, name) {
			return fmt.Errorf("-%s is of fields for a network, and -model-kind best counts words", name)
		}
	}
	if c.onnx != "" {
		return errors.New("-onnx: the best model reads words by their hash, which no operator of ONNX makes")
	}
	return nil
}

// counting is what is counted in place of making fields.
func (c *config) counting() []count.Counter {
	if c.kind != best {
		return nil
	}
	return count.Standard()
}
