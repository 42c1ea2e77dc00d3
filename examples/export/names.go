package main

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// names is the operator behind Normalize that calls roots and members by the ids of
// the file they come from, and drops the graph, which has them.
type names struct{}

func (names) String() string { return "names" }

// Open implements flow.Operator.
func (names) Open(in *arrow.Schema) (flow.Stage, error) {
	return &namer{record.Without(in, append(record.GraphColumns(), record.RootIDs)...), in.HasField(record.NodeIDs)}, nil
}

type namer struct {
	schema *arrow.Schema
	ids    bool // or else nodes are called by their numbers
}

func (n *namer) Schema() *arrow.Schema { return n.schema }

func (n *namer) Fork() flow.Stage { return n }

func (n *namer) Process(rec arrow.Record, out *flow.Out) error {
	made := map[string]arrow.Array{}
	if n.ids {
		graphs, err := record.GraphsOf(rec)
		if err != nil {
			return err
		}
		roots, err := record.ListsOf[int32](rec, record.Roots)
		if err != nil {
			return err
		}
		members, width, err := record.FixedValues[int32](rec, record.Members)
		if err != nil {
			return err
		}
		named, fixed := record.NewLists[int32](out.Allocator()), record.NewFixed[int32](out.Allocator(), width)
		for row := range graphs.Len() {
			ids, root := graphs.Row(row).NodeID, roots.Row(row)
			if err := input.Rename(ids, named.Grow(len(root)), root); err != nil {
				return err
			}
			if err := input.Rename(ids, fixed.Extend(1), members[row*width:][:width]); err != nil {
				return err
			}
		}
		made[record.Roots], made[record.Members] = named.Finish(), fixed.Finish(graphs.Len())
	}
	done, err := record.Project(n.schema, rec, made)
	if err != nil {
		return err
	}
	return out.Emit(done)
}
