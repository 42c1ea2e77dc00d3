package labeling

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/pool"
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

// piece is the number of nodes in a task: small enough to check the context often, and large enough
// that the overhead of a task is negligible.
const piece = 1 << 13

// workersFor returns the number of goroutines for a graph of n nodes.
func workersFor(n int) int { return pool.Workers(0, (n+piece-1)/piece) }

// pieces calls do for the ranges of 0 … n-1 in pieces, on at most workers goroutines. It returns
// the error of the context, or of a panic in do.
func (in Input) pieces(workers, n int, do func(begin, end int)) error {
	return in.each(workers, (n+piece-1)/piece, func(_, i int) { do(i*piece, min((i+1)*piece, n)) })
}

// each calls task with 0 … tasks-1 and the number of the goroutine. It returns the error of the
// context, or of a panic in task.
func (in Input) each(asked, tasks int, task func(worker, i int)) error {
	return pool.Each(cmp.Or(in.Context, context.Background()), asked, tasks, func(_ context.Context, worker, i int) error {
		task(worker, i)
		return nil
	})
}

// bothWays returns the rows of g without directions; those of an undirected g are its own. O(n +
// m).
func bothWays(g *graph.Graph) (offsets, neighbors []int32, err error) {
	if !g.Directed {
		return g.Offsets, g.Neighbors, nil
	}
	if err := bothFit(len(g.Neighbors)); err != nil {
		return nil, nil, err
	}
	in, tails, _ := g.Transpose()
	offsets = make([]int32, g.N()+1)
	neighbors = make([]int32, 0, len(tails))
	for v := range int32(g.N()) {
		begin := len(neighbors)
		neighbors = append(neighbors, g.Adj(v)...)
		neighbors = append(neighbors, tails[in[v]:in[v+1]]...)
		slices.Sort(neighbors[begin:])
		neighbors = neighbors[:begin+len(slices.Compact(neighbors[begin:]))]
		offsets[v+1] = int32(len(neighbors))
	}
	return offsets, neighbors, nil
}

// bothFit returns an error if rows with each arc at both ends exceed 32-bit offsets.
func bothFit(arcs int) error {
	if arcs > math.MaxInt32/2 {
		return fmt.Errorf("%d arcs, want at most %d: rows have 32-bit offsets", arcs, math.MaxInt32/2)
	}
	return nil
}
