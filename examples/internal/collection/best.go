package collection

import (
	"github.com/apache/arrow/go/v15/arrow/util"

	"github.com/sanflow/sanflow/nn"
)

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

// AtOnce returns how many trainings of that kind on f may run at a time, so that they take about
// 4 GiB: each has the rows twice, and a weight of words takes 8 bytes.
func (f *Fields) AtOnce(kind string, classes int) int {
	bytes := 2 * util.TotalRecordSize(f.Record)
	if kind == Best || kind == BestAlone {
		m := newBest(kind, 1)
		bytes += 8 * int64(min(m.Width*m.Heads*classes, 1<<26))
	}
	return int(max(1, 4<<30/max(1, bytes)))
}
