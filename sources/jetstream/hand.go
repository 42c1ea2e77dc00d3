package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/internal/jet"
)

func (q *queueReader) held() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.hand)
}

func (q *queueReader) unchanged() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return time.Since(q.at)
}

// take takes a message in hand.
func (q *queueReader) take(ctx context.Context, m nc.Msg) error {
	meta, err := m.Metadata()
	if err != nil {
		return err
	}
	q.fetched.Add(1)
	q.lag.Store(int64(meta.NumPending))
	if meta.NumDelivered > 1 {
		q.redelivered.Add(1)
	}
	n, err := jet.Read(q.Stream, m.Subject(), m.Headers(), meta.Sequence.Stream)
	if err == nil && (n.End != nil || n.Hole) {
		err = errors.New("it is the mark of an end or of a hole, where work should be")
	}
	if after := q.Dead.After; err == nil && q.dead != nil && meta.NumDelivered > uint64(max(after, 0)) && (after > 0 || meta.NumDelivered > 32) {
		err = fmt.Errorf("it was delivered %d times, and no worker has finished it", meta.NumDelivered)
	}
	if err != nil {
		return q.bury(ctx, m, jet.Foreign{Seq: meta.Sequence.Stream, Subject: m.Subject(), Why: err})
	}
	q.mu.Lock()
	here := q.hand[n.First()]
	same := here != nil && here.note.Sum == n.Sum
	switch {
	case here == nil && q.made(n.Seq):
		defer q.release([]nc.Msg{m})
		here = &message{note: n}
	case same: // it is on its way already
		here.msgs = append(here.msgs, m)
	case here == nil:
		here = &message{n, m.Data(), m, []nc.Msg{m}}
		q.hand[n.First()] = here
		q.at = time.Now()
		defer func() { q.in <- here }() // there is room
	}
	q.mu.Unlock()
	if here.note.Sum != n.Sum {
		return q.bury(ctx, m, jet.Foreign{Seq: n.Seq, Subject: m.Subject(), Why: fmt.Errorf("message %d has its positions, and another content", here.note.Seq)})
	}
	return nil
}

// bury puts a message that cannot be worked on with the dead letters, or returns why it is the
// end.
func (q *queueReader) bury(ctx context.Context, m nc.Msg, why jet.Foreign) error {
	if q.dead == nil {
		return why
	}
	if err := q.dead.Message(ctx, q.Stream, m.Subject(), m.Headers(), m.Data(), why.Why); err != nil {
		return err
	}
	q.letters.Add(1)
	q.release([]nc.Msg{m})
	return nil
}

// release leaves messages to acknowledge.
func (q *queueReader) release(msgs []nc.Msg) {
	q.mu.Lock()
	q.acks = append(q.acks, msgs...)
	q.mu.Unlock()
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// acknowledge tells the broker, which may take a while.
func (q *queueReader) acknowledge(ctx context.Context) {
	for {
		select {
		case <-q.more:
		case <-ctx.Done():
			q.flush()
			return
		}
		q.flush()
	}
}

func (q *queueReader) flush() {
	q.mu.Lock()
	acks := q.acks
	q.acks = nil
	q.mu.Unlock()
	for _, m := range acks {
		_ = m.Ack() // one that is lost comes again, and is refused behind the pipeline
	}
}

// mark tells the broker now and then that what is in hand is worked on.
func (q *queueReader) mark(ctx context.Context) {
	for jet.Sleep(ctx, max(q.AckWait/3, 20*time.Millisecond)) {
		q.mu.Lock()
		var all []nc.Msg
		for _, m := range q.hand {
			if last := len(m.msgs) - 1; last >= 0 {
				all = append(all, m.msgs[last])
			}
		}
		q.mu.Unlock()
		for _, m := range all {
			_ = m.InProgress()
		}
	}
}
