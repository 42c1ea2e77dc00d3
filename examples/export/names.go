package main

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// names is the operator behind Normalize that adds the ids of the members, where the
// graph has ids, and drops the graph.
type names struct{}

func (names) String() string { return "names" }

// Open implements flow.Operator.
func (names) Open(in *arrow.Schema) (flow.Stage, error) {
	n := &namer{schema: record.Without(in, record.GraphColumns()...)}
	var err error
	if n.kind, err = record.IDsKind(in, record.NodeIDs); err != nil || n.kind == graph.NoIDs {
		return n, err
	}
	var shape []int
	if err := record.Meta(in, record.Members, record.MetaShape, &shape); err != nil {
		return nil, err
	}
	n.schema, err = record.Extend(n.schema, record.IDsField(record.MemberIDs, shape, n.kind))
	return n, err
}

type namer struct {
	schema *arrow.Schema
	kind   graph.IDKind
}

func (n *namer) Schema() *arrow.Schema { return n.schema }

func (n *namer) Fork() flow.Stage { return n }

func (n *namer) Process(rec arrow.Record, out *flow.Out) error {
	made := map[string]arrow.Array{}
	if n.kind != graph.NoIDs {
		graphs, err := record.GraphsOf(rec)
		if err != nil {
			return err
		}
		members, width, err := record.FixedValues[int32](rec, record.Members)
		if err != nil {
			return err
		}
		ids := record.NewIDs(out.Allocator(), n.kind)
		for row := range graphs.Len() {
			ids.AppendOf(graphs.Row(row).NodeID, members[row*width:][:width])
		}
		made[record.MemberIDs] = ids.Finish()
	}
	done, err := record.Project(n.schema, rec, made)
	if err != nil {
		return err
	}
	return out.Emit(done)
}
