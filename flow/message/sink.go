package message

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
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
	// Pending is the number of messages that are under way to the broker at most. The default is 64.
	Pending int
	// Encode writes the body of a message. The default is an Arrow IPC stream of the record. A
	// program that sends rows of JSON or CSV encodes them here, as [Source.Rows] reads them.
	Encode func(w io.Writer, rec arrow.Record) error
}

var _ flow.Sink = Sink{}

// patience is how long Close waits for the broker.
const patience = 30 * time.Second

// String names the topic.
func (s Sink) String() string { return fmt.Sprint(s.Topic) }

// Open checks the settings. The first record connects.
func (s Sink) Open(in *arrow.Schema) (flow.Writer, error) {
	switch {
	case s.Topic == nil:
		return nil, errors.New("there is no Topic")
	case s.Producer == "":
		return nil, errors.New("Producer is empty, want a name of this stream of messages")
	case s.After < 0 || s.Pending < 0:
		return nil, fmt.Errorf("After is %d, Pending %d, want at least 0", s.After, s.Pending)
	}
	if s.Pending == 0 {
		s.Pending = 64
	}
	if s.Encode == nil {
		s.Encode = encode
	}
	return &writer{Sink: s, number: s.After, room: make(chan struct{}, s.Pending), failed: make(chan struct{}), stored: map[int64]bool{}}, nil
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
	to      Sender
	written int64         // records
	number  int64         // of the last message
	room    chan struct{} // an element for each message under way
	failed  chan struct{} // closed with err

	mu      sync.Mutex
	stored  map[int64]bool // records behind durable that the broker has
	durable int64
	err     error
}

var (
	_ flow.DurableWriter = (*writer)(nil)
	_ flow.TimedWriter   = (*writer)(nil)
	_ flow.Noter         = (*writer)(nil)
)

// Write sends a record, and waits while Pending messages are under way.
func (w *writer) Write(ctx context.Context, rec arrow.Record) (err error) {
	if w.to == nil {
		if w.to, err = w.Topic.Send(ctx); err != nil {
			return err
		}
	}
	n := w.written
	w.written++
	if rec.NumRows() == 0 {
		w.done(n, nil) // without a message
		return nil
	}
	var body bytes.Buffer
	if err := w.Encode(&body, rec); err != nil {
		return err
	}
	select {
	case w.room <- struct{}{}:
	case <-w.failed:
		return w.error()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	w.number++
	m := Message{Producer: w.Producer, Number: w.number, Body: body.Bytes()}
	w.to.Send(ctx, m, func(err error) {
		if err != nil {
			err = fmt.Errorf("%s: message %s: %w", w.Topic, m.ID(), err)
		}
		w.done(n, err)
		<-w.room
	})
	return w.error()
}

// done notes that the broker has record n, or why not.
func (w *writer) done(n int64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		if w.err == nil {
			w.err = err
			close(w.failed)
		}
		return
	}
	for w.stored[n] = true; w.stored[w.durable]; w.durable++ {
		delete(w.stored, w.durable)
	}
}

func (w *writer) error() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Durable returns how many records the broker has.
func (w *writer) Durable() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.durable
}

// Deadline asks for Durable soon, while messages are under way.
func (w *writer) Deadline() time.Time {
	if w.Durable() == w.written {
		return time.Time{}
	}
	return time.Now().Add(20 * time.Millisecond)
}

// Expire returns the error of a message that the broker refused.
func (w *writer) Expire(context.Context) error { return w.error() }

// Close waits until the broker has all messages, unless the run failed.
func (w *writer) Close(failed error) error {
	if w.to == nil {
		return nil
	}
	var late error
	end := time.NewTimer(patience)
	defer end.Stop()
	for n := 0; failed == nil && late == nil && n < w.Pending; n++ {
		select {
		case w.room <- struct{}{}: // the last of them when nothing is under way
		case <-w.failed:
			late = w.error()
		case <-end.C:
			late = fmt.Errorf("%s: the broker does not answer: it has %d of %d messages", w.Topic, w.Durable(), w.written)
		}
	}
	return errors.Join(late, w.to.Close())
}

// Notes count the messages that were sent and stored.
func (w *writer) Notes() map[string]int64 {
	return map[string]int64{"stored": w.Durable()}
}
