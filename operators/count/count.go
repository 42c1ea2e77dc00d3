package count

import (
	"context"
	"fmt"
	"math"

	"github.com/sanflow/sanflow/flow/graph"
)

// Counter counts one kind of substructure. Implementations must be safe for concurrent use and
// must not keep their arguments. A counter that needs its own memory is a Preparer too. A
// counter that is saved with a model, or read from a list of names, needs a name by Register.
type Counter interface {
	// Count adds the substructures of a graph to the bag, which other counters share. The graph may
	// be empty and is only read.
	Count(in Input, bag *Bag) error
	// String names the counter as Parse accepts it.
	fmt.Stringer
}

// Preparer is a Counter that keeps memory from one graph to the next.
type Preparer interface {
	Counter
	// Prepare returns an equal counter for a single goroutine, or an error in the settings. If
	// goroutines share data, the result is a Preparer in turn.
	Prepare() (Counter, error)
}

// Contexter is a Counter that lists words that occur near each other, the input of deep graph
// kernels (graphkernel.Deep).
type Contexter interface {
	Counter
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

// Prepare returns the result of c.Prepare if c is a Preparer, or else c, for a single
// goroutine.
func Prepare(c Counter) (Counter, error) {
	f, ok := c.(Preparer)
	if !ok {
		return c, nil
	}
	c, err := f.Prepare()
	if err != nil {
		return nil, fmt.Errorf("count: %s: %w", f, err)
	}
	return c, nil
}

// Of counts the substructures of one graph: ids, strictly ascending, and the count of each.
func Of(in Input, counters ...Counter) (ids []uint64, counts []float64, err error) {
	var bag Bag
	for _, c := range counters {
		if c, err = Prepare(c); err != nil {
			return nil, nil, err
		}
		if err := Compute(c, in, &bag); err != nil {
			return nil, nil, err
		}
	}
	for _, e := range bag.Entries() {
		ids, counts = append(ids, e.ID), append(counts, e.Count)
	}
	return ids, counts, nil
}

// Compute runs c on in and returns an error for a count that is not finite.
func Compute(c Counter, in Input, bag *Bag) error {
	if err := c.Count(in, bag); err != nil {
		return fmt.Errorf("count: %s: %w", c, err)
	}
	const beyond = 0x1.ffffffp127 // what float32 rounds to infinity
	for _, e := range bag.entries {
		if !(math.Abs(e.Count) < beyond) { // or is no number
			return fmt.Errorf("count: %s: the count of %#x is %v, beyond float32", c, e.ID, e.Count)
		}
	}
	return nil
}

// fresh is Count for a Preparer: it prepares for one graph.
func fresh(f Preparer, in Input, bag *Bag) error {
	c, err := f.Prepare()
	if err != nil {
		return err
	}
	return c.Count(in, bag)
}
