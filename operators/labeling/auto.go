package labeling

import "errors"

// Auto is a placeholder for the labeling with the smallest θ̂ over a collection (Niepert et al.
// 2016, Theorem 2). The choice needs a collection, so Auto labels nothing: a program that reads the
// name replaces it, as examples/benchmark does. Parse accepts it; Names does not list it.
var Auto Labeling = auto{}

type auto struct{}

func (auto) String() string { return "auto" }

func (auto) Label(Input, []float64) error {
	return errors.New("to be replaced by a labeling that is chosen for the collection")
}
