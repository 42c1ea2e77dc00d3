package jetstream

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/jet"
)

// queueReader is a worker of a queue.
//
//	pump ─▶ in ─▶ Next ─▶ pipeline ─▶ Settle ─▶ acks ─▶ acknowledge
//	                └──────── hand ───────┘
//	                   mark, every AckWait/3
type queueReader struct {
	reader
	in    chan *message
	room  chan struct{} // there is room in the hand
	stop  context.CancelFunc
	tasks sync.WaitGroup

	mu   sync.Mutex
	hand map[int64]*message // by first position; what was fetched and is not settled
	acks []nc.Msg
	more chan struct{} // there are acks
	err  error         // why pump has ended
	end  *jet.End
	at   time.Time // when the hand changed

	clock     brokerClock     // of pump
	forgotten time.Time       // since when there are messages of which the consumer does not know; of pump
	extras    map[uint64]bool // sequences that were taken past the consumer, and whether they are done; under mu

	fetched, redelivered, letters, lag atomic.Int64
}

// message is a message in hand, which may have come several times.
type message struct {
	note  jet.Note
	data  []byte
	first nc.Msg   // of msgs, when it was taken in hand; nil where it came past the consumer
	msgs  []nc.Msg // as it came, and came again; under mu
}

var (
	_ flow.Settler = (*queueReader)(nil)
	_ flow.Noter   = (*queueReader)(nil)
	_ flow.Lagger  = (*queueReader)(nil)
)

func newQueue(ctx context.Context, r reader) (flow.Reader, error) {
	if r.stream.CachedInfo().Config.Retention != nc.WorkQueuePolicy {
		return nil, errors.New("it is no queue, and is read by Ordered; sinks/jetstream makes one with Queue")
	}
	q := &queueReader{reader: r, in: make(chan *message, r.Pending+1), room: make(chan struct{}, 1), more: make(chan struct{}, 1), hand: map[int64]*message{}, extras: map[uint64]bool{}, at: time.Now()}
	cons, err := q.consumer(ctx)
	if err != nil {
		return nil, err
	}
	ctx, q.stop = context.WithCancel(context.WithoutCancel(ctx)) // acknowledgements outlast the run
	q.tasks.Go(func() { q.pump(ctx, cons) })
	q.tasks.Go(func() { q.acknowledge(ctx) })
	q.tasks.Go(func() { q.mark(ctx) })
	return q, nil
}

// Next returns the next record.
func (q *queueReader) Next(ctx context.Context) (arrow.Record, error) {
	for {
		if q.closed {
			return nil, errClosed
		}
		select {
		case m, ok := <-q.in:
			if !ok {
				q.mu.Lock()
				defer q.mu.Unlock()
				if q.err != nil {
					return nil, jet.Of(q.Stream, q.err)
				}
				return nil, io.EOF
			}
			rec, err := q.record(ctx, m)
			if err != nil || rec != nil {
				return rec, jet.Of(q.Stream, err)
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// record decodes a message; nil where it went to the dead letters.
func (q *queueReader) record(ctx context.Context, m *message) (arrow.Record, error) {
	body := m.data
	var err error
	if m.note.Object != "" {
		body, err = q.object(ctx, m.note.Object)
	}
	var rec arrow.Record
	if err == nil {
		rec, err = q.decoder.decode(ctx, &m.note, body)
	}
	if err == nil || ctx.Err() != nil {
		return rec, err
	}
	if m.first == nil {
		q.drop(m)
		return nil, nil
	}
	err = q.bury(ctx, m.first, jet.Foreign{Seq: m.note.Seq, Subject: m.first.Subject(), Why: err})
	if err == nil {
		q.Settle(m.note.First())
	}
	return nil, err
}

// Settle acknowledges the message that begins with a position.
func (q *queueReader) Settle(pos int64) {
	q.mu.Lock()
	m := q.hand[pos]
	delete(q.hand, pos)
	switch {
	case m == nil || m.first != nil:
		q.at = time.Now()
	case len(m.msgs) == 0:
		q.extras[m.note.Seq] = true
	default:
		delete(q.extras, m.note.Seq)
	}
	q.mu.Unlock()
	select {
	case q.room <- struct{}{}:
	default:
	}
	if m != nil {
		q.release(m.msgs)
	}
}

// Close returns unfinished messages to the broker, so that another worker gets them at once.
func (q *queueReader) Close() error {
	if q.closed {
		return nil
	}
	q.closed = true
	q.stop()
	q.tasks.Wait()
	for _, m := range q.hand {
		if last := len(m.msgs) - 1; last >= 0 {
			_ = m.msgs[last].Nak()
		}
	}
	if q.client.NC.IsConnected() {
		_ = q.client.NC.FlushTimeout(2 * time.Second)
	}
	q.client.Close()
	return nil
}

// Notes count fetched messages, redelivered ones among them, dead letters, and reconnects.
func (q *queueReader) Notes() map[string]int64 {
	return map[string]int64{
		"fetched": q.fetched.Load(), "redelivered": q.redelivered.Load(), "dead letters": q.letters.Load(), "reconnects": q.client.Reconnects(),
	}
}

// Lag returns how many messages of the queue no worker has.
func (q *queueReader) Lag() int64 { return q.lag.Load() }
