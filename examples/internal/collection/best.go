package collection

import (
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators/count"
)

// Best is what the most accurate model is called on command lines.
const Best = "best"

// BestWidth is its table: collections with more words than that, such as D&D, are
// told apart as well.
const BestWidth = 1 << 17

// BestWords is what it counts.
func BestWords() []count.Counter { return count.Standard() }

// NewBest returns a new one.
func NewBest(workers int) *nn.Logistic {
	return &nn.Logistic{Kernel: nn.Min, Width: BestWidth, Workers: workers}
}
