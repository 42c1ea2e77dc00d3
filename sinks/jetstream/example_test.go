package jetstream_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	"github.com/sanflow/sanflow/sinks/collect"
	"github.com/sanflow/sanflow/sinks/jetstream"
	"github.com/sanflow/sanflow/sources"
	from "github.com/sanflow/sanflow/sources/jetstream"
)

// The sink publishes one message a record. A second run with the same data publishes
// nothing: the broker has each position already.
func ExampleSink() {
	dir, err := os.MkdirTemp("", "broker")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := server.NewServer(jettest.Options(dir, 0)) // a program has the URL of a server
	if err != nil {
		log.Fatal(err)
	}
	defer jettest.Stop(s)
	if s.Start(); !s.ReadyForConnections(30 * time.Second) {
		log.Fatal("the broker does not start")
	}
	to := jetstream.Sink{Connection: jetstream.Connection{URL: s.ClientURL()}, Stream: "graphs"}
	for range 2 {
		if err := flow.From(sources.Families{Graphs: 60, Rows: 20}).To(to).Run(context.Background()); err != nil {
			log.Fatal(err)
		}
	}
	var stored collect.Sink
	defer stored.Release()
	stream := flow.From(from.Source{Connection: to.Connection, Stream: to.Stream, Ordered: true})
	if err := stream.To(&stored).Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(stored.Records()), "messages,", stored.Rows(), "graphs")
	// Output: 3 messages, 60 graphs
}
