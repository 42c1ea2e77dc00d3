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
	// AckWait is the time after which the broker takes a reader for dead, at least 1 s. The default is 30 s.
	AckWait time.Duration
	// Pending bounds the messages that all readers of the consumer have and did not acknowledge.
	// A training acknowledges a message when a checkpoint has the batch after it, so the bound is
	// above the messages of a few batches. The default is 10 000.
	Pending int
}

var _ message.Topic = Topic{}

const (
	fetch    = 64               // messages that a reader asks for at once
	patience = 20 * time.Second // limit of the wait until a message is stored
)

// String names the stream.
func (t Topic) String() string { return "stream " + t.Stream }

func (t Topic) connect() (*nats.Conn, jetstream.JetStream, error) {
	if t.Stream == "" {
		return nil, nil, errors.New("nats: Stream is empty")
	}
	url := t.URL
	if url == "" {
		url = nats.DefaultURL
	}
	nc, err := nats.Connect(url, append([]nats.Option{nats.ErrorHandler(quiet)}, t.Options...)...)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", t, err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, nil, fmt.Errorf("%s: %w", t, err)
	}
	return nc, js, nil
}

// quiet replaces the default handler of asynchronous errors, which prints. Such an error also ends a
// call, or the broker delivers the message again.
func quiet(*nats.Conn, *nats.Subscription, error) {}

// Receive opens the consumer, and makes it if it does not exist.
func (t Topic) Receive(ctx context.Context) (message.Receiver, error) {
	if t.Durable == "" {
		return nil, errors.New("nats: Durable is empty, want the name of the consumer")
	}
	if t.AckWait != 0 && t.AckWait < time.Second || t.Pending < 0 {
		return nil, fmt.Errorf("nats: AckWait is %v, Pending %d, want at least 1s, or 0 for the default, and at least 0", t.AckWait, t.Pending)
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
	r := &receiver{Topic: t, nc: nc, cons: cons, hand: map[uint64]jetstream.Msg{}}
	ctx, r.stop = context.WithCancel(context.Background())
	r.marks.Go(func() { r.mark(ctx) })
	return r, nil
}

// Follow reads the messages behind a sequence by a consumer that the broker forgets an hour after the reader. An error of the broker ends the reader: the next one
// goes on where its messages end.
func (t Topic) Follow(ctx context.Context, after map[string]int64) (message.Receiver, error) {
	nc, js, err := t.connect()
	if err != nil {
		return nil, err
	}
	at := uint64(after[t.Stream])
	var cons jetstream.Consumer
	stream, err := js.Stream(ctx, t.Stream)
	if err == nil {
		switch has := stream.CachedInfo().State; {
		case has.LastSeq < at:
			err = fmt.Errorf("the last message is %d, and %d have been read: this is another stream", has.LastSeq, at)
		case at > 0 && has.FirstSeq > at+1:
			err = fmt.Errorf("messages %d to %d have not been read, and are no longer there", at+1, has.FirstSeq-1)
		default:
			cons, err = stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
				FilterSubject: t.Subject, AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, InactiveThreshold: time.Hour,
				DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: at + 1,
			})
		}
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	return &receiver{Topic: t, nc: nc, cons: cons, follows: true, stop: func() {}}, nil
}

// receiver is the message.Receiver of a JetStream consumer.
type receiver struct {
	Topic
	follows   bool
	delivered uint64 // number of messages delivered to a reader that follows
	nc        *nats.Conn
	cons      jetstream.Consumer
	stop      context.CancelFunc
	marks     sync.WaitGroup
	lag       atomic.Int64

	mu   sync.Mutex
	hand map[uint64]jetstream.Msg // by sequence: received and not acknowledged
}

// Receive returns the messages that the broker has, or waits for one.
func (r *receiver) Receive(ctx context.Context) ([]message.Message, error) {
	batch, err := r.cons.FetchNoWait(fetch)
	got, err := r.collect(ctx, batch, err)
	wait, stop := context.WithTimeout(ctx, 500*time.Millisecond)
	defer stop()
	if len(got) == 0 && !gone(err) {
		batch, err = r.cons.Fetch(1, jetstream.FetchContext(wait))
		got, err = r.collect(wait, batch, err)
	}
	switch {
	case len(got) > 0:
		return got, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case gone(err), err != nil && r.follows && wait.Err() == nil:
		return nil, fmt.Errorf("%s: %w", r.Topic, err)
	case err != nil && wait.Err() == nil: // the broker may come back
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, nil
}

// collect returns the messages of a batch. Unless r.follows, it also stores them in r.hand, which has the messages without an acknowledgement.
func (r *receiver) collect(ctx context.Context, batch jetstream.MessageBatch, err error) (got []message.Message, _ error) {
	if err != nil {
		return nil, err
	}
	for {
		select {
		case m, more := <-batch.Messages():
			if !more {
				return got, batch.Error()
			}
			meta, err := m.Metadata()
			if err != nil {
				return got, err
			}
			seq := meta.Sequence.Stream
			is := message.Message{
				Producer: r.Stream, Number: int64(seq), Body: m.Data(), Handle: seq,
				Place: fmt.Sprintf("%s, message %d", r.Topic, seq),
			}
			r.lag.Store(int64(meta.NumPending))
			if r.follows {
				if r.delivered++; meta.Sequence.Consumer != r.delivered {
					return got, fmt.Errorf("a message before message %d did not come", seq)
				}
				got = append(got, is)
				continue
			}
			is.SetHeaders(m.Headers().Get)
			got = append(got, is)
			r.mu.Lock()
			r.hand[seq] = m
			r.mu.Unlock()
		case <-ctx.Done():
			return got, ctx.Err()
		}
	}
}

// gone reports whether an error is permanent, so that another attempt would fail too.
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

// mark tells the broker, three times in AckWait, that the messages in r.hand are in progress.
func (r *receiver) mark(ctx context.Context) {
	tick := time.NewTicker(r.AckWait / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.mu.Lock()
			for _, m := range r.hand {
				_ = m.InProgress() // if the mark is lost, the broker delivers the message again
			}
			r.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// Ack acknowledges the last delivery of a message. If the acknowledgement is lost, the broker delivers
// the message again.
func (r *receiver) Ack(m message.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seq := m.Handle.(uint64)
	if msg := r.hand[seq]; msg != nil {
		_ = msg.Ack()
		delete(r.hand, seq)
	}
}

// Lag returns the number of messages that no reader has received.
func (r *receiver) Lag() int64 { return r.lag.Load() }

// Close returns the messages in r.hand to the broker, so that another reader gets them at once.
func (r *receiver) Close() error {
	r.stop()
	r.marks.Wait()
	r.mu.Lock()
	for _, m := range r.hand {
		_ = m.Nak()
	}
	r.mu.Unlock()
	if r.nc.IsConnected() {
		_ = r.nc.FlushTimeout(2 * time.Second)
	}
	r.nc.Close()
	return nil
}

// Send connects a producer. The stream must exist.
func (t Topic) Send(ctx context.Context) (message.Sender, error) {
	nc, js, err := t.connect()
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
	nc *nats.Conn
	js jetstream.JetStream
}

// Send publishes messages, and waits for the answers.
func (s *sender) Send(ctx context.Context, messages []message.Message) error {
	var answers []jetstream.PubAckFuture
	for _, m := range messages {
		msg := nats.NewMsg(s.Subject)
		msg.Data = m.Body
		for _, h := range m.Headers() {
			msg.Header.Set(h[0], h[1])
		}
		answer, err := s.js.PublishMsgAsync(msg, jetstream.WithMsgID(m.ID()), jetstream.WithExpectStream(s.Stream))
		if err != nil {
			return err
		}
		answers = append(answers, answer)
	}
	for _, a := range answers {
		select {
		case <-a.Ok():
		case err := <-a.Err():
			return err
		case <-time.After(patience):
			return nats.ErrTimeout
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Close drops the messages that the broker has not answered.
func (s *sender) Close() error {
	s.js.CleanupPublisher()
	s.nc.Close()
	return nil
}
