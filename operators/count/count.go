package count

import (
	"context"
	"fmt"
	"math"

	"github.com/sanflow/sanflow/flow/graph"
)

// Counter is the settings of a counter of one kind of substructure. A counter that is saved with a
// model, or read from a list of names, needs a name by Register.
type Counter interface {
	// Prepare returns a worker, or an error in the settings. It is safe for concurrent use. If
	// workers share data, a worker is a Counter in turn.
	Prepare() (Worker, error)
	// String names the counter as Parse accepts it.
	fmt.Stringer
}

// Worker counts for a single goroutine, and may keep memory from one graph to the next. It must
// not keep its arguments.
type Worker interface {
	// Count adds the substructures of a graph to the bag, which other counters share. The graph may
	// be empty and is only read.
	Count(in Input, bag *Bag) error
	// String is that of the Counter.
	fmt.Stringer
}

// Contexter is a Worker that lists words that occur near each other, the input of deep graph
// kernels.
type Contexter interface {
	Worker
	// Contexts emits lists of ids of words that occur near each other, once for each occurrence,
	// in an order without meaning. A list is borrowed for the call. The number of lists is bounded
	// for each graph.
	Contexts(in Input, emit func(ids []uint64)) error
}

// Input is the input of a counter.
type Input struct {
	Graph *graph.Graph
	// Roots are the nodes that were chosen, -1 for none; nil where none were
	// chosen. Only counters that say so use them.
	Roots []int32
	// Context ends a computation early; nil never ends.
	Context context.Context
}

// Err returns the cause of the end of the context, and nil before its end.
func (in Input) Err() error {
	if in.Context == nil || in.Context.Err() == nil {
		return nil
	}
	return context.Cause(in.Context)
}

// Prepare returns a worker of a counter; an error names the counter.
func Prepare(c Counter) (Worker, error) {
	w, err := c.Prepare()
	if err != nil {
		return nil, fmt.Errorf("count: %s: %w", c, err)
	}
	return w, nil
}

// Of counts the substructures of one graph: ids, strictly ascending, and the count of each.
func Of(in Input, counters ...Counter) (ids []uint64, counts []float64, err error) {
	var bag Bag
	for _, c := range counters {
		w, err := Prepare(c)
		if err != nil {
			return nil, nil, err
		}
		if err := Compute(w, in, &bag); err != nil {
			return nil, nil, err
		}
	}
	for _, e := range bag.Entries() {
		ids, counts = append(ids, e.ID), append(counts, e.Count)
	}
	return ids, counts, nil
}

// Compute runs w on in and returns an error for a count that is not finite.
func Compute(w Worker, in Input, bag *Bag) error {
	if err := w.Count(in, bag); err != nil {
		return fmt.Errorf("count: %s: %w", w, err)
	}
	const beyond = 0x1.ffffffp127 // what float32 rounds to infinity
	for _, e := range bag.entries {
		if !(math.Abs(e.Count) < beyond) { // or is no number
			return fmt.Errorf("count: %s: the count of %#x is %v, beyond float32", w, e.ID, e.Count)
		}
	}
	return nil
}
