package choose

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks"
)

// rowsOf returns the rows that have one of several targets. The caller releases them, with an error too.
func rowsOf(ctx context.Context, made []*rows, target int) (of []*rows, err error) {
	for _, r := range made {
		one := &rows{view: r.view, set: r.set, nodes: r.nodes, scale: r.scale}
		of = append(of, one)
		for _, part := range []struct {
			from, to *sinks.Collect
			use      string
		}{{&r.train, &one.train, "learn from"}, {&r.valid, &one.valid, "choose by"}} {
			if err := inMemory(part.from).Via(having{target}).Via(cut).To(part.to).Run(ctx); err != nil {
				return of, err
			}
			if part.to.Rows() == 0 {
				return of, fmt.Errorf("there are no rows to %s", part.use)
			}
		}
	}
	return of, nil
}

// having is an operator that passes the rows that have one of several targets, which becomes their column target.
type having struct{ target int }

// String returns the number of the target, for the plan of a pipeline.
func (h having) String() string { return fmt.Sprintf("target %d", h.target) }

// Open replaces the column of the targets.
func (h having) Open(in *arrow.Schema) (flow.Stage, error) {
	targets, err := record.TargetsOf(in)
	if err != nil {
		return nil, err
	}
	if h.target >= len(targets) {
		return nil, fmt.Errorf("the rows have %d targets in the column %q, want %d", len(targets), record.Targets, h.target+1)
	}
	t := targets[h.target]
	field, _, _ := record.Field(record.Layout{Classes: t.Classes, Real: len(t.Classes) == 0}.Schema(), record.Target)
	schema, err := record.Replace(in, []string{record.Targets}, field)
	return &havingStage{h, schema, len(t.Classes) > 0}, err
}

type havingStage struct {
	having
	schema  *arrow.Schema
	classes bool
}

func (s *havingStage) Schema() *arrow.Schema { return s.schema }

func (s *havingStage) Process(rec arrow.Record, out *flow.Out) error {
	lists, err := record.ListsOf[float32](rec, record.Targets)
	if err != nil {
		return err
	}
	var has []record.Ref
	class, value := record.NewColumn[int32](out.Allocator()), record.NewColumn[float32](out.Allocator())
	defer class.Release()
	defer value.Release()
	for row := range lists.Len() {
		all := lists.Row(row)
		if s.target >= len(all) {
			return errors.New("a row has too few targets")
		}
		if x := all[s.target]; x == x {
			has = append(has, record.Ref{Row: int32(row)})
			if class.Append(int32(x)); !s.classes {
				value.Append(x)
			}
		}
	}
	if len(has) == 0 {
		return nil
	}
	some, err := record.Take(out.Allocator(), []arrow.Record{rec}, has)
	if err != nil {
		return err
	}
	defer some.Release()
	target := class.Finish()
	if !s.classes {
		target.Release()
		target = value.Finish()
	}
	got, err := record.Project(s.schema, some, map[string]arrow.Array{record.Target: target})
	if err != nil {
		return err
	}
	return out.Emit(got)
}
