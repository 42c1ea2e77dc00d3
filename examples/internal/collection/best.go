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
// told apart as well. It is what Width begins with.
const BestWidth = 1 << 17

// BestHeads is how many models it is. Each is left out of a tenth of the graphs, which
// say when to stop.
const BestHeads = 10

// BestWords is what it counts.
func BestWords() []count.Counter { return count.Standard() }

// Width returns how many rows a table has for so many classes: most, or the first half,
// quarter … of it of at most 2²⁶ weights, which take 1 GB with what learning keeps
// beside them. A table of ten heads and 131072 rows has up to 51 classes.
func Width(most, heads, classes int) int {
	for most > 1 && most*heads*classes > 1<<26 {
		most /= 2
	}
	return most
}

// NewBest returns a new one of that kind for so many classes.
func NewBest(kind string, classes, workers int) *nn.Logistic {
	m := &nn.Logistic{
		Kernel: nn.Min, Width: Width(BestWidth, BestHeads, classes), Heads: BestHeads, Workers: workers,
		Optimizer: nn.AdaGrad{Rate: 0.05, Epsilon: 1e-3}, // the default, by which trainings that were kept are known
	}
	if kind == BestAlone {
		m.Heads = 1
	}
	return m
}
