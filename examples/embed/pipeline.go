package main

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/reugn/go-streams"
	"github.com/reugn/go-streams/extension"
	goflow "github.com/reugn/go-streams/flow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// submission is what flows through the part of the pipeline that is not ours.
type submission struct {
	id    int64
	graph *graph.Graph
}

// record makes a record of one row, which the stage that receives it owns.
func (s submission) record() arrow.Record {
	b := record.NewBuilder(memory.DefaultAllocator, record.Layout{})
	if err := b.Append(s.graph, record.Row{ID: s.id, Pos: s.id}); err != nil {
		panic(err) // the graph has no attributes, and so what the layout says
	}
	return b.Record()
}

// classify runs a pipeline over graphs that the network has not learned from.
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

// through sends a stream of records through our stages into sink, and returns
// their first error when all is done.
func through(ctx context.Context, stream streams.Flow, sink *flow.SinkInlet) error {
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
