package operators

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/propagation"
)

// Propagate smooths the continuous attributes of the nodes of each graph over its edges: the
// row of a node in node_attr becomes the mean row of the nodes at which random walks from it
// end (propagation.Walk with its defaults). The row then describes the neighbourhood, near nodes more than far
// ones, for models that read single nodes. The column keeps its shape, (n, channels) of
// float32, unless Sparse adds channels. All other columns pass unchanged. One large graph, a
// row per node:
//
//	flow.From(sources.Nodes{Path: "Cora.zip"}).
//		Via(operators.Propagate{Sparse: true, Symmetric: true, Unit: true}).
//		Via(operators.Select{}).
//		Via(operators.Chunk{Size: 256}).
//		Via(operators.Normalize{K: 1}).
//		Via(operators.PerRoot{})
//
// A graph takes O(m·channels) for each of 29 rounds and, with its record, three times the memory of
// the resulting node_attr. An attribute that is not finite is refused: put Standardize, which fills missing numbers, in front.
type Propagate struct {
	// Symmetric is propagation.Walk.Symmetric, for undirected graphs alone.
	Symmetric bool
	// Sparse propagates the sparse attribute too: it becomes as many channels of node_attr as it
	// has values, in front of those that were there, in which a node with s values has 1/√s in the
	// channel of each, and the column node_sparse ends here. Propagated channels are dense: a graph
	// of n nodes takes 4·n bytes for each.
	Sparse bool
	// Unit scales rows to unit length after propagation; rows of zeros stay.
	Unit bool
}

var _ flow.Operator = Propagate{}

// Open checks the settings.
func (s Propagate) Open(in *arrow.Schema) (flow.Stage, error) {
	bound, err := record.Bind(in)
	if err != nil {
		return nil, err
	}
	l := bound.Layout
	if err := (propagation.Walk{Symmetric: s.Symmetric}).Check(l.Directed); err != nil {
		return nil, err
	}
	if s.Sparse && l.NodeSparse.Card == 0 {
		return nil, fmt.Errorf("Sparse is set, and there is no column %q", record.NodeSparse)
	}
	var channels []record.Channel
	if s.Sparse {
		for i := range l.NodeSparse.Card {
			channels = append(channels, record.Channel{Name: fmt.Sprintf("%s %d", l.NodeSparse.Name, i)})
		}
	}
	channels = append(channels, l.NodeAttr...)
	if len(channels) == 0 {
		return nil, fmt.Errorf("there is no column %q: put Channel before Propagate, or set Sparse where there is %q", record.NodeAttr, record.NodeSparse)
	}
	out := []string{record.NodeAttr}
	if s.Sparse {
		out = append(out, record.NodeSparse)
	}
	schema, err := record.Replace(in, out, record.ChannelsField[float32](record.NodeAttr, channels))
	if err != nil {
		return nil, err
	}
	return stageOfRows(schema, func(mem memory.Allocator) rowBuilder {
		return &propagator{s, newListColumn[float32](mem, record.NodeAttr, bound), len(channels)}
	}), nil
}

// propagator is one worker of a running Propagate.
type propagator struct {
	Propagate
	listColumn[float32]
	width int // number of output channels
}

// alone is the largest number of values that one goroutine computes; larger results are divided among goroutines.
const alone = 1 << 20

func (s *propagator) Row(ctx context.Context, row int) error {
	g := s.graph(row)
	n := g.N()
	if n > math.MaxInt32/s.width {
		return fmt.Errorf("%d channels of %d nodes are more than %d numbers, which is the most of a graph", s.width, n, math.MaxInt32)
	}
	walk := propagation.Walk{Symmetric: s.Symmetric}
	if n*s.width <= alone {
		walk.Workers = 1
	}
	x := make([]float32, n*s.width)
	ids := s.now.graphs.Row(row).NodeID
	if err := s.dense(ctx, &g, ids, x); err != nil {
		return err
	}
	if err := walk.Rows(ctx, &g, x, s.width); err != nil {
		return err
	}
	for v := range n {
		row := x[v*s.width : (v+1)*s.width]
		if c := slices.IndexFunc(row, notFinite); c >= 0 {
			return fmt.Errorf("the propagated value of node %s is %v in channel %d, beyond float32", ids.Quoted(int32(v)), row[c], c)
		}
		if s.Unit {
			unit(row)
		}
	}
	copy(s.Lists.Grow(len(x)), x)
	return nil
}

// dense writes the attributes to x, (nodes, width).
func (s *propagator) dense(ctx context.Context, g *graph.Graph, ids graph.IDs, x []float32) error {
	first := s.width - g.NodeAttrs
	for v := range g.N() {
		if v&(1<<10-1) == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		row := x[v*s.width : (v+1)*s.width]
		if s.Sparse {
			set := g.Sparse(int32(v))
			share := float32(1 / math.Sqrt(float64(len(set))))
			for _, i := range set {
				if i < 0 || int(i) >= first {
					return fmt.Errorf("node %s has the sparse attribute %d, want 0 to %d", ids.Quoted(int32(v)), i, first-1)
				}
				row[i] = share
			}
		}
		copy(row[first:], g.NodeAttr[v*g.NodeAttrs:(v+1)*g.NodeAttrs])
		if c := slices.IndexFunc(row[first:], notFinite); c >= 0 {
			return fmt.Errorf("attribute %d of node %s is %v, want a finite number; Standardize before Propagate fills missing ones", c, ids.Quoted(int32(v)), row[first+c])
		}
	}
	return nil
}

func notFinite(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) }

// unit scales a row to unit length. A row of zeros stays.
func unit(row []float32) {
	squares := 0.
	for _, y := range row {
		squares += float64(y) * float64(y)
	}
	if squares > 0 {
		scale := 1 / math.Sqrt(squares)
		for i, y := range row {
			row[i] = float32(float64(y) * scale) // scale may overflow float32
		}
	}
}
