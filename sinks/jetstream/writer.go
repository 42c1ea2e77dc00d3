package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/nats-io/nats.go"
	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/jet"
)

// writer is an open Sink.
type writer struct {
	Sink
	schema  *arrow.Schema
	encoder *jet.Encoder
	client  *jet.Client // nil while there was no broker
	stream  nc.Stream
	most    int
	last    context.Context // of the last call, for Close

	pending  []*outgoing // in the order in which they were sent
	written  int64       // records
	end      jet.End     // of a queue: what was sent
	counted  counted     // there
	position int64       // of the last row
	sum      string      // of the last message
	twice    bool        // the record in hand begins where the last one has ended

	side  *jet.Side // of a stream that its reader purges
	asked time.Time // when it was asked last how far that is

	messages, bytes, again, refused, objects, full, late atomic.Int64
	reconnects                                           atomic.Pointer[jet.Client]
}

var (
	_ flow.DurableWriter = (*writer)(nil)
	_ flow.TimedWriter   = (*writer)(nil)
	_ flow.Noter         = (*writer)(nil)
)

// outgoing is a message that the broker has not acknowledged.
type outgoing struct {
	msg    *nats.Msg
	future nc.PubAckFuture // nil: it has to be sent again
	record int64           // number of its record
	since  time.Time       // when it was sent first, or the stream was found to be full
	full   bool
	done   bool // it is in the side stream
	tries  int
}

// connect makes the stream, if that was not done.
func (w *writer) connect(ctx context.Context) error {
	if w.client != nil {
		return nil
	}
	client, err := w.Dial(ctx, "to "+w.Stream)
	if err != nil {
		return err
	}
	w.stream, err = client.Make(ctx, jet.Settings{Name: w.Stream, Queue: w.Queue, MaxBytes: w.MaxBytes, MaxMessages: w.MaxMessages, Recipe: w.Recipe}, w.schema)
	if err != nil {
		client.Close()
		return err
	}
	if w.Graph != "" {
		if _, err := client.PutFile(ctx, cmp.Or(w.Bucket, jet.GraphBucket), w.Graph); err != nil {
			client.Close()
			return fmt.Errorf("Graph: %w", err)
		}
	}
	w.client = client
	w.reconnects.Store(client)
	w.most = int(client.NC.MaxPayload()) - jet.HeaderRoom
	if size := w.stream.CachedInfo().Config.MaxMsgSize; size > 0 {
		w.most = min(w.most, int(size)-jet.HeaderRoom)
	}
	if w.Most > 0 {
		w.most = min(w.most, w.Most)
	}
	return nil
}

// Write sends a record, when less than Pending messages wait.
func (w *writer) Write(ctx context.Context, rec arrow.Record) error {
	return jet.Of(w.Stream, w.write(ctx, rec))
}

func (w *writer) write(ctx context.Context, rec arrow.Record) error {
	w.last = ctx
	if err := w.connect(ctx); err != nil {
		return err
	}
	w.written++
	if rec.NumRows() == 0 {
		return w.collect(ctx, false, w.Pending)
	}
	pos, err := record.Values[int64](rec, record.Pos)
	if err != nil {
		return err
	}
	w.twice = w.sum != "" && pos[0] == w.position
	w.position = pos[len(pos)-1]
	if w.Graph != "" {
		if rec, err = record.Project(w.schema, rec, nil); err != nil {
			return err
		}
		defer rec.Release()
	}
	return w.send(ctx, rec, pos)
}

// send sends a record, in parts where it is too large.
func (w *writer) send(ctx context.Context, rec arrow.Record, pos []int64) error {
	spans, err := jet.SpansOf(pos)
	if err != nil {
		return err
	}
	body, err := w.encoder.Encode(rec)
	if err != nil {
		return err
	}
	if len(body) > w.most {
		if cut := half(pos); cut > 0 {
			for _, part := range [][2]int{{0, cut}, {cut, len(pos)}} {
				some := rec.NewSlice(int64(part[0]), int64(part[1]))
				err := w.send(ctx, some, pos[part[0]:part[1]])
				some.Release()
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
	if err := w.collect(ctx, false, w.Pending-1); err != nil {
		return err
	}
	m := jet.Record(w.Stream, spans, len(pos), body)
	if w.twice {
		if jet.SumOf(m.Header) == w.sum { // the broker has given it again, and it is on its way
			return nil
		}
		return fmt.Errorf("position %d has rows in two records, but a message is known by its positions: give each row one of its own (sources.Chunks does)", pos[0])
	}
	w.sum = jet.SumOf(m.Header)
	if w.Queue && w.counted.add(spans) {
		n, err := jet.Read(w.Stream, m.Subject, m.Header, 0)
		if err != nil {
			return err
		}
		w.end.Count(&n)
	}
	if len(body) > w.most {
		if err := w.client.PutBody(ctx, w.Stream, m); err != nil {
			return err
		}
		w.objects.Add(1)
	}
	o := &outgoing{msg: m, record: w.written, since: time.Now()}
	w.pending = append(w.pending, o)
	w.messages.Add(1)
	w.bytes.Add(int64(len(body)))
	return w.publish(ctx, o)
}

// half returns a row near the middle that has another position than the one
// before it, or 0.
func half(pos []int64) int {
	for far := 0; far < len(pos); far++ {
		for _, i := range []int{len(pos)/2 - far, len(pos)/2 + far} {
			if i > 0 && i < len(pos) && pos[i] != pos[i-1] {
				return i
			}
		}
	}
	return 0
}

// publish sends a message. That it cannot be sent now is found out later.
func (w *writer) publish(ctx context.Context, o *outgoing) error {
	if err := errors.Join(context.Cause(ctx), w.client.Err()); err != nil {
		return err
	}
	if o.tries++; o.tries > 1 {
		w.again.Add(1)
	}
	f, err := w.client.JS.PublishMsgAsync(o.msg, nc.WithRetryAttempts(0))
	switch closed := w.client.Err(); {
	case err != nil && closed != nil:
		return closed
	case err == nil:
		o.future = f
		return nil
	case jet.Passing(err):
		return nil
	}
	return err
}

// collect takes what was acknowledged off the list, and waits until at most so
// many messages are on it. Without that, it does not wait.
func (w *writer) collect(ctx context.Context, now bool, most int) error {
	for len(w.pending) > 0 {
		o := w.pending[0]
		wait := !now && len(w.pending) > most
		done, err := w.acknowledged(ctx, o, wait)
		if err != nil {
			return err
		}
		if done {
			w.pending[0] = nil
			w.pending = w.pending[1:]
		} else if !wait {
			return nil
		}
	}
	return nil
}

// acknowledged reports whether the broker has a message, for which it waits where
// that is wished for, and sends it again where it has not.
func (w *writer) acknowledged(ctx context.Context, o *outgoing, wait bool) (bool, error) {
	if o.full {
		if err := w.aside(ctx); err != nil {
			return false, err
		}
	}
	if o.done {
		return true, nil
	}
	if o.future == nil {
		if !jet.Sleep(ctx, min(time.Duration(o.tries)*10*time.Millisecond, 100*time.Millisecond)) {
			return false, context.Cause(ctx)
		}
		return false, w.publish(ctx, o)
	}
	var err error
	if wait {
		select {
		case <-o.future.Ok():
			return true, nil
		case err = <-o.future.Err():
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	} else {
		select {
		case <-o.future.Ok():
			return true, nil
		case err = <-o.future.Err():
		default:
			return false, nil
		}
	}
	o.future = nil
	return w.failed(ctx, o, err)
}

// failed says whether a message is there all the same, is to be sent again, or
// never will be.
func (w *writer) failed(ctx context.Context, o *outgoing, err error) (bool, error) {
	taken := jet.Taken(err)
	switch {
	case taken:
		if done, err := w.there(ctx, o); done || err != nil {
			return done, err
		}
	case jet.Full(err):
		if !o.full {
			o.full, o.since = true, time.Now()
			w.full.Add(1)
		}
		if time.Since(o.since) > w.FullWait {
			return false, fmt.Errorf("it has been full for %v: %w", w.FullWait, err)
		}
		return false, nil
	}
	switch {
	case w.client.Err() != nil:
		return false, w.client.Err()
	case !taken && !jet.Passing(err):
		return false, err
	case o.full: // it was, and now the broker is away
		o.full, o.since = false, time.Now()
	case time.Since(o.since) > w.Connection.Patience && w.Connection.Patience > 0 || time.Since(o.since) > 2*time.Minute && w.Connection.Patience == 0:
		return false, fmt.Errorf("%s was not acknowledged for %v: %w", o.msg.Subject, time.Since(o.since).Round(time.Second), err)
	}
	if errors.Is(err, nc.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders) {
		// Nobody has that subject: the broker starts, or the stream is gone.
		if _, err := w.client.Find(ctx, w.Stream, 0); err != nil {
			return false, err
		}
	}
	return false, nil
}

// there compares a message with the one that has its position already. Where there is none, one
// was on its way and did not arrive, or somebody has worked on it since: it is sent again, which the
// broker's window of de-duplication, and what is behind the queue, let pass without harm.
func (w *writer) there(ctx context.Context, o *outgoing) (bool, error) {
	m, err := w.client.Last(ctx, w.Stream, o.msg.Subject)
	switch {
	case errors.Is(err, nc.ErrMsgNotFound):
		return false, nil
	case err != nil:
		return false, err
	case jet.SumOf(m.Header) != jet.SumOf(o.msg.Header) && o.msg.Subject == jet.EndSubject(w.Stream):
		return false, fmt.Errorf("%s has another content already: somebody else has marked the end: of several that write one queue each but the last sets NoEnd", o.msg.Subject)
	case jet.SumOf(m.Header) != jet.SumOf(o.msg.Header):
		return false, fmt.Errorf("%s has another content already: two runs with different settings, or a stranger, write it", o.msg.Subject)
	}
	w.refused.Add(1)
	return true, nil
}

// Durable returns how many records the broker has.
func (w *writer) Durable() int64 {
	if len(w.pending) > 0 {
		return w.pending[0].record - 1
	}
	return w.written
}

// Deadline is soon, while the broker has not acknowledged everything.
func (w *writer) Deadline() time.Time {
	if len(w.pending) == 0 {
		return time.Time{}
	}
	return time.Now().Add(10 * time.Millisecond)
}

// Expire looks what was acknowledged.
func (w *writer) Expire(ctx context.Context) error {
	w.last = ctx
	return jet.Of(w.Stream, w.collect(ctx, true, 0))
}

// Close waits for the acknowledgements and marks the end of the stream.
func (w *writer) Close(failed error) error {
	return jet.Of(w.Stream, w.close(failed))
}

func (w *writer) close(failed error) (err error) {
	ctx := w.last
	if failed == nil {
		err = w.connect(ctx)
	}
	if w.client == nil {
		return err
	}
	defer w.client.Close()
	if failed != nil {
		return nil
	}
	if err := w.collect(ctx, false, 0); err != nil || w.NoEnd {
		return err
	}
	return w.finish(ctx)
}

// finish publishes the mark of the end. Of a queue it says what was sent, else
// what is there.
func (w *writer) finish(ctx context.Context) error {
	end, err := w.total(ctx)
	if err != nil {
		return fmt.Errorf("its end: %w", err)
	}
	m, err := jet.EndMessage(w.Stream, end)
	if err != nil {
		return err
	}
	o := &outgoing{msg: m, since: time.Now()}
	w.pending = append(w.pending, o)
	if err := w.publish(ctx, o); err != nil {
		return err
	}
	return w.collect(ctx, false, 0)
}

// total returns what the mark of the end says, of a stream that is the one that was written.
func (w *writer) total(ctx context.Context) (end jet.End, err error) {
	var info *nc.StreamInfo
	created := w.stream.CachedInfo().Created
	err = w.client.Ask(ctx, func(ctx context.Context) (err error) {
		info, err = w.stream.Info(ctx, nc.WithDeletedDetails(!w.Queue))
		if err == nil && !info.Created.Equal(created) {
			err = jet.ErrRemade
		}
		return err
	})
	if err != nil || w.Queue {
		return w.end, err
	}
	last := info.State.LastSeq
	for slices.Contains(info.State.Deleted, last) { // nobody will ever see it
		last--
	}
	if end, err = w.client.Count(ctx, info, last); err != nil {
		return end, err
	}
	return end, w.behind(ctx, last)
}

// behind wants that nothing of ours is behind an end that somebody has marked before, where
// no reader looks.
func (w *writer) behind(ctx context.Context, last uint64) error {
	end, err := w.client.Last(ctx, w.Stream, jet.EndSubject(w.Stream))
	if errors.Is(err, nc.ErrMsgNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for at := end.Sequence; ; {
		m, err := w.client.Next(ctx, w.Stream, w.Stream+".p.*", at+1)
		if errors.Is(err, nc.ErrMsgNotFound) || err == nil && m.Sequence > last { // it came since
			return nil
		}
		if err != nil {
			return err
		}
		at = m.Sequence
		if _, err := jet.Read(w.Stream, m.Subject, m.Header, at); err != nil {
			continue // a stranger's
		}
		return fmt.Errorf("it was marked before, as message %d, and behind that is message %d, which nobody will read: delete the mark %s, and run this again; of several that write one stream at different times each but the last sets NoEnd", end.Sequence, at, end.Subject)
	}
}

// Notes are messages, bytes, messages that were sent again, those that were there
// already, objects, times the stream was full, what was put aside then, and reconnects.
func (w *writer) Notes() map[string]int64 {
	n := map[string]int64{
		"messages": w.messages.Load(), "message bytes": w.bytes.Load(), "sent again": w.again.Load(),
		"there already": w.refused.Load(), "objects": w.objects.Load(), "full": w.full.Load(), "put aside": w.late.Load(),
	}
	if c := w.reconnects.Load(); c != nil {
		n["reconnects"] = c.Reconnects()
	}
	return n
}
