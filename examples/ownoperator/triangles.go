package main

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// Triangles adds the column triangles: how many each graph has.
type Triangles struct{}

func (Triangles) Open(in *arrow.Schema) (flow.Stage, error) {
	schema, err := record.Extend(in, arrow.Field{Name: "triangles", Type: arrow.PrimitiveTypes.Int32})
	return counter{schema}, err
}

type counter struct{ schema *arrow.Schema }

func (c counter) Schema() *arrow.Schema { return c.schema }
func (c counter) Fork() flow.Stage      { return c } // without state, workers can share it

func (c counter) Process(rec arrow.Record, out *flow.Out) error {
	graphs, err := record.GraphsOf(rec)
	if err != nil {
		return err
	}
	col := record.NewColumn[int32](out.Mem())
	defer col.Release()
	var g graph.Graph
	for row := range graphs.Len() {
		graphs.At(row, &g)
		col.Append(triangles(&g))
	}
	made, err := record.Project(c.schema, rec, map[string]arrow.Array{"triangles": col.Finish()})
	if err != nil {
		return err
	}
	return out.Emit(made)
}

// triangles counts u < v < w that are all adjacent.
func triangles(g *graph.Graph) (n int32) {
	for u := range int32(g.N()) {
		for _, v := range g.Adj(u) {
			for _, w := range g.Adj(v) {
				if u < v && v < w && g.Entry(u, w) >= 0 {
					n++
				}
			}
		}
	}
	return n
}
