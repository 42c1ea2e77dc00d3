package jetstream_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	sink "github.com/sanflow/sanflow/sinks/jetstream"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/jetstream"
)

// A worker has died with the messages that the trainer waits for, and the others have their
// hands full of messages for which there is no room before those: one takes the oldest
// although its hand is full.
func TestStuckWorker(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	const graphs, perMessage, bound, pending = 100, 5, 8_000, 2
	src := sources.Families{Graphs: graphs, Rows: perMessage}
	if _, err := run(t, flow.From(src).To(sink.Sink{Connection: c, Stream: "graphs", Queue: true}), flow.Options{}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	// AckWait is what a busy machine may pause between two marks of the dead worker's messages below:
	// the other one must not get them before it is stuck.
	source := jetstream.Source{Connection: c, Stream: "graphs", Durable: "fields", AckWait: 3 * time.Second, Pending: pending}
	js := raw(t, c)
	dies := firstOf(ctx, t, js, source, 3)
	worker := recipe.Onto(flow.From(source)).To(sink.Sink{Connection: c, Stream: "fields", MaxBytes: bound}).Start(ctx)
	for full := false; !full; time.Sleep(20 * time.Millisecond) {
		cons, err := js.Consumer(ctx, "graphs", "fields")
		if err != nil {
			t.Fatalf("the worker was never stuck: %v", err)
		}
		for _, m := range dies {
			if err := m.InProgress(); err != nil {
				t.Fatal(err)
			}
		}
		if s := worker.Stats().Stages; len(s) > 0 {
			full = s[len(s)-1].Notes["full"] > 0 && cons.CachedInfo().NumAckPending == len(dies)+pending
		}
	}
	net, want := &nn.CNN{Seed: 1}, &nn.CNN{Seed: 1}
	err := flow.From(jetstream.Source{Connection: c, Stream: "fields", Ordered: true, Purge: true}).Via(operators.Batch{Size: 16}).To(sinks.Train{
		Net: net, Checkpoint: sinks.Checkpoint{File: filepath.Join(t.TempDir(), "checkpoint"), Every: -1},
	}).Run(ctx)
	if err != nil {
		t.Errorf("trainer: %v", err)
	}
	if err := worker.Wait(); err != nil {
		t.Errorf("worker: %v", err)
	}
	if _, err := run(t, recipe.Onto(flow.From(src)).Via(operators.Batch{Size: 16}).To(sinks.Train{Net: want}), flow.Options{}); err != nil {
		t.Fatal(err)
	}
	if net.Hash() != want.Hash() || net.Seen() != graphs {
		t.Errorf("%s after %d graphs, want %s after %d", net.Hash(), net.Seen(), want.Hash(), graphs)
	}
}

// firstOf gives the first messages of a queue to a worker that will never be heard of.
func firstOf(ctx context.Context, t *testing.T, js nc.JetStream, s jetstream.Source, n int) (all []nc.Msg) {
	t.Helper()
	cons, err := js.CreateOrUpdateConsumer(ctx, s.Stream, nc.ConsumerConfig{
		Durable: s.Durable, FilterSubject: s.Stream + ".p.*", AckPolicy: nc.AckExplicitPolicy, AckWait: s.AckWait, MaxAckPending: 1024, MaxDeliver: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := cons.Fetch(n)
	if err != nil {
		t.Fatal(err)
	}
	for m := range got.Messages() {
		all = append(all, m)
	}
	if len(all) != n {
		t.Fatalf("%d messages, want %d: %v", len(all), n, got.Error())
	}
	return all
}
