package main

import (
	"fmt"
	"slices"

	"github.com/sanflow/sanflow/examples/internal/collection"
	"github.com/sanflow/sanflow/operators/count"
)

// The kinds of model that count words in place of making fields.
const (
	best    = collection.Best
	machine = "svm"
)

func (c *config) ofWords() bool { return c.kind == best || c.kind == machine }

// ofFields are the flags that are about fields for a network.
var ofFields = []string{"k", "w", "stride", "select", "normalize", "field-edges"}

// checkWords refuses flags that mean nothing to those kinds.
func (c *config) checkWords() error {
	if !c.ofWords() {
		return nil
	}
	for _, name := range ofFields {
		if slices.Contains(c.given, name) {
			return fmt.Errorf("-%s is of fields for a network, and -model-kind %s counts words", name, c.kind)
		}
	}
	if c.kind != machine {
		return nil
	}
	for _, name := range []string{"epochs", "batch"} {
		if slices.Contains(c.given, name) {
			return fmt.Errorf("-%s is of a model that learns by steps, and -model-kind %s sees all graphs at once", name, c.kind)
		}
	}
	return nil
}

// counting is what is counted in place of making fields.
func (c *config) counting() []count.Counter {
	if !c.ofWords() {
		return nil
	}
	return count.Standard()
}
