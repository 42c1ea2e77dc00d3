package sources_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/sanflow/sanflow/sources"
)

// Tables makes one graph of a table of edges and a table of nodes, whose ids are strings.
func ExampleTables() {
	files := fstest.MapFS{
		"payments.csv": {Data: []byte("from,to,type,amount\nada,bob,card,12.50\nbob,cyd,cash,3\n")},
		"people.csv":   {Data: []byte("name,age,role\nada,31,shop\nbob,25,guest\ncyd,40,\n")},
	}
	tables, err := sources.Tables{
		Edges: sources.EdgeTable{Table: sources.CSV{FS: files, Path: "payments.csv"}, Source: "from", Target: "to", Type: "type", Weight: "amount"},
		Nodes: sources.NodeTable{Table: sources.CSV{FS: files, Path: "people.csv"}, ID: "name", Targets: sources.Targets("role")},
	}.Read(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	graph := tables.Items[0]
	fmt.Println(graph.Graph.N(), "nodes,", graph.Graph.M(), "edges")
	fmt.Println(tables.Layout.NodeClasses, graph.NodeClass)
	for _, c := range tables.Columns {
		fmt.Println(c)
	}
	// Output:
	// 3 nodes, 2 edges
	// [guest shop] [1 0 -1]
	// payments.csv: column "from": string, source of an edge
	// payments.csv: column "to": string, target of an edge
	// payments.csv: column "type": string, edge attribute type, 2 words
	// payments.csv: column "amount": float, edge attribute weight
	// people.csv: column "name": string, id of a node
	// people.csv: column "role": string, class of a node, 2 words
	// people.csv: column "age": integer, node attribute age
}
