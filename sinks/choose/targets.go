package choose

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

// measured reports whether the rows to choose by are of two classes at least, or numbers.
func measured(r *rows, classes int) (bool, error) {
	var met []int32
	for _, rec := range r.valid.Records() {
		if classes == 0 {
			return true, nil
		}
		class, err := record.Values[int32](rec, record.Target)
		if err != nil {
			return false, err
		}
		met = append(met, class...)
	}
	return slices.Max(met) > slices.Min(met), nil
}

// Unlearnable returns why some of several targets cannot be learned, by their numbers: no row of a part has it, or all rows to
// learn from are of one class.
func Unlearnable(ctx context.Context, targets []record.TargetChannel, train, valid Rows) (why map[int]string, err error) {
	why = map[int]string{}
	for _, part := range []struct {
		rows Rows
		use  string
	}{{train, "learn from"}, {valid, "choose by"}} {
		var all sinks.Collect
		defer all.Release()
		if err := part.rows(nil).To(&all).Run(ctx); err != nil {
			return nil, err
		}
		met := make([]map[float32]bool, len(targets))
		for i := range met {
			met[i] = map[float32]bool{}
		}
		for _, rec := range all.Records() {
			lists, err := record.ListsOf[float32](rec, record.Targets)
			if err != nil {
				return nil, err
			}
			for row := range lists.Len() {
				for i, x := range lists.Row(row) {
					if x == x {
						met[i][x] = true
					}
				}
			}
		}
		for i, t := range targets {
			switch {
			case len(met[i]) == 0:
				why[i] = "it is known of no row to " + part.use
			case len(met[i]) == 1 && len(t.Classes) > 1 && part.use == "learn from":
				why[i] = "all rows to learn from are of one class"
			}
		}
	}
	return why, nil
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
