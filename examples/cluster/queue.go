package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/flow/part"
)

// queue is a JetStream work queue of part numbers. A number may be delivered several times: a part that is
// made twice has the same bytes.
type queue struct {
	*config
	conn     *nats.Conn
	js       jetstream.JetStream
	consumer jetstream.Consumer
}

// connect waits for the broker, and creates the streams if they do not exist.
func (c *config) connect(ctx context.Context) (*queue, error) {
	conn, err := nats.Connect(c.nats, nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		return nil, fmt.Errorf("the broker: %w", err)
	}
	q := &queue{config: c, conn: conn}
	if q.js, err = jetstream.New(conn); err == nil {
		err = again(ctx, func() error { return q.open(ctx) })
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("the broker: %w", err)
	}
	return q, nil
}

func (q *queue) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	stream, err := q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: q.name, Subjects: []string{q.name + ".parts"}, Retention: jetstream.WorkQueuePolicy,
	})
	if err != nil {
		return err
	}
	if _, err := q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: q.name + "-dead", Subjects: []string{q.name + ".dead"}}); err != nil {
		return err
	}
	q.consumer, err = stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: "work", AckPolicy: jetstream.AckExplicitPolicy, AckWait: q.ackWait, MaxAckPending: 10_000,
	})
	return err
}

func (q *queue) Close() { q.conn.Close() }

// offer adds the number of a part to the queue. For two minutes the broker drops messages with the same
// id.
func (q *queue) offer(ctx context.Context, i int, id string) error {
	return again(ctx, func() error {
		_, err := q.js.Publish(ctx, q.name+".parts", []byte(strconv.Itoa(i)), jetstream.WithMsgID(id))
		return err
	})
}

// dead returns the error of the first dead letter, or nil.
func (q *queue) dead(ctx context.Context) error {
	s, err := q.js.Stream(ctx, q.name+"-dead")
	if err != nil {
		return nil // the broker cannot be reached: the next call finds the letter
	}
	m, err := s.GetLastMsgForSubject(ctx, q.name+".dead")
	if err != nil {
		return nil
	}
	return fmt.Errorf("dead letter: %s", m.Data)
}

// serve makes parts until all parts of the plan exist.
func (q *queue) serve(ctx context.Context, job *part.Job) error {
	for ctx.Err() == nil {
		batch, err := q.consumer.Fetch(1, jetstream.FetchMaxWait(time.Second))
		if err != nil {
			if err := wait(ctx); err != nil {
				return err
			}
			continue
		}
		idle := true
		for m := range batch.Messages() {
			idle = false
			if err := q.do(ctx, job, m); err != nil {
				return err
			}
		}
		if !idle {
			continue
		}
		if _, err := job.Finish(ctx); err == nil {
			return nil
		} else if !errors.Is(err, part.ErrAbsent) && !errors.Is(err, part.ErrDamaged) {
			return err
		}
	}
	return context.Cause(ctx)
}

// do makes the part of a message, and acknowledges the message after the part is published. The message of
// a failed part is delivered again, until it becomes a dead letter.
func (q *queue) do(ctx context.Context, job *part.Job, m jetstream.Msg) error {
	i, err := strconv.Atoi(string(m.Data()))
	if err != nil || i < 0 || i >= len(job.Plan.Parts) {
		return m.Term() // not a part of this plan
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		tick := time.NewTicker(q.ackWait / 3)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				_ = m.InProgress() // if it fails, the message is delivered again and the part is made twice
			}
		}
	}()
	if _, err = job.Check(ctx, i); errors.Is(err, part.ErrAbsent) || errors.Is(err, part.ErrDamaged) {
		_, err = job.Do(ctx, i)
	}
	if err == nil || ctx.Err() != nil {
		if err == nil {
			_ = m.Ack() // if it fails, the message is delivered again and the part is found
		}
		return context.Cause(ctx)
	}
	if is, e := m.Metadata(); e == nil && is.NumDelivered >= uint64(q.tries) {
		text := fmt.Sprintf("part %d failed %d times: %v", i, q.tries, err)
		if _, err := q.js.Publish(ctx, q.name+".dead", []byte(text)); err == nil {
			return m.Term()
		}
	}
	return m.NakWithDelay(200 * time.Millisecond)
}

// again calls f until it succeeds or the context ends.
func again(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		if wait(ctx) != nil {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// wait waits for 100 ms.
func wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(100 * time.Millisecond):
		return nil
	}
}
