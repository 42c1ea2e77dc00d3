package labeling

import "errors"

// ErrAuto is what Auto returns for labels.
var ErrAuto = errors.New("to be replaced by the labeling that operators.Choose finds for a collection")

// Auto stands for the labeling with the smallest θ̂ over a collection (Niepert et
// al. 2016, Theorem 2; package theta). A graph alone does not say which that is,
// so Auto labels nothing: a program that reads the name puts what
// operators.Choose or theta.Choose returns in its place. Parse knows it; Names
// does not list it.
var Auto Labeling = auto{}

type auto struct{}

func (auto) String() string { return "auto" }

func (auto) Label(Input, []float64) error { return ErrAuto }
