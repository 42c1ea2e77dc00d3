package operators

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/labeling"
)

// Channel adds a labeling of each graph to node_attr as one more continuous channel. It makes
// node_attr if it is missing. A label of -Inf is a missing number, NaN. Graphs without attributes need such a channel: the paper gives
// social networks the degree, normalized by the size of the graph. The channel has the name of the
// labeling.
type Channel struct {
	// By is the labeling. It must be set.
	By labeling.Labeling
}

var _ flow.Operator = Channel{}

// Open checks the settings.
func (c Channel) Open(in *arrow.Schema) (flow.Stage, error) {
	if c.By == nil {
		return nil, errors.New("the field By is not set")
	}
	bound, err := record.Bind(in)
	if err != nil {
		return nil, err
	}
	channels := append(slices.Clip(bound.Layout.NodeAttr), record.Channel{Name: c.By.String()})
	schema, err := record.Replace(in, []string{record.NodeAttr}, record.ChannelsField[float32](record.NodeAttr, channels))
	if err != nil {
		return nil, err
	}
	return stageOfRows(schema, func(mem memory.Allocator) rowBuilder {
		return &channeler{c, newListColumn[float32](mem, record.NodeAttr, bound), nil}
	}), nil
}

type channeler struct {
	Channel
	listColumn[float32]
	labels labels
}

func (c *channeler) Row(ctx context.Context, row int) error {
	g := c.graph(row)
	n := g.N()
	labels, err := c.labels.of(ctx, c.By, &g)
	if err != nil {
		return err
	}
	for v, x := range labels {
		if math.IsInf(x, -1) {
			labels[v] = math.NaN()
		} else if math.IsInf(float64(float32(x)), 0) {
			return fmt.Errorf("%s of node %s is %v, beyond float32", c.By, c.now.graphs.Row(row).NodeID.Quoted(int32(v)), x)
		}
	}
	old := g.NodeAttrs
	dst := c.Lists.Grow(n * (old + 1))
	for v, x := range labels {
		row := dst[v*(old+1) : (v+1)*(old+1)]
		copy(row, g.NodeAttr[v*old:(v+1)*old])
		row[old] = float32(x)
	}
	return nil
}

// labels is the memory of a worker for the labels of one graph.
type labels []float64

// of returns the labels of g, valid until the next call.
func (l *labels) of(ctx context.Context, by labeling.Labeling, g *graph.Graph) ([]float64, error) {
	if cap(*l) < g.N() {
		*l = make(labels, g.N())
	}
	*l = (*l)[:g.N()]
	return *l, labeling.Compute(by, labeling.Input{Graph: g, Context: ctx}, *l)
}
