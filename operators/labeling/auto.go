package labeling

import "errors"

// ErrAuto is the error of Auto.Label.
var ErrAuto = errors.New("to be replaced by the labeling that operators.Choose finds for a collection")

// Auto is a placeholder for the labeling with the smallest θ̂ over a collection (Niepert et al.
// 2016, Theorem 2; package theta). The choice needs a collection, so Auto labels nothing: a program
// that reads the name replaces it by the result of operators.Choose or theta.Choose. Parse accepts
// it; Names does not list it.
var Auto Labeling = auto{}

type auto struct{}

func (auto) String() string { return "auto" }

func (auto) Label(Input, []float64) error { return ErrAuto }
