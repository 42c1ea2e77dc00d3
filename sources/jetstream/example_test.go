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
	"github.com/sanflow/sanflow/sinks"
	sink "github.com/sanflow/sanflow/sinks/jetstream"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/jetstream"
)

// broker starts a NATS server. A program has the URL of a server instead.
func broker() (url string, stop func()) {
	dir, err := os.MkdirTemp("", "broker")
	if err != nil {
		log.Fatal(err)
	}
	s, err := server.NewServer(jettest.Options(dir, 0))
	if err != nil {
		log.Fatal(err)
	}
	if s.Start(); !s.ReadyForConnections(30 * time.Second) {
		log.Fatal("the broker does not start")
	}
	return s.ClientURL(), func() { jettest.Stop(s); os.RemoveAll(dir) }
}

// One process publishes graphs to a work queue. Any number of workers share the queue: each
// graph goes to one worker, again if the worker dies. A last process reads the kept stream
// of the workers in order.
func ExampleSource() {
	url, stop := broker()
	defer stop()
	c, ctx := jetstream.Connection{URL: url}, context.Background()
	feed := flow.From(sources.Families{Graphs: 60, Rows: 20}).To(sink.Sink{Connection: c, Stream: "graphs", Queue: true})
	work := flow.From(jetstream.Source{Connection: c, Stream: "graphs", Durable: "workers"}).To(sink.Sink{Connection: c, Stream: "results"})
	var results sinks.Collect
	defer results.Release()
	read := flow.From(jetstream.Source{Connection: c, Stream: "results", Ordered: true}).To(&results)
	for _, p := range []flow.Pipeline{feed, work, read} { // each in a process of its own
		if err := p.Run(ctx); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(results.Rows(), "graphs")
	// Output: 60 graphs
}
