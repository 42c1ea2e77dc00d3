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

// KnownClasses adds the known classes of the nodes to the fields of one root, as the last discrete
// channel, "class"; -1 is an unknown class. The class of the root is hidden in its own field.
// KnownClasses follows PerRoot and needs a channel in nodes_cat, such as that of
// Normalize.Distances.
//
// A stored recipe has only Names: sinks.Known stores the classes by the ids of the nodes, and
// sinks.Predictor.Knowing finds them for a graph.
type KnownClasses struct {
	// Class has the class of every node of the graph, an index into Names, or -1.
	Class []int32
	Names []string // of the classes; must be set
}

var _ flow.Operator = KnownClasses{}

// String returns the name for the plan of a pipeline.
func (KnownClasses) String() string { return "KnownClasses" }

// Open checks that there are fields with one root a row.
func (c KnownClasses) Open(in *arrow.Schema) (flow.Stage, error) {
	if len(c.Names) == 0 {
		return nil, errors.New("the field Names is empty, want the names of the classes")
	}
	var shape []int
	var channels []record.Channel
	if err := record.Meta(in, record.NodesCat, record.MetaShape, &shape); err != nil {
		return nil, err
	}
	if err := record.Meta(in, record.NodesCat, record.MetaChannels, &channels); err != nil {
		return nil, err
	}
	if len(shape) != 3 || shape[0] != 1 {
		return nil, fmt.Errorf("column %q has the shape %v, want one root a row: put Normalize with Distances, and PerRoot, before KnownClasses", record.NodesCat, shape)
	}
	shape[2]++
	channels = append(channels, record.Channel{Name: "class", Card: len(c.Names)})
	out, err := record.Replace(in, []string{record.NodesCat}, record.TensorField[int32](record.NodesCat, shape, channels))
	if err != nil {
		return nil, err
	}
	k, d := shape[1], shape[2]
	return stageOfRows(out, func(mem memory.Allocator) rowBuilder {
		s := &classAdder{KnownClasses: c, k: k, d: d}
		s.out = addColumn(&s.columns, record.NodesCat, record.NewFixed[int32](mem, k*d))
		return s
	}), nil
}

// classAdder is one worker of a running KnownClasses.
type classAdder struct {
	KnownClasses
	columns
	k, d int // number of nodes of a field, and of channels including the new one

	members, cats []int32 // columns of the current record, borrowed
	out           *record.Fixed[int32]
}

func (c *classAdder) Begin(rec arrow.Record) (err error) {
	if rec.NumRows() > 0 && c.Class == nil {
		return errors.New("the model reads the known classes of the nodes of one graph, and the field Class is empty: see sinks.Predictor.Knowing; without this operator a model also answers about other graphs")
	}
	if c.members, _, err = record.FixedValues[int32](rec, record.Members); err != nil {
		return err
	}
	c.cats, _, err = record.FixedValues[int32](rec, record.NodesCat)
	return err
}

func (c *classAdder) Row(_ context.Context, row int) error {
	members, cats, old := c.members[row*c.k:(row+1)*c.k], c.cats[row*c.k*(c.d-1):], c.d-1
	if v := slices.Max(members); int(v) >= len(c.Class) {
		return fmt.Errorf("node %d has no class among the %d of Class", v, len(c.Class))
	}
	dst := c.out.Extend(1)
	for i, v := range members {
		cell := dst[i*c.d : (i+1)*c.d]
		copy(cell, cats[i*old:(i+1)*old])
		cell[old] = -1
		if v >= 0 && v != members[0] {
			cell[old] = c.Class[v]
		}
	}
	return nil
}
