package record_test

import (
	"fmt"
	"log"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

func ExampleGraphsOf() {
	b := record.NewBuilder(memory.DefaultAllocator, record.Layout{Classes: []string{"tree", "cyclic"}})
	path, err := graph.New(3, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}})
	if err != nil {
		log.Fatal(err)
	}
	ring, err := graph.New(3, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 0}})
	if err != nil {
		log.Fatal(err)
	}
	if err := b.Append(path, record.Row{ID: 7, Pos: 0, Class: 0}); err != nil {
		log.Fatal(err)
	}
	if err := b.Append(ring, record.Row{ID: 8, Pos: 1, Class: 1}); err != nil {
		log.Fatal(err)
	}
	rec := b.Record()
	defer rec.Release()

	gs, err := record.GraphsOf(rec)
	if err != nil {
		log.Fatal(err)
	}
	var g graph.Graph
	for row := range gs.Len() {
		gs.At(row, &g)
		fmt.Println("graph", gs.ID(row), "has", g.N(), "nodes and", g.M(), "edges")
	}
	// Output:
	// graph 7 has 3 nodes and 2 edges
	// graph 8 has 3 nodes and 3 edges
}

// Project makes a record of columns that are there and columns that are new.
func ExampleProject() {
	b := record.NewBuilder(memory.DefaultAllocator, record.Layout{})
	if err := b.Append(&graph.Graph{}, record.Row{ID: 7}); err != nil {
		log.Fatal(err)
	}
	rec := b.Record()
	defer rec.Release()

	roots := record.NewLists[int32](memory.DefaultAllocator)
	roots.Append([]int32{-1, -1})
	schema, err := record.Extend(rec.Schema(), record.ListField[int32](record.Roots, []int{2}))
	if err != nil {
		log.Fatal(err)
	}
	made, err := record.Project(schema, rec, map[string]arrow.Array{record.Roots: roots.Finish()})
	if err != nil {
		log.Fatal(err)
	}
	defer made.Release()
	for _, f := range made.Schema().Fields() {
		fmt.Println(f.Name, f.Type)
	}
	// Output:
	// graph_id int64
	// pos int64
	// offsets list<item: int32, nullable>
	// neighbors list<item: int32, nullable>
	// roots list<item: int32, nullable>
}

func ExampleTake() {
	ids := func(id ...int64) arrow.Record {
		b := record.NewBuilder(memory.DefaultAllocator, record.Layout{})
		for _, i := range id {
			if err := b.Append(&graph.Graph{}, record.Row{ID: i}); err != nil {
				log.Fatal(err)
			}
		}
		return b.Record()
	}
	recs := []arrow.Record{ids(10, 11), ids(20, 21)}
	rec, err := record.Take(memory.DefaultAllocator, recs, []record.Ref{{Record: 1, Row: 1}, {Record: 0, Row: 0}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(record.Values[int64](rec, record.GraphID))
	// Output: [21 10] <nil>
}
