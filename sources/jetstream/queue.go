package jetstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/jet"
)

// reader is what both readers have.
type reader struct {
	Source
	client  *jet.Client
	stream  nc.Stream
	decoder *decoder
	dead    *jet.Letters // or nil
	closed  bool
}

var errClosed = errors.New("the reader is closed")

// Schema returns the schema that stands in the metadata of the stream.
func (r *reader) Schema() *arrow.Schema { return r.decoder.plan.Schema }

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

	fetched, redelivered, letters, lag atomic.Int64
}

// message is a message in hand, which may have come several times.
type message struct {
	note  jet.Note
	first nc.Msg   // of msgs; it stays, so that it is read without mu
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
	q := &queueReader{reader: r, in: make(chan *message, r.Pending), room: make(chan struct{}, 1), more: make(chan struct{}, 1), hand: map[int64]*message{}, at: time.Now()}
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

// stuck looks, when the hand has been full for a while, whether that is since the
// pipeline holds it back until the end.
func (q *queueReader) stuck(ctx context.Context, cons nc.Consumer) (bool, error) {
	if q.unchanged() < 2*time.Second {
		return false, nil
	}
	return q.ended(ctx, cons)
}

// ended reports whether the end of the stream is there, and nobody else has
// anything in hand.
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
	if q.end == nil {
		m, err := q.stream.GetLastMsgForSubject(ask, jet.EndSubject(q.Stream))
		if errors.Is(err, nc.ErrMsgNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		n, err := jet.Read(q.Stream, m.Subject, m.Header, m.Sequence)
		if err != nil {
			return false, err
		}
		q.end = n.End
		return false, nil // what came before it may have come since info was asked for
	}
	if info.NumPending > 0 {
		return false, nil
	}
	// Messages in hand are done soon, unless the pipeline waits for the end.
	if info.NumAckPending == 0 && q.held() == 0 {
		return true, nil
	}
	if info.NumAckPending > q.held() || q.unchanged() <= 2*time.Second {
		return false, nil
	}
	own, err := q.unfinished(ask)
	return err == nil && info.NumAckPending <= own, err
}

// unfinished counts the messages in hand that are in the queue still. Others have
// been finished by somebody else while this worker was silent, and what the broker
// waits for is not them.
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
		_, err := q.stream.GetMsg(ctx, seq)
		switch {
		case err == nil:
			n++
		case !errors.Is(err, nc.ErrMsgNotFound):
			return 0, err
		}
	}
	return n, nil
}

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
		err = fmt.Errorf("it was delivered %d times, and nobody has finished it", meta.NumDelivered)
	}
	if err != nil {
		return q.bury(ctx, m, jet.Foreign{Seq: meta.Sequence.Stream, Subject: m.Subject(), Why: err})
	}
	q.mu.Lock()
	here := q.hand[n.First()]
	same := here != nil && here.note.Sum == n.Sum
	switch {
	case same: // it is on its way already
		here.msgs = append(here.msgs, m)
	case here == nil:
		here = &message{n, m, []nc.Msg{m}}
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
	body := m.first.Data()
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
	err = q.bury(ctx, m.first, jet.Foreign{Seq: m.note.Seq, Subject: m.first.Subject(), Why: err})
	if err == nil {
		q.Settle(m.note.First())
	}
	return nil, err
}

// object fetches the body of a message that is too large for one.
func (r *reader) object(ctx context.Context, name string) ([]byte, error) {
	store, err := r.client.Objects(ctx, jet.Bucket(r.Stream), false)
	if err != nil {
		return nil, err
	}
	return r.client.Object(ctx, store, name, r.MaxBytes)
}

// Settle acknowledges the message that begins with a position.
func (q *queueReader) Settle(pos int64) {
	q.mu.Lock()
	m := q.hand[pos]
	delete(q.hand, pos)
	q.at = time.Now()
	q.mu.Unlock()
	select {
	case q.room <- struct{}{}:
	default:
	}
	if m != nil {
		q.release(m.msgs)
	}
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
			all = append(all, m.msgs[len(m.msgs)-1])
		}
		q.mu.Unlock()
		for _, m := range all {
			_ = m.InProgress()
		}
	}
}

// Close gives back what is in hand, so that another worker gets it at once.
func (q *queueReader) Close() error {
	if q.closed {
		return nil
	}
	q.closed = true
	q.stop()
	q.tasks.Wait()
	for _, m := range q.hand {
		_ = m.msgs[len(m.msgs)-1].Nak()
	}
	if q.client.NC.IsConnected() {
		_ = q.client.NC.FlushTimeout(2 * time.Second)
	}
	q.client.Close()
	return nil
}

// Notes are messages that were fetched, those of them that had been delivered
// before, dead letters, and reconnects.
func (q *queueReader) Notes() map[string]int64 {
	return map[string]int64{
		"fetched": q.fetched.Load(), "redelivered": q.redelivered.Load(), "dead letters": q.letters.Load(), "reconnects": q.client.Reconnects(),
	}
}

// Lag returns how many messages of the queue nobody has.
func (q *queueReader) Lag() int64 { return q.lag.Load() }
