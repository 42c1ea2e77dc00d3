// Command embed is sanflow inside another program. Without
// -listen it is part of a go-streams pipeline: 20 graphs pass a filter of theirs,
// are classified by stages of ours, and the answers go on through a map of
// theirs. With -listen it answers over HTTP, each client for itself.
//
//	go run ./examples/embed                        # classifies 20 graphs and ends
//	go run ./examples/embed -listen localhost:8080 # until Ctrl-C
//	curl localhost:8080 -d '{"id": 7, "nodes": 4, "edges": [[0,1],[1,2],[2,3],[3,0]]}'
//	{"id":7,"class":"torus","probability":0.5463796}
//
//	theirs: chan ─▶ Filter ─▶ Map ─┐                      ┌─▶ chan ─▶ Map ─▶ stdout
//	ours:                          └▶ fields … ─▶ Predict ┘
//
// The network learns from generated graphs first. A program would rather load
// one: sinks.Load(file) is a Predictor, too.
package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// recipe is the way from graphs to receptive fields, the same for those that the
// network learns from and those that it is asked about.
var recipe = operators.Recipe{
	operators.Expect{Layout: record.Layout{Classes: sources.FamilyNames}},
	operators.Channel{By: labeling.NormalizedDegree},
	operators.Channel{By: labeling.Clustering},
	operators.Select{W: 40, By: labeling.Betweenness},
	operators.Assemble{K: 10},
	operators.Normalize{},
}

const usage = `classifies graphs in a go-streams pipeline, or over HTTP.

  embed                          classifies 20 generated graphs and ends
  embed -listen localhost:8080   answers until Ctrl-C
  curl localhost:8080 -d '{"id": 7, "nodes": 4, "edges": [[0,1],[1,2],[2,3],[3,0]]}'

Status 200 has the answer; 400 is no graph, 413 one beyond the limits, 422 one
that cannot be classified; 503 has Retry-After: all workers are busy.`

func main() { cli.Main("embed", run) }

func run(ctx context.Context, args []string) error {
	f := cli.Flags("embed", usage)
	listen := f.String("listen", "", "address to take graphs at, until Ctrl-C; empty = some generated graphs")
	var graphs int
	cli.Int(f, &graphs, "learn", 2400, 6, cli.Many, "graphs to learn from before")
	var l limits
	cli.Int(f, &l.workers, "workers", 0, 0, 1<<16, "graphs in work at once; large ones have half of the places at most; 0 = all cores, at least 2")
	cli.Int(f, &l.queue, "queue", 64, 0, 1<<16, "requests that wait for a worker; more get 503, and so does a client that has half of the places")
	cli.Int(f, &l.nodes, "max-nodes", 25_000, 1, cli.Many, "most nodes of a graph")
	cli.Int(f, &l.edges, "max-edges", 100_000, 1, cli.Many, "most edges of a graph")
	f.Int64Var(&l.bytes, "max-bytes", 2<<20, "most bytes of a request")
	cli.Range(f, &l.bytes, "max-bytes", 1, 1<<30)
	f.DurationVar(&l.time, "time", 2*time.Second, "most time for a request, once it is read: waiting and work")
	cli.Range(f, &l.time, "time", 1, math.MaxInt64)
	f.DurationVar(&l.grace, "grace", 500*time.Millisecond, "time for requests in work on Ctrl-C")
	cli.Range(f, &l.grace, "grace", 0, math.MaxInt64)
	if err := cli.Parse(f, args); err != nil {
		return err
	}
	if l.workers == 0 {
		l.workers = max(2, runtime.GOMAXPROCS(0))
	}
	net, err := train(ctx, graphs)
	if err != nil {
		return err
	}
	if *listen == "" {
		return classify(ctx, net)
	}
	p, err := sinks.NewPredictor(net, recipe)
	if err != nil {
		return err
	}
	defer p.Close()
	return newServer(l, p.Predict, func(a answer) { fmt.Println(a) }).listen(ctx, *listen)
}

// train teaches a network to classify six families of graphs.
func train(ctx context.Context, graphs int) (*nn.CNN, error) {
	net := &nn.CNN{Seed: 1, Dropout: -1}
	return net, recipe.Onto(flow.From(sources.Families{Graphs: graphs})).
		Via(operators.Replay{Epochs: 5, Rows: 32}).
		To(sinks.Train{Net: net}).
		Run(ctx)
}

// answer is what a graph is answered with.
type answer struct {
	ID          int64   `json:"id"`
	Class       string  `json:"class"`
	Probability float32 `json:"probability"`
}

// String returns the line that is printed.
func (a answer) String() string {
	return fmt.Sprintf("graph %d: %s, %.0f %%", a.ID, a.Class, 100*a.Probability)
}
