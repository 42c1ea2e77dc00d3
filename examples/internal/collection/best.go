package collection

import (
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators/count"
)

// Best is what the most accurate model is called on command lines, BestAlone the
// same with a single head.
const (
	Best      = "best"
	BestAlone = "best-heads"
)

// BestWidth is its table: collections with more words than that, such as D&D, are
// told apart as well.
const BestWidth = 1 << 17

// BestHeads is how many models it is. Each is left out of a tenth of the graphs, which
// say when to stop.
const BestHeads = 10

// BestWords is what it counts.
func BestWords() []count.Counter { return count.Standard() }

// NewBest returns a new one of that kind.
func NewBest(kind string, workers int) *nn.Logistic {
	m := &nn.Logistic{
		Kernel: nn.Min, Width: BestWidth, Heads: BestHeads, Workers: workers,
		Optimizer: nn.AdaGrad{Rate: 0.05, Epsilon: 1e-3}, // the default, by which trainings that were kept are known
	}
	if kind == BestAlone {
		m.Heads = 1
	}
	return m
}
