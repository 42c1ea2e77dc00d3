package labeling

import (
	"context"
	"fmt"
	"math"

	"github.com/sanflow/sanflow/flow/graph"
)

// Labeling scores the nodes of a graph. Implementations must be safe for
// concurrent use and must not keep their arguments.
type Labeling interface {
	// Label writes the label of node v to labels[v], which has length n and
	// arbitrary contents. A larger label is an earlier place; NaN is not a
	// label. The graph may be empty and is only read.
	Label(in Input, labels []float64) error
	// String names the labeling as Parse accepts it.
	fmt.Stringer
}

// Input is the input of a labeling.
type Input struct {
	// Graph is a whole graph, or the graph induced on the neighbourhood of a
	// root.
	Graph *graph.Graph
	// Dist holds the hop distance of every node to the root, ascending, so
	// that the root is node 0. It is nil on a whole graph.
	Dist []uint8
	// Context ends work that is no longer wanted; nil never ends. Slow labelings call Err once per
	// source node or round and return its error.
	Context context.Context
	// Progress, if not nil, is called with the share of the work done, one call at a time, by
	// betweenness, PageRank and colour refinement of whole graphs. What total counts is theirs to
	// say: sources, samples, rounds, nodes. It may be an estimate, which done reaches at the end.
	Progress func(done, total int)
}

// Err returns why the context has ended, and nil before it has.
func (in Input) Err() error {
	if in.Context == nil || in.Context.Err() == nil {
		return nil
	}
	return context.Cause(in.Context)
}

// Compute runs l on in and checks the labels: NaN is an error that names the labeling and the node.
// labels has length n.
func Compute(l Labeling, in Input, labels []float64) error {
	if len(labels) != in.Graph.N() {
		panic(fmt.Sprintf("labeling: %s: room for %d labels, want %d", l, len(labels), in.Graph.N()))
	}
	if err := l.Label(in, labels); err != nil {
		return fmt.Errorf("labeling: %s: %w", l, err)
	}
	for v, x := range labels {
		if math.IsNaN(x) {
			return fmt.Errorf("labeling: %s: the label of node %d is not a number", l, v)
		}
	}
	return nil
}
