package operators

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/labeling"
)

// Select chooses the root nodes of each graph (Niepert et al. 2016, Algorithm 1). It sorts all
// nodes by a labeling, largest first, takes every Stride-th node until it has W, and fills up
// with zero fields. It adds the column roots. Structure breaks ties; see labeling.Rank.
//
// The paper's loop runs w-1 times; this one w times (SelNodeSeq, line 4). With Strict the nodes
// are cut to the W largest before the stride is applied, as its line 2 reads, so a stride above
// 1 leaves zero fields.
//
// To make every node a root, leave W at 0 and put Chunk after Select, which cuts the roots into
// rows of one length.
type Select struct {
	// W is w, the number of fields of each graph. 0 takes every Stride-th node
	// of each graph.
	W int
	// By orders the nodes. The default is labeling.Betweenness, and for a W of
	// 0, where the order chooses little, that of the node numbers.
	By labeling.Labeling
	// Stride is s, the distance between two roots in the order. The default is
	// 1.
	Stride int
	// Strict cuts to the W largest nodes first.
	Strict bool
	// DepthFirst takes the nodes in the order of a depth-first traversal guided
	// by the labels, instead of sorted by label: roots that follow each other
	// are then near each other. Stride, W and Strict apply to that order. See
	// labeling.DepthFirst.
	DepthFirst bool
}

var _ flow.Operator = Select{}

// Open checks the settings.
func (s Select) Open(in *arrow.Schema) (flow.Stage, error) {
	if s.By == nil && s.W != 0 {
		s.By = labeling.Betweenness
	}
	if s.Stride == 0 {
		s.Stride = 1
	}
	switch {
	case s.W < 0:
		return nil, fmt.Errorf("W is %d, want the number of fields per graph, or 0 for all nodes", s.W)
	case s.W == 0 && s.Strict:
		return nil, errors.New("Strict cuts to W nodes, but W is not set")
	case s.W > maxWidth:
		return nil, fmt.Errorf("W is %d, want at most %d", s.W, maxWidth)
	case s.Stride < 1 || s.Stride > math.MaxInt32:
		return nil, fmt.Errorf("Stride is %d, want 1 to %d", s.Stride, math.MaxInt32)
	}
	bound, err := record.Bind(in)
	if err != nil {
		return nil, err
	}
	f := arrow.Field{Name: record.Roots, Type: record.ListType[int32]()}
	if s.W > 0 {
		f = record.ListField[int32](record.Roots, []int{s.W})
	}
	schema, err := record.Extend(in, f)
	if err != nil {
		return nil, err
	}
	return stageOfRows(schema, func(mem memory.Allocator) rowBuilder {
		return &selector{Select: s, listColumn: newListColumn[int32](mem, record.Roots, bound)}
	}), nil
}

// maxWidth keeps w·k·k below 2³¹.
const maxWidth = 1 << 20

type selector struct {
	Select
	listColumn[int32]
	labels labels
}

func (s *selector) Row(ctx context.Context, row int) error {
	g := s.graph(row)
	order, err := s.order(ctx, &g)
	if err != nil {
		return err
	}
	if s.DepthFirst {
		order = labeling.DepthFirst(&g, order)
	}
	w := s.W
	if w == 0 {
		w = (len(order) + s.Stride - 1) / s.Stride
	}
	s.pick(order, s.Lists.Grow(w))
	return nil
}

// order returns all nodes in the order of selection.
func (s *selector) order(ctx context.Context, g *graph.Graph) ([]int32, error) {
	if s.By == nil {
		order := make([]int32, g.N())
		for v := range order {
			order[v] = int32(v)
		}
		return order, nil
	}
	labels, err := s.labels.of(ctx, s.By, g)
	if err != nil {
		return nil, err
	}
	order, _, err := labeling.Rank(ctx, g, labels)
	return order, err
}

// pick sets dst to the roots. order has all nodes in the order of selection.
func (s *selector) pick(order, dst []int32) {
	if s.Strict && len(order) > s.W {
		order = order[:s.W]
	}
	for j := range dst {
		if i := j * s.Stride; i < len(order) {
			dst[j] = order[i]
		} else {
			dst[j] = -1
		}
	}
}
