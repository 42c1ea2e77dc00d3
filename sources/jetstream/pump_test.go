package jetstream

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow/memory"
	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/jet"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	"github.com/sanflow/sanflow/sources"
)

// forgetful is a consumer that says that it has nothing.
type forgetful struct{ nc.Consumer }

func (forgetful) Info(context.Context) (*nc.ConsumerInfo, error) { return &nc.ConsumerInfo{}, nil }

// setBack is a consumer whose broker's clock was set back by three hours.
type setBack struct{ nc.Consumer }

func (c setBack) Info(ctx context.Context) (*nc.ConsumerInfo, error) {
	info, err := c.Consumer.Info(ctx)
	if err == nil {
		info.TimeStamp = info.TimeStamp.Add(-3 * time.Hour)
	}
	return info, err
}

// If the broker's clock is set back, messages of a dead worker, which it would keep until the
// clock has caught up, are given out by a new consumer. That is one new consumer, and with the
// clock where it was none.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	c := Connection{URL: jettest.Start(t, nil).ClientURL()}
	client := put(t, c, jet.Settings{Name: "graphs", Queue: true}, flow.From(sources.Families{Graphs: 12, Rows: 4}))
	stream, err := client.Find(t.Context(), "graphs", 0)
	if err != nil {
		t.Fatal(err)
	}
	s := Source{Connection: c, Stream: "graphs", Durable: "w", Pending: 4, AckWait: time.Minute, MaxPending: 16}
	q := &queueReader{reader: reader{Source: s, client: client, stream: stream}, hand: map[int64]*message{}}
	for _, seen := range []bool{true, false} { // by this worker, or by one before it
		cons, err := q.consumer(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := cons.Fetch(3); err != nil { // by a worker that dies
			t.Fatal(err)
		} else {
			for range got.Messages() {
			}
		}
		if seen {
			for range 3 {
				if done, err := q.ended(t.Context(), cons); done || err != nil {
					t.Fatalf("with the clock where it was: %t, %v", done, err)
				}
			}
		}
		if _, err := q.ended(t.Context(), setBack{cons}); !errors.Is(err, nc.ErrConsumerDeleted) {
			t.Errorf("with the clock set back: %v", err)
		}
		if _, err := stream.Consumer(t.Context(), "w"); !errors.Is(err, nc.ErrConsumerNotFound) {
			t.Errorf("the consumer is there still: %v", err)
		}
		q.clock = brokerClock{}
	}
}

// That the consumer has nothing to give is not the end of the queue while there is something in
// it: a server says so that came back, leads, and has not heard of it all. If it stays
// so, another consumer is made.
func TestForgetfulConsumer(t *testing.T) {
	t.Parallel()
	c := Connection{URL: jettest.Start(t, nil).ClientURL()}
	client := put(t, c, jet.Settings{Name: "graphs", Queue: true}, flow.From(sources.Families{Graphs: 12, Rows: 4}))
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
