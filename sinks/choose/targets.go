package choose

import (
	"context"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks"
)

// rowsOf returns the rows with a value of one target. The caller releases them, also after an error.
func rowsOf(ctx context.Context, made []*rows, target int) (of []*rows, err error) {
	for _, r := range made {
		one := &rows{view: r.view, set: r.set, nodes: r.nodes, scale: r.scale}
		of = append(of, one)
		for _, part := range []struct {
			from, to *sinks.Collect
			use      string
		}{{&r.train, &one.train, "learn from"}, {&r.valid, &one.valid, "choose by"}} {
			var some flow.Records
			for _, rec := range part.from.Records() {
				var has arrow.Record
				if has, err = having(memory.DefaultAllocator, rec, target); has != nil {
					some.Schema, some.Records = has.Schema(), append(some.Records, has)
				}
				if err != nil {
					break
				}
			}
			switch {
			case err != nil:
			case some.Records == nil:
				err = fmt.Errorf("there are no rows to %s", part.use)
			default:
				err = flow.From(some).With(flow.Options{Workers: 1}).Via(cut).To(part.to).Run(ctx)
			}
			if Release(some); err != nil {
				return of, err
			}
		}
	}
	return of, nil
}

// having returns the rows of a record with a value of one target, which becomes the column target. The result is nil without such rows.
func having(mem memory.Allocator, rec arrow.Record, target int) (arrow.Record, error) {
	targets, err := record.TargetsOf(rec.Schema())
	if err != nil {
		return nil, err
	}
	lists, err := record.ListsOf[float32](rec, record.Targets)
	if err != nil {
		return nil, err
	}
	var has []record.Ref
	class, value := record.NewColumn[int32](mem), record.NewColumn[float32](mem)
	defer class.Release()
	defer value.Release()
	for row := range lists.Len() {
		all := lists.Row(row)
		if target >= len(all) || target >= len(targets) {
			return nil, fmt.Errorf("a row has %d targets in the column %q, want %d", len(all), record.Targets, target+1)
		}
		if x := all[target]; x == x {
			has = append(has, record.Ref{Row: int32(row)})
			class.Append(int32(x))
			value.Append(x)
		}
	}
	if len(has) == 0 {
		return nil, nil
	}
	some, err := record.Take(mem, []arrow.Record{rec}, has)
	if err != nil {
		return nil, err
	}
	defer some.Release()
	t := targets[target]
	field, _, _ := record.Field(record.Layout{Classes: t.Classes, Real: len(t.Classes) == 0}.Schema(), record.Target)
	schema, err := record.Replace(rec.Schema(), []string{record.Targets}, field)
	if err != nil {
		return nil, err
	}
	column := class.Finish
	if len(t.Classes) == 0 {
		column = value.Finish
	}
	return record.Project(schema, some, map[string]arrow.Array{record.Target: column()})
}

// valuesOf returns the set of values of each target in some records.
func valuesOf(recs []arrow.Record, targets []record.TargetChannel) ([]map[float32]bool, error) {
	met := make([]map[float32]bool, len(targets))
	for i := range met {
		met[i] = map[float32]bool{}
	}
	for _, rec := range recs {
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
	return met, nil
}

// Unlearnable returns why some of several targets cannot be learned, by their numbers: no row of a part has it, or all rows to
// learn from are of one class.
func Unlearnable(ctx context.Context, targets []record.TargetChannel, train, valid Rows) (why map[int]string, err error) {
	why = map[int]string{}
	for part, rows := range []Rows{train, valid} {
		use := []string{"learn from", "choose by"}[part]
		var all sinks.Collect
		defer all.Release()
		if err := rows(nil).To(&all).Run(ctx); err != nil {
			return nil, err
		}
		met, err := valuesOf(all.Records(), targets)
		if err != nil {
			return nil, err
		}
		for i, t := range targets {
			switch {
			case why[i] != "":
			case len(met[i]) == 0:
				why[i] = "it is known of no row to " + use
			case len(met[i]) == 1 && len(t.Classes) > 1 && part == 0:
				why[i] = "all rows to learn from are of one class"
			}
		}
	}
	return why, nil
}
