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

// Channel adds a labeling of each graph to the continuous node attributes, as
// one more channel of node_attr, which it adds where there is none. Graphs
// without attributes need one: the paper gives social networks the degree,
// normalized by the size of the graph.
type Channel struct {
	// By is the labeling. It must be set.
	By labeling.Labeling
	// Label is the name of the channel. The default is the name of the
	// labeling.
	Label string
}

var _ flow.Operator = Channel{}

// Open checks the settings.
func (c Channel) Open(in *arrow.Schema) (flow.Stage, error) {
	if c.By == nil {
		return nil, errors.New("the field By is not set")
	}
	if c.Label == "" {
		c.Label = c.By.String()
	}
	bound, err := record.Bind(in)
	if err != nil {
		return nil, err
	}
	channels := append(slices.Clip(bound.Layout.NodeAttr), record.Channel{Name: c.Label})
	f := record.ChannelsField[float32](record.NodeAttr, channels)
	schema := in
	if in.HasField(record.NodeAttr) {
		schema = record.Without(in, record.NodeAttr)
	}
	schema, err = record.Extend(schema, f)
	if err != nil {
		return nil, err
	}
	return RowStage(schema, &channeler{Channel: c, bound: bound}), nil
}

type channeler struct {
	Channel
	bound  *record.Binding
	graphs *record.Graphs
	attr   *record.Lists[float32]
	labels labels
}

func (c *channeler) Fork() RowBuilder { return &channeler{Channel: c.Channel, bound: c.bound} }

func (c *channeler) Begin(mem memory.Allocator, rec arrow.Record) (err error) {
	c.graphs, err = c.bound.View(rec)
	if c.attr == nil {
		c.attr = record.NewLists[float32](mem)
	}
	return err
}

func (c *channeler) Row(ctx context.Context, row int) error {
	var g graph.Graph
	c.graphs.At(row, &g)
	n := g.N()
	labels, err := c.labels.of(ctx, c.By, &g)
	if err != nil {
		return err
	}
	for v, x := range labels {
		if math.IsInf(float64(float32(x)), 0) {
			return fmt.Errorf("%s of node %d is %v, beyond float32", c.By, v, x)
		}
	}
	old := g.NodeAttrs
	dst := c.attr.Grow(n * (old + 1))
	for v, x := range labels {
		row := dst[v*(old+1) : (v+1)*(old+1)]
		copy(row, g.NodeAttr[v*old:(v+1)*old])
		row[old] = float32(x)
	}
	return nil
}

func (c *channeler) Finish(int) map[string]arrow.Array {
	return map[string]arrow.Array{record.NodeAttr: c.attr.Finish()}
}

func (c *channeler) Release() {
	if c.attr != nil {
		c.attr.Release()
	}
}
