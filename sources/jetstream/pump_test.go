package jetstream

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow/memory"
	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	sink "github.com/sanflow/sanflow/sinks/jetstream"
	"github.com/sanflow/sanflow/sources"
)

// forgetful is a consumer that says that it has nothing.
type forgetful struct{ nc.Consumer }

func (forgetful) Info(context.Context) (*nc.ConsumerInfo, error) { return &nc.ConsumerInfo{}, nil }

// That the consumer has nothing to give is not the end of the queue while there is something in
// it: a server says so that came back, leads, and has not heard of it all. Where it stays
// so, another consumer is made.
func TestForgetfulConsumer(t *testing.T) {
	t.Parallel()
	c := Connection{URL: jettest.Start(t, nil).ClientURL()}
	src := sources.Families{Graphs: 12, Rows: 4}
	if err := flow.From(src).To(sink.Sink{Connection: c, Stream: "graphs", Queue: true}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	client, err := c.Dial(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	stream, err := client.Find(t.Context(), "graphs", 0)
	if err != nil {
		t.Fatal(err)
	}
	s := Source{Connection: c, Stream: "graphs", Durable: "w", Pending: 4, AckWait: 200 * time.Millisecond, MaxPending: 16}
	q := &queueReader{reader: reader{Source: s, client: client, stream: stream}, hand: map[int64]*message{}}
	cons, err := q.consumer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		done, err := q.ended(t.Context(), forgetful{cons})
		if errors.Is(err, nc.ErrConsumerDeleted) {
			break
		}
		if done || err != nil || time.Since(begin) > time.Minute {
			t.Fatalf("with 3 messages in the queue it has ended: %t, %v", done, err)
		}
	}
	if _, err := stream.Consumer(t.Context(), "w"); !errors.Is(err, nc.ErrConsumerNotFound) {
		t.Errorf("the consumer is there still: %v", err)
	}
	s.AckWait, q.AckWait = time.Minute, time.Minute // a busy machine may be slow to acknowledge
	r, err := s.Open(t.Context(), memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := int64(0)
	for n < 12 {
		rec, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n += rec.NumRows()
		r.(flow.Settler).Settle(n - rec.NumRows())
		rec.Release()
	}
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) { // the broker deletes what was acknowledged
		if done, err := q.ended(t.Context(), forgetful{cons}); done {
			return
		} else if err != nil || time.Since(begin) > time.Minute {
			t.Fatalf("the queue is empty, and has not ended: %v", err)
		}
	}
}
