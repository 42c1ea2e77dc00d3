// Package nats connects streams of records with NATS JetStream: a [Topic] is what message.Source
// reads and message.Sink writes. Package message says what is promised.
//
//	topic := nats.Topic{URL: "nats://broker:4222", Stream: "graphs", Subject: "graphs", Durable: "train"}
//	err := flow.From(message.Source{Topic: topic}).Via(…).To(…).Run(ctx)
//
// The stream exists, with the subject among its subjects:
//
//	nats stream add graphs --subjects graphs --storage file --dupe-window 10m
//
// A message has the header Nats-Msg-Id: within the duplicate window of the stream the broker
// stores it once. A reader uses a durable pull consumer with explicit acknowledgement; several
// readers with the same Durable share the messages. While a message is processed, its reader marks
// it as in progress; when the reader dies the broker delivers it again after AckWait.
package nats

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/flow/message"
)

// Topic is a stream of JetStream, or one subject of it.
type Topic struct {
	// URL is that of the servers, separated by commas. The default is nats.DefaultURL.
	URL string
	// Options are those of the connection: credentials, TLS, reconnects.
	Options []nats.Option
	Stream  string
	// Subject is where Send publishes, and what Receive reads. The default is to publish to the
	// subject that is called like the stream, and to read all subjects.
	Subject string
	// Durable is the name of the consumer. Receive needs it, and makes the consumer.
	Durable string
	// AckWait is the time after which the broker takes a reader for dead. The default is 30 s.
	AckWait time.Duration
	// Pending bounds the messages that all readers of the consumer have and did not acknowledge.
	// A training acknowledges a message when a checkpoint has the batch after it, so the bound is
	// above the messages of a few batches. The default is 10 000.
	Pending int
}

var _ message.Topic = Topic{}

// fetch is how many messages a reader asks for at once.
const fetch = 64

// String names the stream.
func (t Topic) String() string { return "stream " + t.Stream }

// connect connects to JetStream.
func (t Topic) connect(o ...jetstream.JetStreamOpt) (*nats.Conn, jetstream.JetStream, error) {
	if t.Stream == "" {
		return nil, nil, errors.New("nats: Stream is empty")
	}
	url := t.URL
	if url == "" {
		url = nats.DefaultURL
	}
	nc, err := nats.Connect(url, t.Options...)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", t, err)
	}
	js, err := jetstream.New(nc, o...)
	if err != nil {
		nc.Close()
		return nil, nil, fmt.Errorf("%s: %w", t, err)
	}
	return nc, js, nil
}

// Receive opens the consumer, and makes it if it does not exist.
func (t Topic) Receive(ctx context.Context) (message.Receiver, error) {
	if t.Durable == "" {
		return nil, errors.New("nats: Durable is empty, want the name of the consumer")
	}
	if t.AckWait < 0 || t.Pending < 0 {
		return nil, fmt.Errorf("nats: AckWait is %v, Pending %d, want at least 0", t.AckWait, t.Pending)
	}
	if t.AckWait == 0 {
		t.AckWait = 30 * time.Second
	}
	if t.Pending == 0 {
		t.Pending = 10_000
	}
	nc, js, err := t.connect()
	if err != nil {
		return nil, err
	}
	cons, err := js.CreateOrUpdateConsumer(ctx, t.Stream, jetstream.ConsumerConfig{
		Durable: t.Durable, FilterSubject: t.Subject, AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: t.AckWait, MaxAckPending: t.Pending,
	})
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("%s, consumer %s: %w", t, t.Durable, err)
	}
	r := &receiver{
		Topic: t, nc: nc, cons: cons, in: make(chan jetstream.Msg, fetch), ask: make(chan struct{}, 1),
		failed: make(chan error, 1), hand: map[uint64]jetstream.Msg{},
	}
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx)) // acknowledgements outlast the run
	r.tasks.Go(func() { r.pump(ctx) })
	r.tasks.Go(func() { r.mark(ctx) })
	return r, nil
}

// receiver reads a consumer.
//
//	Receive ─ ask ─▶ pump ─ in ─▶ Receive … Ack
//	                  └── hand, marked as in progress ──┘
type receiver struct {
	Topic
	nc     *nats.Conn
	cons   jetstream.Consumer
	in     chan jetstream.Msg // empty when pump fetches
	ask    chan struct{}
	failed chan error
	stop   context.CancelFunc
	tasks  sync.WaitGroup
	lag    atomic.Int64

	mu   sync.Mutex
	hand map[uint64]jetstream.Msg // by sequence, in the last delivery
}

// Receive returns the next message.
func (r *receiver) Receive(ctx context.Context) (message.Message, error) {
	for {
		select {
		case m := <-r.in:
			return r.message(m)
		default:
		}
		select {
		case r.ask <- struct{}{}:
		default:
		}
		select {
		case m := <-r.in:
			return r.message(m)
		case err := <-r.failed:
			return message.Message{}, err
		case <-ctx.Done():
			return message.Message{}, ctx.Err()
		}
	}
}

func (r *receiver) message(m jetstream.Msg) (message.Message, error) {
	meta, err := m.Metadata()
	if err != nil {
		return message.Message{}, err
	}
	r.lag.Store(int64(meta.NumPending) + int64(len(r.in)))
	seq := meta.Sequence.Stream
	is := message.Message{
		Producer: r.Stream, Number: int64(seq), Body: m.Data(), Handle: m,
		Place: fmt.Sprintf("%s, message %d", r.Topic, seq),
	}
	is.SetHeaders(m.Headers().Get)
	return is, nil
}

// pump fetches messages when Receive has none, and takes them in hand.
func (r *receiver) pump(ctx context.Context) {
	for {
		select {
		case <-r.ask:
		case <-ctx.Done():
			return
		}
		room := fetch - len(r.in)
		if room == 0 { // Receive asked before the last messages came
			continue
		}
		batch, err := r.cons.Fetch(room, jetstream.FetchMaxWait(500*time.Millisecond))
		if err == nil {
			for m := range batch.Messages() {
				if meta, err := m.Metadata(); err == nil {
					r.mu.Lock()
					r.hand[meta.Sequence.Stream] = m
					r.mu.Unlock()
				}
				r.in <- m
			}
			err = batch.Error()
		}
		if gone(err) {
			r.failed <- err
			return
		}
		if len(r.in) == 0 { // Receive may be waiting
			select {
			case r.ask <- struct{}{}:
			default:
			}
		}
		if err != nil && !errors.Is(err, nats.ErrTimeout) { // the broker may come back
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
}

// gone reports whether an error stays.
func gone(err error) bool {
	for _, e := range []error{
		nats.ErrConnectionClosed, jetstream.ErrConsumerDeleted, jetstream.ErrConsumerNotFound, jetstream.ErrConsumerDoesNotExist,
		jetstream.ErrStreamNotFound, jetstream.ErrBadRequest,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// mark tells the broker that what is in hand is in progress.
func (r *receiver) mark(ctx context.Context) {
	tick := time.NewTicker(r.AckWait / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for _, m := range r.all() {
			_ = m.InProgress() // if the broker does not learn of it, it delivers again
		}
	}
}

// all returns what is in hand.
func (r *receiver) all() []jetstream.Msg {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]jetstream.Msg, 0, len(r.hand))
	for _, m := range r.hand {
		all = append(all, m)
	}
	return all
}

// Ack acknowledges a message. If the broker does not learn of it, it delivers again.
func (r *receiver) Ack(m message.Message) {
	msg := m.Handle.(jetstream.Msg)
	if meta, err := msg.Metadata(); err == nil {
		r.mu.Lock()
		delete(r.hand, meta.Sequence.Stream)
		r.mu.Unlock()
	}
	_ = msg.Ack()
}

// Lag returns how many messages no reader has.
func (r *receiver) Lag() int64 { return r.lag.Load() }

// Close gives back what is in hand, so that another reader gets it at once.
func (r *receiver) Close() error {
	r.stop()
	r.tasks.Wait()
	for _, m := range r.all() {
		_ = m.Nak()
	}
	if r.nc.IsConnected() {
		_ = r.nc.FlushTimeout(2 * time.Second)
	}
	r.nc.Close()
	return nil
}

// Send connects a producer. The stream must exist.
func (t Topic) Send(ctx context.Context) (message.Sender, error) {
	nc, js, err := t.connect(jetstream.WithPublishAsyncTimeout(20 * time.Second))
	if err != nil {
		return nil, err
	}
	if _, err := js.Stream(ctx, t.Stream); err != nil {
		nc.Close()
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	if t.Subject == "" {
		t.Subject = t.Stream
	}
	return &sender{Topic: t, nc: nc, js: js}, nil
}

type sender struct {
	Topic
	nc    *nats.Conn
	js    jetstream.JetStream
	tasks sync.WaitGroup
}

// Send publishes a message.
func (s *sender) Send(_ context.Context, m message.Message, done func(error)) {
	msg := nats.NewMsg(s.Subject)
	msg.Data = m.Body
	for _, h := range m.Headers() {
		msg.Header.Set(h[0], h[1])
	}
	future, err := s.js.PublishMsgAsync(msg, jetstream.WithMsgID(m.ID()), jetstream.WithExpectStream(s.Stream))
	if err != nil {
		done(err)
		return
	}
	s.tasks.Go(func() {
		select {
		case <-future.Ok():
			done(nil)
		case err := <-future.Err():
			done(err)
		}
	})
}

// Close ends what is under way, with an error.
func (s *sender) Close() error {
	s.js.CleanupPublisher()
	s.tasks.Wait()
	s.nc.Close()
	return nil
}
