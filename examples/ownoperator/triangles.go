package main

import (
	"context"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// Triangles adds the column triangles, the number of triangles of each graph.
type Triangles struct {
	Most int // largest number of nodes; larger graphs are refused. 0 is any number.
}

func (t Triangles) Open(in *arrow.Schema) (flow.Stage, error) {
	schema, err := record.Extend(in, arrow.Field{Name: "triangles", Type: arrow.PrimitiveTypes.Int32})
	return counter{t, schema}, err
}

type counter struct {
	Triangles
	schema *arrow.Schema
}

func (c counter) Schema() *arrow.Schema { return c.schema }
func (c counter) Fork() flow.Stage      { return c } // a stage without state may serve all workers

func (c counter) Process(rec arrow.Record, out *flow.Out) error {
	graphs, err := record.GraphsOf(rec)
	if err != nil {
		return err
	}
	col := record.NewColumn[int32](out.Allocator())
	defer col.Release()
	from := 0
	var g graph.Graph
	for row := range graphs.Len() {
		graphs.At(row, &g)
		if c.Most > 0 && g.N() > c.Most { // the policy of the pipeline is Stop, Skip or Keep
			if err := c.emit(rec, from, row, col, out); err != nil {
				return err
			}
			if err := out.Refuse(rec, row, fmt.Errorf("there are %d nodes, want at most %d", g.N(), c.Most)); err != nil {
				return err
			}
			from = row + 1
			continue
		}
		n, err := triangles(out.Context(), &g)
		if err != nil {
			return err
		}
		col.Append(n)
	}
	return c.emit(rec, from, graphs.Len(), col, out)
}

// emit sends some rows on, with their column.
func (c counter) emit(rec arrow.Record, from, to int, col *record.Column[int32], out *flow.Out) error {
	if from == to {
		return nil
	}
	rows := rec.NewSlice(int64(from), int64(to))
	defer rows.Release()
	made, err := record.Project(c.schema, rows, map[string]arrow.Array{"triangles": col.Finish()})
	if err != nil {
		return err
	}
	return out.Emit(made)
}

// triangles counts the triples u < v < w of adjacent nodes.
func triangles(ctx context.Context, g *graph.Graph) (n int32, err error) {
	for u := range int32(g.N()) {
		if u%1024 == 0 && ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		for _, v := range g.Adj(u) {
			for _, w := range g.Adj(v) {
				if u < v && v < w && g.Entry(u, w) >= 0 {
					n++
				}
			}
		}
	}
	return n, nil
}
