package message

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"

	"github.com/sanflow/sanflow/flow"
)

// Sink publishes each record as one message. Rows are durable when the broker has stored it.
//
// A producer that begins anew with the same stream, cut into the same records, sends the same
// messages under the same ids: the broker or the reader leaves them out. Messages under ids that
// others have are left out just so, so no two streams have one Producer.
type Sink struct {
	Topic Topic
	// Producer identifies the stream of messages, and must be set.
	Producer string
	// After is the number of the last message of Producer before this run.
	After int64
	// Encode writes the body of a message. The default is an Arrow IPC stream of the record.
	Encode func(w io.Writer, rec arrow.Record) error
}

var _ flow.Sink = Sink{}

const (
	patience = 30 * time.Second      // maximum time of Close
	linger   = 20 * time.Millisecond // longest time that a message waits for others
	pending  = 64                    // most messages in one call of Sender.Send
)

// String names the topic.
func (s Sink) String() string { return fmt.Sprint(s.Topic) }

// Open checks the settings. The first record connects.
func (s Sink) Open(in *arrow.Schema) (flow.Writer, error) {
	switch {
	case s.Topic == nil:
		return nil, errors.New("there is no Topic")
	case s.Producer == "":
		return nil, errors.New("Producer is empty, want a name of this stream of messages")
	case s.After < 0:
		return nil, fmt.Errorf("After is %d, want at least 0", s.After)
	}
	if s.Encode == nil {
		s.Encode = encode
	}
	return &writer{Sink: s, number: s.After}, nil
}

// encode writes an Arrow IPC stream.
func encode(w io.Writer, rec arrow.Record) error {
	to := ipc.NewWriter(w, ipc.WithSchema(rec.Schema()))
	if err := to.Write(rec); err != nil {
		return errors.Join(err, to.Close())
	}
	return to.Close()
}

type writer struct {
	Sink
	to       Sender
	messages []Message // not yet sent
	since    time.Time // time at which the first of messages was added
	number   int64     // number of the last message
	written  int64     // number of records that Write received
	durable  atomic.Int64
}

var (
	_ flow.DurableWriter = (*writer)(nil)
	_ flow.TimedWriter   = (*writer)(nil)
	_ flow.Noter         = (*writer)(nil)
)

// Write adds a message for a record, and sends the messages when their number is pending.
func (w *writer) Write(ctx context.Context, rec arrow.Record) error {
	w.written++
	if rec.NumRows() > 0 {
		var body bytes.Buffer
		if err := w.Encode(&body, rec); err != nil {
			return err
		}
		if len(w.messages) == 0 {
			w.since = time.Now()
		}
		w.number++
		w.messages = append(w.messages, Message{Producer: w.Producer, Number: w.number, Body: body.Bytes()})
	}
	if n := len(w.messages); n > 0 && n < pending {
		return nil
	}
	return w.Expire(ctx)
}

// Deadline returns the time at which waiting messages are sent.
func (w *writer) Deadline() time.Time {
	if len(w.messages) == 0 {
		return time.Time{}
	}
	return w.since.Add(linger)
}

// Expire sends the messages.
func (w *writer) Expire(ctx context.Context) (err error) {
	if len(w.messages) > 0 && w.to == nil {
		if w.to, err = w.Topic.Send(ctx); err != nil {
			return err
		}
	}
	if len(w.messages) > 0 {
		if err := w.to.Send(ctx, w.messages); err != nil {
			return fmt.Errorf("%s: messages from %s on: %w", w.Topic, w.messages[0].ID(), err)
		}
	}
	w.messages = nil
	w.durable.Store(w.written)
	return nil
}

// Durable returns the number of stored records.
func (w *writer) Durable() int64 { return w.durable.Load() }

// Close sends the waiting messages, unless the run failed.
func (w *writer) Close(failed error) (err error) {
	if failed == nil {
		ctx, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		err = w.Expire(ctx)
	}
	if w.to != nil {
		err = errors.Join(err, w.to.Close())
	}
	return err
}

// Notes counts the stored records.
func (w *writer) Notes() map[string]int64 { return map[string]int64{"stored": w.Durable()} }
