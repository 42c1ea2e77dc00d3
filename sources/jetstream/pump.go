package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/internal/jet"
)

// consumer returns the one that the workers have in common, which is made where
// it is missing.
func (q *queueReader) consumer(ctx context.Context) (cons nc.Consumer, err error) {
	err = q.client.Ask(ctx, func(ctx context.Context) (err error) {
		s, err := q.client.JS.Stream(ctx, q.Stream)
		if err == nil && !s.CachedInfo().Created.Equal(q.stream.CachedInfo().Created) {
			err = jet.ErrRemade
		}
		if err != nil {
			return err
		}
		cons, err = q.client.JS.CreateOrUpdateConsumer(ctx, q.Stream, nc.ConsumerConfig{
			Durable: q.Durable, FilterSubject: q.Stream + ".p.*", AckPolicy: nc.AckExplicitPolicy, AckWait: q.AckWait, MaxAckPending: q.MaxPending, MaxDeliver: -1,
		})
		return err
	})
	if err != nil {
		if errors.Is(err, jet.ErrRemade) || errors.Is(err, nc.ErrStreamNotFound) {
			return nil, err
		}
		return nil, fmt.Errorf("consumer %s: %w", q.Durable, err)
	}
	return cons, nil
}

// pump fetches messages while there is room for them, to the end of the queue.
func (q *queueReader) pump(ctx context.Context, cons nc.Consumer) {
	defer close(q.in)
	for ctx.Err() == nil {
		done, err := q.fetch(ctx, cons)
		if err != nil && (jet.Passing(err) || errors.Is(err, nc.ErrConsumerDeleted)) {
			// The broker is away, or the consumer is gone: then it is made again, and
			// has what was not acknowledged.
			cons, err = q.consumer(ctx)
		}
		if closed := q.client.Err(); err != nil && closed != nil && ctx.Err() == nil {
			err = closed
		}
		if err != nil || done {
			q.mu.Lock()
			q.err = err
			q.mu.Unlock()
			return
		}
	}
}

// fetch fetches once, and reports whether that was the end.
func (q *queueReader) fetch(ctx context.Context, cons nc.Consumer) (done bool, err error) {
	free := q.Pending - q.held()
	if free < max(1, q.Pending/4) {
		select {
		case <-q.room:
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
		if free <= 0 {
			return q.stuck(ctx, cons)
		}
	}
	batch, err := cons.Fetch(free, nc.FetchMaxWait(500*time.Millisecond))
	if err != nil {
		return false, err
	}
	got := 0
	for m := range batch.Messages() {
		got++
		if err := q.take(ctx, m); err != nil {
			return false, err
		}
	}
	if err := batch.Error(); err != nil {
		return false, err
	}
	if got > 0 {
		return false, nil
	}
	return q.ended(ctx, cons)
}

// stuck handles a hand that has been full for a while: the pipeline holds its rows back until the
// end, or the trainer waits for a message that no worker takes.
func (q *queueReader) stuck(ctx context.Context, cons nc.Consumer) (done bool, err error) {
	if q.unchanged() > 2*time.Second {
		done, err = q.ended(ctx, cons)
	}
	if err == nil && !done && q.unchanged() > q.AckWait {
		err = q.oldest(ctx)
	}
	return done, err
}

// ended reports whether the end of the stream is there, and no other worker has a message in
// hand.
func (q *queueReader) ended(ctx context.Context, cons nc.Consumer) (bool, error) {
	if err := q.client.Err(); err != nil {
		return false, err
	}
	ask, stop := context.WithTimeout(ctx, 3*time.Second)
	defer stop()
	info, err := cons.Info(ask)
	if err != nil {
		return false, err
	}
	q.lag.Store(int64(info.NumPending))
	if back := q.clock.back(info); back > q.AckWait && info.NumAckPending > 0 {
		return false, q.remake(ask)
	}
	if q.end == nil {
		q.end, err = q.client.End(ask, q.Stream)
		return false, err // what came before it may have come since info was asked for
	}
	if info.NumPending > 0 {
		q.forgotten = time.Time{}
		return false, nil
	}
	// Messages in hand are done soon, unless the pipeline waits for the end.
	own := 0
	if info.NumAckPending > 0 || q.held() > 0 {
		if info.NumAckPending > q.held() || q.unchanged() <= 2*time.Second {
			q.forgotten = time.Time{}
			return false, nil
		}
		if own, err = q.unfinished(ask); err != nil || info.NumAckPending > own {
			return false, err
		}
	}
	left, err := q.left(ask)
	if err != nil || left <= own {
		return err == nil, err
	}
	// The consumer has nothing, and there is something: it has not heard yet, or it has lost that,
	// and then another one finds it.
	if q.forgotten.IsZero() {
		q.forgotten = time.Now()
	}
	if time.Since(q.forgotten) > q.AckWait {
		q.forgotten = time.Time{}
		err = q.remake(ask)
	}
	return false, err
}

// remake deletes the consumer, so that another one is made.
func (q *queueReader) remake(ctx context.Context) error {
	err := q.client.JS.DeleteConsumer(ctx, q.Stream, q.Durable)
	if err == nil || errors.Is(err, nc.ErrConsumerNotFound) {
		err = nc.ErrConsumerDeleted
	}
	return err
}

// left counts the messages of the queue that no worker has finished. It asks the leader of the
// stream: a server that came back and now leads the consumer says that nothing is pending, until
// its own copy of the stream has the messages that came while it was away.
func (q *queueReader) left(ctx context.Context) (n int, err error) {
	info, err := q.stream.Info(ctx, nc.WithSubjectFilter(q.Stream+".p.*"))
	if err != nil {
		return 0, err
	}
	for _, of := range info.State.Subjects {
		n += int(of)
	}
	return n, nil
}

// unfinished counts the messages in hand that are in the queue still. Another worker has
// finished the others while this one was silent, and the broker does not wait for them.
func (q *queueReader) unfinished(ctx context.Context) (n int, err error) {
	seqs := map[uint64]bool{}
	q.mu.Lock()
	for _, m := range q.hand {
		for _, msg := range m.msgs {
			if meta, err := msg.Metadata(); err == nil {
				seqs[meta.Sequence.Stream] = true
			}
		}
	}
	q.mu.Unlock()
	for seq := range seqs {
		_, err := q.client.At(ctx, q.Stream, seq)
		switch {
		case err == nil:
			n++
		case !errors.Is(err, nc.ErrMsgNotFound):
			return 0, err
		}
	}
	return n, nil
}
