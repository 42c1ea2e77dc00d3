package jet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// idleFetch is how long a fetch waits for messages.
const idleFetch = 500 * time.Millisecond

// Scan reads the headers of all messages of a stream into x, up to its end or
// that of ctx, as they come. It begins again behind the last one when a
// connection, a server or the consumer is lost. stranger is asked about messages
// that are not of sanflow; without it, or where it returns an error, that is the end.
func (c *Client) Scan(ctx context.Context, name string, x *Index, stranger func(Foreign) error) {
	for ctx.Err() == nil {
		done, err := c.scan(ctx, name, x, stranger)
		switch {
		case ctx.Err() != nil:
			return
		case done:
			return
		case err == nil || Passing(err):
			err = c.Ask(ctx, func(ctx context.Context) error {
				s, err := c.JS.Stream(ctx, name)
				if err == nil && !s.CachedInfo().Created.Equal(x.Created) {
					err = ErrRemade
				}
				return err
			})
		}
		if closed := c.Err(); err != nil && closed != nil {
			err = closed
		}
		if err != nil && ctx.Err() == nil {
			x.Fail(err)
			return
		}
		Sleep(ctx, 50*time.Millisecond)
	}
}

// Foreign is a message that cannot be taken.
type Foreign struct {
	Seq     uint64
	Subject string
	Why     error
}

func (f Foreign) Error() string {
	return fmt.Sprintf("message %d, by %s: %v", f.Seq, f.Subject, f.Why)
}

func (f Foreign) Unwrap() error { return f.Why }

// scan reads by one consumer, which keeps nothing on disk.
func (c *Client) scan(ctx context.Context, name string, x *Index, stranger func(Foreign) error) (done bool, err error) {
	create, stop := context.WithTimeout(ctx, apiWait)
	defer stop()
	cons, err := c.JS.CreateConsumer(create, name, jetstream.ConsumerConfig{
		FilterSubjects: []string{name + ".p.*", EndSubject(name)}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: x.Last + 1,
		AckPolicy: jetstream.AckNonePolicy, HeadersOnly: true, MemoryStorage: true, Replicas: 1, InactiveThreshold: 30 * time.Second,
	})
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 200*time.Millisecond)
		defer stop()
		_ = c.JS.DeleteConsumer(ctx, name, cons.CachedInfo().Name) // or the broker does, when it is not read
	}()
	s := scanner{c, name, x, stranger, cons, 1}
	for again := true; again && ctx.Err() == nil; {
		if done, again, err = s.fetch(ctx); err != nil || done {
			return done, err
		}
	}
	return false, nil
}

// scanner reads headers by a consumer.
type scanner struct {
	*Client
	name     string
	x        *Index
	stranger func(Foreign) error
	cons     jetstream.Consumer
	expect   uint64 // its number of the next message
}

// fetch fetches once. If it can go on, more is true; else another consumer is
// needed.
func (s *scanner) fetch(ctx context.Context) (done, more bool, err error) {
	batch, err := s.cons.Fetch(512, jetstream.FetchMaxWait(idleFetch))
	if err != nil {
		return false, false, err
	}
	got := false
	for m := range batch.Messages() {
		meta, err := m.Metadata()
		if err != nil {
			return false, false, err
		}
		if meta.Sequence.Consumer != s.expect {
			return false, false, nil // one was lost on the way
		}
		s.expect++
		got = true
		if done, err := s.take(m, meta.Sequence.Stream); err != nil || done {
			return done, false, err
		}
	}
	switch err := batch.Error(); {
	case err != nil && !Passing(err):
		return false, false, err
	case err != nil:
		return false, false, nil
	case got:
		return false, true, nil
	}
	more, err = s.idle(ctx)
	return false, more, err
}

// take adds a message, and reports whether it is the end.
func (s *scanner) take(m jetstream.Msg, seq uint64) (done bool, err error) {
	n, err := Read(s.name, m.Subject(), m.Headers(), seq)
	if err != nil {
		f := Foreign{seq, m.Subject(), err}
		if s.stranger == nil {
			return false, f
		}
		if err := s.stranger(f); err != nil {
			return false, err
		}
		s.x.Foreign(seq)
		return false, nil
	}
	if n.End != nil && s.x.BeforeEnd != nil {
		if err := s.x.BeforeEnd(); err != nil {
			return false, err
		}
	}
	s.x.Add(&n)
	return n.End != nil, nil
}

// idle looks, where nothing came, whether something should have.
func (s *scanner) idle(ctx context.Context) (more bool, err error) {
	if err := s.Err(); err != nil {
		return false, err
	}
	// The client's own bound is for contexts without a deadline: if the caller has one,
	// it would wait as long for an answer that was lost.
	ctx, stop := context.WithTimeout(ctx, apiWait)
	defer stop()
	info, err := s.cons.Info(ctx)
	if err != nil {
		return false, err
	}
	// It should have given some, or has, and they were lost on the way.
	return info.NumPending == 0 && info.Delivered.Consumer < s.expect, nil
}

// Count reads the headers of all messages up to sequence last, and returns what
// the end of the stream has to say. It passes over those of strangers, of which readers
// are to judge. What its reader has purged is in the note of that.
func (c *Client) Count(ctx context.Context, of *jetstream.StreamInfo, last uint64) (End, error) {
	for {
		side, err := c.Side(ctx, of)
		var note Progress
		if err == nil && side != nil {
			note, err = side.Progress(ctx)
		}
		if err != nil {
			return End{}, err
		}
		e, err := c.count(ctx, of, last, side, note.Base)
		if !errors.Is(err, errPurged) {
			return e, err
		}
	}
}

// errPurged says that messages were purged while they were counted.
var errPurged = errors.New("messages were purged meanwhile")

// count counts behind what a note has, for as long as that is the note.
func (c *Client) count(ctx context.Context, of *jetstream.StreamInfo, last uint64, side *Side, base Base) (End, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	name, x, done := of.Config.Name, NewIndexAt(of.Created, base), make(chan struct{})
	if side != nil { // an end that another sink has marked counts these messages
		x.BeforeEnd = func() error { return side.Add(ctx, x) }
	}
	go func() {
		defer close(done)
		c.Scan(ctx, name, x, func(Foreign) error { return nil })
	}()
	defer func() { stop(nil); <-done }()
	for {
		x.mu.Lock()
		err, changed, at, ended := x.err, x.changed, x.Last, x.end != nil
		x.mu.Unlock()
		switch {
		case err != nil:
			if side != nil { // an end that counts what was purged since is none to complain of
				if moved := side.unchanged(ctx, base); moved != nil {
					return End{}, moved
				}
			}
			return End{}, err
		case at < last && !ended:
		case side == nil:
			return x.counted(), nil
		default:
			if err := side.Add(ctx, x); err != nil {
				return End{}, err
			}
			return x.counted(), side.unchanged(ctx, base)
		}
		select {
		case <-changed:
		case <-time.After(time.Second):
			if side != nil {
				if err := side.unchanged(ctx, base); err != nil {
					return End{}, err
				}
			}
		case <-ctx.Done():
			return End{}, context.Cause(ctx)
		}
	}
}

// counted is what the end of the stream says, or would.
func (x *Index) counted() End {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.end != nil {
		return *x.end
	}
	return x.total
}

// Get returns one message of a stream.
func (c *Client) Get(ctx context.Context, s jetstream.Stream, seq uint64) (m *jetstream.RawStreamMsg, err error) {
	missing, gone := 0, 0
	err = c.retry(ctx, func() error {
		if err := c.Err(); err != nil {
			return err
		}
		ctx, stop := context.WithTimeout(ctx, apiWait)
		defer stop()
		if missing == 0 {
			m, err = s.GetMsg(ctx, seq)
		} else {
			m, err = c.get(ctx, s.CachedInfo().Config.Name, getRequest{Seq: seq})
		}
		if errors.Is(err, nats.ErrNoResponders) {
			// The broker starts, or the stream is gone.
			if _, err := s.Info(ctx); errors.Is(err, jetstream.ErrStreamNotFound) {
				gone++
				return fmt.Errorf("the stream was deleted: %w", err)
			}
		}
		if closed := c.Err(); err != nil && closed != nil {
			return closed
		}
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			missing++ // perhaps of a follower that is behind
		}
		return err
	}, func(err error) bool {
		return c.Err() != nil || missing > 20 || gone > 4 || !Passing(err) && !errors.Is(err, jetstream.ErrMsgNotFound)
	})
	return m, err
}
