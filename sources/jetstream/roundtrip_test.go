package jetstream_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	sink "github.com/sanflow/sanflow/sinks/jetstream"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/jetstream"
)

var recipe = operators.Recipe{
	operators.Channel{By: labeling.NormalizedDegree}, operators.Select{W: 6}, operators.Assemble{K: 5}, operators.Normalize{},
}

// run runs a pipeline, which must leave no memory.
func run(t *testing.T, p flow.Pipeline, o flow.Options) (flow.Stats, error) {
	t.Helper()
	mem := memory.NewCheckedAllocator(record.Poison{})
	o.Allocator = mem
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	r := p.With(o).Start(ctx)
	err := r.Wait()
	mem.AssertSize(t, 0)
	return r.Stats(), err
}

// rows runs a pipeline into memory, and returns its rows.
func rows(t *testing.T, p flow.Pipeline) []string {
	t.Helper()
	var all []string
	keep := sinkFunc(func(rec arrow.Record) { all = append(all, flowtest.Rows(rec)...) })
	if _, err := run(t, p.To(keep), flow.Options{}); err != nil {
		t.Fatal(err)
	}
	return all
}

// sinkFunc is a sink that calls itself.
type sinkFunc func(arrow.Record)

func (f sinkFunc) Open(*arrow.Schema) (flow.Writer, error) { return f, nil }
func (f sinkFunc) Close(error) error                       { return nil }
func (f sinkFunc) Write(_ context.Context, rec arrow.Record) error {
	f(rec)
	return nil
}

// What a trainer reads that workers have made from what a feed has sent is what one
// process makes, in its order, epoch after epoch, and so is the model.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	src := sources.Families{Graphs: 150, Rows: 8}
	if _, err := run(t, flow.From(src).To(sink.Sink{Connection: c, Stream: "graphs", Queue: true}), flow.Options{}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 3)
	for range cap(done) {
		go func() {
			done <- recipe.Onto(flow.From(jetstream.Source{Connection: c, Stream: "graphs", Durable: "fields", Pending: 3})).
				To(sink.Sink{Connection: c, Stream: "fields"}).Run(context.Background())
		}()
	}
	train := func(src flow.Source, through ...flow.Operator) *nn.CNN {
		net := &nn.CNN{Seed: 1}
		p := flow.From(src)
		for _, op := range through {
			p = p.Via(op)
		}
		if _, err := run(t, p.Via(operators.Batch{Size: 32}).To(sinks.Train{Net: net}), flow.Options{}); err != nil {
			t.Fatal(err)
		}
		return net
	}
	ordered := jetstream.Source{Connection: c, Stream: "fields", Ordered: true, Wait: time.Minute, Epochs: 3, Seed: 7, Block: 20}
	got := train(ordered) // while they work
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	replay := operators.Replay{Epochs: 3, Seed: 7, Block: 20}
	want := train(src, append(slices.Clone(recipe), flow.Operator(replay))...)
	if got.Hash() != want.Hash() || got.Seen() != 450 {
		t.Errorf("%s after %d graphs, want %s after %d", got.Hash(), got.Seen(), want.Hash(), want.Seen())
	}
	all := rows(t, recipe.Onto(flow.From(src)).Via(replay))
	if got := rows(t, flow.From(ordered)); !slices.Equal(got, all) {
		t.Error("the rows are others")
	}
	for _, skip := range []int64{1, 8, 149, 150, 151, 290, 333, 450, 999} {
		ordered.Skip = skip
		if got := rows(t, flow.From(ordered)); !slices.Equal(got, all[min(skip, 450):]) {
			t.Errorf("behind %d: %d rows, or others", skip, len(got))
		}
	}
}
