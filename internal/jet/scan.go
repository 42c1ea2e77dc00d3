package jet

import (
	"context"
	"errors"
	"fmt"
	"time"

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
		_ = c.JS.DeleteConsumer(ctx, name, cons.CachedInfo().Name) // or the broker does, when nobody reads
	}()
	expect := uint64(1)
	for ctx.Err() == nil {
		batch, err := cons.Fetch(512, jetstream.FetchMaxWait(idleFetch))
		if err != nil {
			return false, err
		}
		got := false
		for m := range batch.Messages() {
			meta, err := m.Metadata()
			if err != nil {
				return false, err
			}
			if meta.Sequence.Consumer != expect {
				return false, nil // one was lost on the way
			}
			expect, got = expect+1, true
			n, err := Read(name, m.Subject(), m.Headers(), meta.Sequence.Stream)
			if err != nil {
				f := Foreign{meta.Sequence.Stream, m.Subject(), err}
				if stranger == nil {
					return false, f
				}
				if err := stranger(f); err != nil {
					return false, err
				}
				x.Foreign(f.Seq)
				continue
			}
			x.Add(&n)
			if n.End != nil {
				return true, nil
			}
		}
		if err := batch.Error(); err != nil && !Passing(err) {
			return false, err
		} else if err != nil {
			return false, nil
		}
		if got {
			continue
		}
		if err := c.Err(); err != nil {
			return false, err
		}
		info, err := cons.Info(ctx)
		switch {
		case err != nil:
			return false, err
		case info.NumPending > 0:
			return false, nil // it should have given some
		}
	}
	return false, nil
}

// Count reads the headers of all messages up to sequence last, and returns what
// the end of the stream has to say. It passes over those of strangers, of which readers
// are to judge.
func (c *Client) Count(ctx context.Context, stream *jetstream.StreamInfo, last uint64) (End, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	name, x, done := stream.Config.Name, NewIndex(stream.Created), make(chan struct{})
	go func() {
		defer close(done)
		c.Scan(ctx, name, x, func(Foreign) error { return nil })
	}()
	defer func() { stop(nil); <-done }()
	for {
		x.mu.Lock()
		total, err, changed, at := x.total, x.err, x.changed, x.Last
		if x.end != nil {
			total = *x.end
		}
		ended := x.end != nil
		x.mu.Unlock()
		switch {
		case err != nil:
			return total, err
		case at >= last || ended:
			return total, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return total, context.Cause(ctx)
		}
	}
}

// Get returns one message of a stream.
func (c *Client) Get(ctx context.Context, s jetstream.Stream, seq uint64) (m *jetstream.RawStreamMsg, err error) {
	missing := 0
	err = Retry(ctx, c.Patience, func() error {
		if err := c.Err(); err != nil {
			return err
		}
		ctx, stop := context.WithTimeout(ctx, apiWait)
		defer stop()
		m, err = s.GetMsg(ctx, seq)
		if closed := c.Err(); err != nil && closed != nil {
			return closed
		}
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			missing++ // by a follower that is behind
		}
		return err
	}, func(err error) bool {
		return c.Err() != nil || missing > 20 || !Passing(err) && !errors.Is(err, jetstream.ErrMsgNotFound)
	})
	if err != nil {
		return nil, fmt.Errorf("message %d: %w", seq, err)
	}
	return m, nil
}
