package input

import (
	"fmt"

	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
)

// Select is the flags -select, -w and -stride.
type Select struct {
	By        string // all, or a labeling
	W, Stride int
}

// Operator returns the step that chooses the roots.
func (s Select) Operator() (operators.Select, error) {
	op := operators.Select{W: s.W, Stride: s.Stride}
	switch {
	case s.By != "all":
		l, err := labeling.Parse(s.By)
		if err != nil {
			return op, fmt.Errorf("-select: %w, or all", err)
		}
		op.By = l
	case s.W > 0: // if W is set Select would choose the most central ones
		op.By = byNumber{}
	}
	return op, nil
}

// byNumber is the labeling that ranks nodes by their numbers.
type byNumber struct{}

func (byNumber) String() string { return "all" }

func (byNumber) Label(_ labeling.Input, labels []float64) error {
	for v := range labels {
		labels[v] = -float64(v)
	}
	return nil
}
