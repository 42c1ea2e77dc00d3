package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// finish is the last step: it counts fields, and calls nodes by the ids of the
// file they come from.
type finish struct {
	from   *input.Named
	fields int64
	first  []string // members of some rows, to look at
}

func (f *finish) String() string { return "finish" }

// Open implements flow.Operator.
func (f *finish) Open(in *arrow.Schema) (flow.Stage, error) { return &finisher{f, in}, nil }

type finisher struct {
	*finish
	schema *arrow.Schema
}

func (f *finisher) Schema() *arrow.Schema { return f.schema }

func (f *finisher) Process(rec arrow.Record, out *flow.Out) error {
	roots, err := record.ListsOf[int32](rec, record.Roots)
	if err != nil {
		return err
	}
	for row := range roots.Len() {
		for _, v := range roots.Row(row) {
			if v >= 0 {
				f.fields++
			}
		}
	}
	members, width, err := record.FixedValues[int32](rec, record.Members)
	if err != nil {
		return err
	}
	graphs, err := record.Values[int64](rec, record.GraphID)
	if err != nil {
		return err
	}
	for row := 0; row < roots.Len() && len(f.first) < 5; row++ {
		field := slices.Clone(members[row*width:][:min(width, 12)])
		f.from.Rename(graphs[row], field, field)
		f.first = append(f.first, strings.Trim(fmt.Sprint(field), "[]"))
	}
	if !f.from.Names() {
		rec.Retain()
		return out.Emit(rec)
	}
	named := record.NewLists[int32](out.Mem())
	fixed := record.NewFixed[int32](out.Mem(), width)
	for row, graph := range graphs {
		f.from.Rename(graph, named.Grow(len(roots.Row(row))), roots.Row(row))
		f.from.Rename(graph, fixed.Extend(1), members[row*width:][:width])
	}
	done, err := record.Project(f.schema, rec, map[string]arrow.Array{
		record.Roots: named.Finish(), record.Members: fixed.Finish(int(rec.NumRows())),
	})
	if err != nil {
		return err
	}
	return out.Emit(done)
}
