package jetstream

import (
	"context"
	"errors"

	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/internal/jet"
)

// A full stream of fields whose reader purges it takes only the message that the reader waits
// for. If the worker with that message has died, the consumer gives it to the next worker that
// asks. But no worker asks while all hands are full of messages behind it. So a worker whose hand
// has been full, and unchanged, for AckWait takes the first messages of the queue beyond Pending,
// one at a time, past the consumer: all messages before the one that the trainer waits for are
// acknowledged, or will be. Two workers may then have one message in hand. That does no harm,
// since a position is stored once.

// oldest takes the first message of the queue that is neither in hand nor was tried in this way.
func (q *queueReader) oldest(ctx context.Context) error {
	if q.held() > q.Pending {
		return nil
	}
	for seq := uint64(1); ; {
		m, err := q.client.Next(ctx, q.Stream, q.Stream+".p.*", seq)
		if errors.Is(err, nc.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		seq = m.Sequence + 1
		n, err := jet.Read(q.Stream, m.Subject, m.Header, m.Sequence)
		if err != nil || n.Hole || n.End != nil {
			continue // the worker that gets it from the consumer says what is wrong with it
		}
		if q.extra(&message{note: n, data: m.Data}) {
			q.fetched.Add(1)
			return nil
		}
	}
}

// extra takes a message in hand that the consumer has not given, if it is new.
func (q *queueReader) extra(m *message) bool {
	q.mu.Lock()
	_, tried := q.extras[m.note.Seq]
	if tried || q.hand[m.note.First()] != nil {
		q.mu.Unlock()
		return false
	}
	q.extras[m.note.Seq] = false
	q.hand[m.note.First()] = m
	q.mu.Unlock()
	q.in <- m // there is room for one
	return true
}

// drop gives up a message that came past the consumer and cannot be read: when that gives
// it, it goes to the dead letters.
func (q *queueReader) drop(m *message) {
	q.mu.Lock()
	delete(q.hand, m.note.First())
	msgs := m.msgs
	q.mu.Unlock()
	for _, m := range msgs {
		_ = m.Nak()
	}
}

// made reports whether a message that the consumer gives was done before it did. The caller
// holds mu.
func (q *queueReader) made(seq uint64) bool {
	done := q.extras[seq]
	delete(q.extras, seq)
	return done
}
