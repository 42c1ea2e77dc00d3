// Command embed runs sanflow inside a go-streams pipeline: 20 graphs pass a filter of go-streams,
// stages of sanflow classify them, and the answers pass a map of go-streams.
//
//	go-streams: chan ─▶ Filter ─▶ Map ─┐                      ┌─▶ chan ─▶ Map ─▶ stdout
//	sanflow:                           └▶ fields … ─▶ Predict ┘
//
// The network learns from generated graphs first. A program may load one instead: sinks.Load(file)
// returns a Predictor. sanflow serve answers over HTTP.
package main

import (
	"context"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/reugn/go-streams"
	"github.com/reugn/go-streams/extension"
	goflow "github.com/reugn/go-streams/flow"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// recipe is the way from graphs to receptive fields, in training and in prediction.
var recipe = operators.Recipe{
	operators.Expect{Layout: record.Layout{Classes: sources.FamilyNames}},
	operators.Channel{By: labeling.NormalizedDegree},
	operators.Channel{By: labeling.Clustering},
	operators.Select{W: 40, By: labeling.Betweenness},
	operators.Assemble{K: 10},
	operators.Normalize{},
}

func main() { cli.Main("embed", run) }

func run(ctx context.Context, args []string) error {
	f := cli.Flags("embed", "classifies 20 generated graphs in a go-streams pipeline.")
	var graphs int
	cli.Int(f, &graphs, "learn", 2400, 6, cli.Many, "graphs to learn from before")
	if err := cli.Parse(f, args); err != nil {
		return err
	}
	net := &nn.CNN{Seed: 1, Dropout: -1}
	err := recipe.Onto(flow.From(sources.Families{Graphs: graphs})).
		Via(operators.Replay{Epochs: 5, Rows: 32}).
		To(sinks.Train{Net: net}).
		Run(ctx)
	if err != nil {
		return err
	}
	return classify(ctx, net)
}

// submission is an element of the stream before the stages of sanflow.
type submission struct {
	id    int64
	graph *graph.Graph
}

// record returns a record of one row. The stage that receives the record owns it.
func (s submission) record() arrow.Record {
	b := record.NewBuilder(memory.DefaultAllocator, record.Layout{})
	if err := b.Append(s.graph, record.Row{ID: s.id, Pos: s.id}); err != nil {
		panic(err) // unreachable: the graph has no attributes, as the layout
	}
	return b.Record()
}

// answer is an element of the stream behind the stages of sanflow.
type answer struct {
	id          int64
	class       string
	probability float32
}

// String is the printed line.
func (a answer) String() string {
	return fmt.Sprintf("graph %d: %s, %.0f %%", a.id, a.class, 100*a.probability)
}

// classify runs the pipeline over graphs that the network has not learned from.
func classify(ctx context.Context, net nn.Model) error {
	items, err := sources.Families{Graphs: 20, Seed: 2}.Items()
	if err != nil {
		return err
	}
	in, answers := make(chan any), make(chan any)
	go func() {
		defer close(in)
		for i, it := range items {
			select {
			case in <- submission{int64(i), it.Graph}:
			case <-ctx.Done():
				return
			}
		}
	}()
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

// through sends a stream of records through the stages of recipe into sink, and returns their first error
// at the end.
func through(ctx context.Context, stream streams.Flow, sink flow.SinkAdapter) error {
	var stages []interface{ Err() error }
	for _, op := range recipe {
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
