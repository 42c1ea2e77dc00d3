package collection

import "github.com/sanflow/sanflow/nn"

// Best is what nn.Best is called on command lines, BestAlone the same with a single head.
const (
	Best      = "best"
	BestAlone = "best-heads"
)

// newBest returns a new one of that kind.
func newBest(kind string, workers int) *nn.Logistic {
	m := nn.Best()
	m.Workers = workers
	if kind == BestAlone {
		m.Heads = 1
	}
	return m
}
