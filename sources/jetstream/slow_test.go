package jetstream_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	sink "github.com/sanflow/sanflow/sinks/jetstream"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/jetstream"
)

// A trainer that is slow for many times AckWait slows the workers, whose stream has a bound, and
// nothing else: with SANFLOW_LONG for 1200 times AckWait, which are ten hours of the default.
func TestSlowTrainer(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	const ackWait = 200 * time.Millisecond
	graphs, slow := 100, 20*ackWait
	if os.Getenv("SANFLOW_LONG") != "" {
		graphs, slow = 1200, 1200*ackWait
	}
	src := sources.Families{Graphs: graphs, Rows: 5}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute+2*slow)
	defer stop()
	done := make(chan error, 3)
	go func() {
		done <- flow.From(src).To(sink.Sink{Connection: c, Stream: "graphs", Queue: true, MaxMessages: 20}).Run(ctx)
	}()
	for range cap(done) - 1 {
		go func() {
			done <- recipe.Onto(flow.From(jetstream.Source{Connection: c, Stream: "graphs", Durable: "w", AckWait: ackWait, Pending: 4, Wait: time.Minute})).
				To(sink.Sink{Connection: c, Stream: "fields", MaxBytes: 8_000}).Run(ctx)
		}()
	}
	net, want := &nn.CNN{Seed: 1}, &nn.CNN{Seed: 1}
	step := slow / time.Duration(graphs/10)
	stats := flow.From(jetstream.Source{Connection: c, Stream: "fields", Ordered: true, Purge: true, Wait: time.Minute}).Via(operators.Batch{Size: 10}).To(sinks.Train{
		Net: net, Checkpoint: sinks.Checkpoint{File: filepath.Join(t.TempDir(), "checkpoint"), Every: 50 * time.Millisecond},
		OnStep: func(nn.Result) error { time.Sleep(step); return nil },
	}).Start(ctx)
	err := stats.Wait()
	for range cap(done) {
		err = errors.Join(err, <-done)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, recipe.Onto(flow.From(src)).Via(operators.Batch{Size: 10}).To(sinks.Train{Net: want}), flow.Options{}); err != nil {
		t.Fatal(err)
	}
	if net.Hash() != want.Hash() || net.Seen() != graphs {
		t.Errorf("%s after %d graphs, want %s after %d", net.Hash(), net.Seen(), want.Hash(), graphs)
	}
	t.Logf("%v, %v", stats.Stats().Stages[0].Notes, slow)
}
