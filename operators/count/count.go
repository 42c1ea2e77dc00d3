package count

import (
	"context"
	"fmt"
	"math"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/internal/settings"
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
	// String returns the text of the Counter that the worker belongs to.
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
	// Roots are the selected nodes, -1 for a zero field; nil without a selection. Only some
	// counters read them.
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
	const beyond = 0x1.ffffffp127 // rounds to infinity in float32
	for _, e := range bag.entries {
		if !(math.Abs(e.Count) < beyond) { // true for NaN too
			return fmt.Errorf("count: %s: the count of %#x is %v, beyond float32", w, e.ID, e.Count)
		}
	}
	return nil
}

// language reads and writes counters. Its registry is complete once the program has started.
var language = settings.Language[Counter]{
	Package: "count", What: "counter",
}

func init() {
	language.Start(map[string]Counter{
		"wl": WL{}, "labels": Labels{}, "size": Size{}, "paths": Paths{}, "fields": Fields{},
		"profiles": Profiles{}, "statistics": Statistics{}, "attributes": Attributes{},
		"around": Around{}, "pair": Pair{},
	})
}

// Register makes your counter known under a name to Parse and Format, and so to recipes in
// files. base is a struct, or a pointer to one. Its exported fields are the settings and their
// values the defaults. A registered name or type is an error. Call it at the start of the
// program, before the first Parse.
func Register(name string, base Counter) error { return language.Register(name, base) }

// Parse returns the counter of a text: a name in any case, and settings in parentheses,
// separated by commas. A setting is a field name of the counter, in any case, and its value as
// JSON. true may be omitted:
//
//	size
//	wl(height=2, rounded)
//
// Format is the inverse.
func Parse(text string) (Counter, error) { return language.Parse(text) }

// Format writes a counter with all its settings, such as "wl(height=2)"; Parse reads an equal
// counter back. A counter whose type is not registered, or with a setting that cannot be
// written, is an error.
func Format(c Counter) (string, error) { return language.Format(c) }

// describe is Format for String methods, which return no error.
func describe(c Counter) string {
	e, _ := language.Typed(c)
	return language.Describe(e.Name, e.Base, c)
}

// Standard returns the counters of the most accurate model, nn.Best. They need no tuning for a
// new collection:
//
//	size, labels        how large a graph is and what it is made of
//	wl, height 4        the exact surroundings of a node
//	wl with triangles   how dense they are, in graphs of small diameter
//	wl, rounded         the same for hubs, which rarely have equal degrees
//	fields of 3 to 8    canonical receptive fields: which nodes are joined
//	paths               distances between pairs of nodes
//	profiles            which degrees are around which
//	statistics          numbers of the whole graph
//	attributes          continuous attributes of nodes and edges
//
// Words without use for a collection cost time and nearly no accuracy;
// examples/benchmark/README.md has the worth of each. A graph of n nodes and m edges costs
// O(m^1.5) for the triangles, O(min(n, 512)·m) for the paths, and a few microseconds a node for
// the rest. Paths begin at 512 nodes of larger graphs; that sample alone depends on node
// numbers. The caller owns the slice.
func Standard() []Counter {
	return []Counter{
		Size{}, Labels{}, WL{Height: 4}, WL{Height: 1, Triangles: true}, WL{Height: 2, Rounded: true},
		Fields{K: []int{3, 4, 5, 6, 7, 8}}, Paths{Sources: 512}, Profiles{}, Statistics{}, Attributes{},
	}
}

// Compact returns counters of fewer words, for trees and for graphs whose nodes have several discrete attributes, such as
// molecules: sizes, labels and their attributes, and what is around a node by all attributes, by the first one of nodes and of
// edges, and by the first one of nodes. The surroundings of two edges by all attributes are mostly rare, those by the first are not.
func Compact() []Counter {
	return []Counter{Size{}, Labels{Each: true}, WL{Height: 2}, WL{Height: 2, Coarse: 1}, WL{Height: 2, Coarse: 2}}
}
