package sinks_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn/trees"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
)

// numberedRows returns records of 10 graphs each with two numbers, "size" and "known". The class is whether known is missing.
func numberedRows(t *testing.T, mem memory.Allocator, n int) flow.Records {
	t.Helper()
	var recs []arrow.Record
	b := record.NewBuilder(mem, record.Layout{Classes: []string{"given", "missing"}})
	defer b.Release()
	columns := record.NewFixed[float32](mem, 2)
	defer columns.Release()
	for i := range n {
		g, err := graph.New(3+i%3, false, []graph.Edge{{U: 0, V: 1}})
		if err != nil {
			t.Fatal(err)
		}
		r := record.Row{ID: int64(i), Pos: int64(i), Class: int32(i * i % 7 % 2)}
		x := []float32{float32(i % 5), float32(i % 11)}
		if r.Class == 1 {
			x[1] = float32(math.NaN())
		}
		copy(columns.Grow(1), x)
		if err := b.Append(g, r); err != nil {
			t.Fatal(err)
		}
		if b.Rows() < 10 && i < n-1 {
			continue
		}
		rec := b.Record()
		schema, err := record.Extend(rec.Schema(), record.ColumnsField([]string{"size", "known"}))
		if err != nil {
			t.Fatal(err)
		}
		with, err := record.Project(schema, rec, map[string]arrow.Array{record.RowColumns: columns.Finish(int(rec.NumRows()))})
		rec.Release()
		if err != nil {
			t.Fatal(err)
		}
		recs = append(recs, with)
	}
	return flow.Records{Records: recs}
}

// Counts and columns of a row reach trees together, through the stages between, and a missing number stays one.
func TestTreesLearnFromColumns(t *testing.T) {
	for name, counts := range map[string]operators.Recipe{
		"columns": {operators.Roots{Nodes: []int32{0}}}, "counts and columns": {operators.Count{Of: []count.Counter{count.WL{Height: 1}}, DropGraph: true}},
	} {
		checked(t, func(o flow.Options) {
			rows := numberedRows(t, o.Allocator, 200)
			defer func() {
				for _, rec := range rows.Records {
					rec.Release()
				}
			}()
			p := counts.Onto(flow.From(rows).With(o)).Via(operators.Shuffle{Rows: 50, Seed: 1}).
				Via(operators.Replay{Epochs: 2, Rows: 32}).Via(operators.Batch{Size: 7})
			m := &trees.Model{Trees: 10, MinRows: 1}
			if _, err := sinks.FitTrees(context.Background(), m, p, nil, ""); err != nil {
				t.Fatal(name, err)
			}
			if got := m.Shape(); !slices.Equal(got.Columns, []string{"size", "known"}) || (len(got.Counts) == 1) != (name != "columns") {
				t.Errorf("%s: the model reads %+v", name, got)
			}
			n := 0
			err := p.To(sinks.Predict{Net: m, Each: func(p sinks.Prediction) error {
				if n++; p.Class != p.Target {
					t.Errorf("%s: graph %d is of class %d, predicted %d", name, p.Graph, p.Target, p.Class)
				}
				return nil
			}}).Run(context.Background())
			if err != nil || n != 400 {
				t.Fatalf("%s: %d rows, %v", name, n, err)
			}
		})
	}
}
