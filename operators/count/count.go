package count

import (
	"context"
	"fmt"
	"math"

	"github.com/sanflow/sanflow/flow/graph"
)

// Counter counts some kind of substructure. Implementations must be safe for
// concurrent use and must not keep their arguments; one that is better off with
// memory of its own is a Preparer too. What is saved with a model, or read from a list of
// names, needs a name by Register.
type Counter interface {
	// Count adds what stands in a graph to the bag, which may hold what other
	// counters have added. The graph may be empty and is only read.
	Count(in Input, bag *Bag) error
	// String names the counter as Parse accepts it.
	fmt.Stringer
}

// Preparer is a Counter that keeps memory from one graph to the next.
type Preparer interface {
	Counter
	// Prepare returns a counter that does the same for a single goroutine, or says
	// what is wrong with the settings. What it returns is a Preparer in turn where
	// several goroutines are to share something.
	Prepare() (Counter, error)
}

// Contexter is a Counter that knows which of the things that it counts stand
// together: what deep graph kernels learn from (see graphkernel.Deep).
type Contexter interface {
	Counter
	// Contexts emits lists of ids of things that were met near each other, as often
	// as they were met, in an order that means nothing. A list is borrowed for the
	// call. How many there are is bounded for each graph.
	Contexts(in Input, emit func(ids []uint64)) error
}

// Input is what a counter may look at.
type Input struct {
	Graph *graph.Graph
	// Roots are the nodes that were chosen, -1 for none; nil where none were
	// chosen. Only counters that say so use them.
	Roots []int32
	// Context ends work that is no longer wanted; nil never ends.
	Context context.Context
}

// Err returns why the context has ended, and nil before it has.
func (in Input) Err() error {
	if in.Context == nil || in.Context.Err() == nil {
		return nil
	}
	return context.Cause(in.Context)
}

// Prepare returns c for a single goroutine: what its Prepare returns where it is a
// Preparer, or c.
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

// Of counts what stands in one graph: ids are strictly ascending, counts those of
// each.
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

// Compute runs c on in and checks what it adds: a count that is not finite is an
// error.
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
