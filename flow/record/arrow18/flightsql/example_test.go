package flightsql_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/sanflow/sanflow/flow/record/arrow18"
	"github.com/sanflow/sanflow/sources"
)

// must ends the example for an error. A program handles it.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// The answer of a Flight SQL server becomes a graph. An answer in several parts has an
// endpoint for each of them.
func Example() {
	dir := must(os.MkdirTemp("", "flightsql"))
	defer os.RemoveAll(dir)
	address, stop, err := serve(dir, memory.DefaultAllocator) // or that of a server which is there
	if err != nil {
		log.Fatal(err)
	}
	defer stop()

	ctx, query := context.Background(), "SELECT payer, payee, kind FROM payments WHERE amount > 10"
	client := must(flightsql.NewClient(address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials())))
	defer client.Close()
	info := must(client.Execute(ctx, query))
	answer := must(client.DoGet(ctx, info.Endpoint[0].Ticket))
	defer answer.Release()
	rows := must(arrow18.Rows(answer))
	defer rows.Release()
	set := must(sources.Tables{Edges: sources.EdgeTable{
		Table: sources.RecordTable{Reader: rows, Title: query}, Source: "payer", Target: "payee", Type: "kind",
	}}.Read(ctx))

	fmt.Println(set.Items[0].Graph.N(), "nodes,", set.Stats.Edges, "edges of the types", set.Layout.EdgeCat[0].Words)
	// Output:
	// 200 nodes, 759 edges of the types [card cash wire]
}
