// Command embed is sanflow inside a go-streams pipeline that is somebody
// else's: graphs come in over HTTP, pass a filter of theirs, are classified by
// stages of ours, and the answers go on through a map of theirs.
//
//	go run ./examples/embed                        # classifies 20 graphs and ends
//	go run ./examples/embed -listen localhost:8080 # until Ctrl-C
//	curl localhost:8080 -d '{"id": 7, "nodes": 4, "edges": [[0,1],[1,2],[2,3],[3,0]]}'
//
//	theirs: chan ─▶ Filter ─▶ Map ─┐                      ┌─▶ chan ─▶ Map ─▶ stdout
//	ours:                          └▶ fields … ─▶ Predict ┘
package main

import (
	"context"
	"errors"
	"flag"

	"github.com/reugn/go-streams"
	"github.com/reugn/go-streams/extension"
	goflow "github.com/reugn/go-streams/flow"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// toFields is the way from graphs to receptive fields, the same for those that
// the network learns from and those that it is asked about.
var toFields = []flow.Operator{
	operators.Channel{By: labeling.NormalizedDegree},
	operators.Channel{By: labeling.Clustering},
	operators.Select{W: 40, By: labeling.Betweenness},
	operators.Assemble{K: 10},
	operators.Normalize{},
}

func main() { cli.Main("embed", run) }

func run(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("embed", flag.ContinueOnError)
	listen := f.String("listen", "", "address to take graphs at, until Ctrl-C; empty = some generated graphs")
	graphs := f.Int("learn", 2400, "graphs to learn from before")
	if err := cli.Parse(f, args); err != nil {
		return err
	}
	if err := cli.AtLeast("learn", *graphs, 6); err != nil {
		return err
	}
	net, err := train(ctx, *graphs)
	if err != nil {
		return err
	}
	// Ctrl-C closes the intake. What is in the pipeline by then is answered, so
	// the pipeline has a context that outlives it.
	in := make(chan any)
	intake := make(chan error, 1)
	go func() {
		defer close(in)
		if *listen == "" {
			intake <- generated(ctx, in)
		} else {
			intake <- serve(ctx, *listen, in)
		}
	}()
	return errors.Join(classify(context.WithoutCancel(ctx), net, in), <-intake)
}

// train teaches a network to tell six families of graphs apart. A program would
// rather load one: net.Load(file).
func train(ctx context.Context, graphs int) (*nn.CNN, error) {
	net := &nn.CNN{Seed: 1, Dropout: -1}
	p := flow.From(sources.Families{Graphs: graphs})
	for _, op := range toFields {
		p = p.Via(op)
	}
	return net, p.Via(operators.Replay{Epochs: 5, Rows: 32}).To(sinks.Train{Net: net}).Run(ctx)
}

// classify runs the pipeline until in is closed and everything is answered.
func classify(ctx context.Context, net nn.Model, in chan any) error {
	answers := make(chan any)
	predict := flow.AsSink(ctx, sinks.Predict{Net: net, Each: func(p sinks.Prediction) error {
		answers <- answer{p.Graph, sources.FamilyNames[p.Class], p.Probs[p.Class]}
		return nil
	}})
	var failed error
	go func() {
		defer close(answers)
		stream := extension.NewChanSource(in).
			Via(goflow.NewFilter(func(s submission) bool { return s.graph.M() > 0 }, 1)).
			Via(goflow.NewMap(submission.record, 1))
		failed = through(ctx, stream, predict)
	}()
	extension.NewChanSource(answers).
		Via(goflow.NewMap(answer.String, 1)).
		To(extension.NewStdoutSink())
	return failed
}

// through sends a stream of records through our stages into sink, and returns
// their first error when all is done.
func through(ctx context.Context, stream streams.Flow, sink *flow.SinkInlet) error {
	var stages []interface{ Err() error }
	for _, op := range toFields {
		f := flow.AsFlow(ctx, op)
		stages = append(stages, f)
		stream = stream.Via(f)
	}
	stream.To(sink)
	for _, s := range append(stages, sink) {
		if err := s.Err(); err != nil {
			return err
		}
	}
	return nil
}
