package main

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// known tells whether the class of a node is known when a batch is predicted
// whose first root is first.
type known func(first, node int32) bool

// neighbourLabels adds to the discrete attributes of each member of a field its
// class, where that is known; -1 stands for a class that is not. The class of
// the root is hidden in its own field, whatever known says.
type neighbourLabels struct {
	classes []int32
	names   []string
	known   known
}

func (n neighbourLabels) String() string { return "neighbourLabels" }

// Open checks that there are fields with one root a row, and distances, in front
// of which nothing is put.
func (n neighbourLabels) Open(in *arrow.Schema) (flow.Stage, error) {
	var shape []int
	var channels []record.Channel
	if err := record.Meta(in, record.NodesCat, record.MetaShape, &shape); err != nil {
		return nil, err
	}
	if err := record.Meta(in, record.NodesCat, record.MetaChannels, &channels); err != nil {
		return nil, err
	}
	if len(shape) != 3 || shape[0] != 1 {
		return nil, fmt.Errorf("column %q has the shape %v, want one root a row", record.NodesCat, shape)
	}
	shape[2]++
	channels = append(channels, record.Channel{Name: "class", Card: len(n.names)})
	out, err := record.Extend(record.Without(in, record.NodesCat), record.TensorField[int32](record.NodesCat, shape, channels))
	return &labelled{n, out, shape[1], shape[2]}, err
}

type labelled struct {
	neighbourLabels
	schema *arrow.Schema
	k, d   int // nodes of a field, attributes with the new one
}

func (l *labelled) Schema() *arrow.Schema { return l.schema }

func (l *labelled) Process(rec arrow.Record, out *flow.Out) error {
	members, _, err := record.FixedValues[int32](rec, record.Members)
	if err != nil {
		return err
	}
	cats, _, err := record.FixedValues[int32](rec, record.NodesCat)
	if err != nil {
		return err
	}
	rows := int(rec.NumRows())
	b := record.NewFixed[int32](out.Mem(), l.k*l.d)
	dst := b.Extend(rows)
	for i, v := range members {
		cell := dst[i*l.d : (i+1)*l.d]
		copy(cell, cats[i*(l.d-1):(i+1)*(l.d-1)])
		root := members[i/l.k*l.k]
		cell[l.d-1] = -1
		if v >= 0 && v != root && l.known(members[0], v) {
			cell[l.d-1] = l.classes[v]
		}
	}
	made, err := record.Project(l.schema, rec, map[string]arrow.Array{record.NodesCat: b.Finish(rows)})
	if err != nil {
		return err
	}
	return out.Emit(made)
}

func (l *labelled) Close() error { return nil }
