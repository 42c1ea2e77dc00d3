package operators

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// Beliefs adds the class probabilities of the nodes of one graph to node_attr, as its last
// channels: "class=b" for each name, and for two names only the second. It stands before Roots. The
// probabilities of a row to learn from must be made without the class of its root (Kou and Cohen
// 2007, Stacked graphical models for efficient inference in Markov random fields).
//
// A stored recipe has only Names: sinks.Known stores the probabilities by the ids of the nodes, and
// sinks.Predictor.Knowing finds them for a graph. O(n·channels).
type Beliefs struct {
	// Probs has the probabilities, (nodes, names).
	Probs []float32
	Names []string // of the classes, two or more; must be set
}

var _ flow.Operator = Beliefs{}

// String returns the name for the plan of a pipeline.
func (Beliefs) String() string { return "Beliefs" }

// Channels returns the number of added channels.
func (b Beliefs) Channels() int {
	if len(b.Names) == 2 {
		return 1
	}
	return len(b.Names)
}

// Open checks the settings.
func (b Beliefs) Open(in *arrow.Schema) (flow.Stage, error) {
	if len(b.Names) < 2 {
		return nil, fmt.Errorf("there are %d Names, want the names of two classes or more", len(b.Names))
	}
	bound, err := record.Bind(in)
	if err != nil {
		return nil, err
	}
	channels := slices.Clip(bound.Layout.NodeAttr)
	for _, name := range b.Names[len(b.Names)-b.Channels():] {
		channels = append(channels, record.Channel{Name: "class=" + name})
	}
	schema, err := record.Replace(in, []string{record.NodeAttr}, record.ChannelsField[float32](record.NodeAttr, channels))
	if err != nil {
		return nil, err
	}
	return stageOfRows(schema, func(mem memory.Allocator) rowBuilder {
		return &believer{b, newListColumn[float32](mem, record.NodeAttr, bound)}
	}), nil
}

type believer struct {
	Beliefs
	listColumn[float32]
}

func (b *believer) Row(_ context.Context, row int) error {
	g := b.graph(row)
	classes, n := len(b.Names), g.N()
	if b.Probs == nil {
		return errors.New("the model reads probabilities of the classes of the nodes of one graph, and the field Probs is empty: see sinks.Predictor.Knowing; without this operator a model also answers about other graphs")
	}
	if len(b.Probs) != n*classes {
		return fmt.Errorf("there are %d probabilities, want those of %d classes of each of %d nodes", len(b.Probs), classes, n)
	}
	old, more := g.NodeAttrs, b.Channels()
	dst := b.Lists.Grow(n * (old + more))
	for v := range n {
		row := dst[v*(old+more) : (v+1)*(old+more)]
		copy(row, g.NodeAttr[v*old:(v+1)*old])
		copy(row[old:], b.Probs[(v+1)*classes-more:(v+1)*classes])
	}
	return nil
}
