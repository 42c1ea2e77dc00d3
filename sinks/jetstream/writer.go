package jetstream

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
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
	opened  time.Time // by the clock of the broker
	most    int
	last    context.Context // of the last call, for Close

	pending   []*outgoing // in the order in which they were sent first
	ahead     []int64     // records with a message that was put aside
	scattered bool        // there may be one on the list that is done, behind others
	written   int64       // records
	end       jet.End     // of a queue: what was sent
	marked    *jet.End    // of a queue that an earlier run has ended: nothing is sent to it again
	counted   counted     // there
	position  int64       // of the last row
	sum       string      // of the last message
	twice     bool        // the record in hand begins where the last one has ended

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

// connect makes the stream, if that was not done.
func (w *writer) connect(ctx context.Context) error {
	if w.client != nil {
		return nil
	}
	client, err := jet.Connection(w.Connection).Dial(ctx, "to "+w.Stream)
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
	if w.Queue && !w.NoEnd && w.stream.CachedInfo().State.Msgs > 0 {
		if w.marked, err = client.End(ctx, w.Stream); err != nil {
			client.Close()
			return err
		}
	}
	w.client, w.opened = client, w.stream.CachedInfo().TimeStamp
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

// Durable returns how many records the broker has, and those behind others, all of whose
// messages it has.
func (w *writer) Durable() (n int64, ahead []int64) {
	ahead, w.ahead = w.ahead, nil
	ahead = slices.DeleteFunc(ahead, func(n int64) bool {
		return slices.ContainsFunc(w.pending, func(o *outgoing) bool { return o.record == n+1 })
	})
	if len(w.pending) > 0 {
		return w.pending[0].record - 1, ahead
	}
	return w.written, ahead
}

// Deadline is near while the broker has unacknowledged messages.
func (w *writer) Deadline() time.Time {
	if len(w.pending) == 0 {
		return time.Time{}
	}
	return time.Now().Add(10 * time.Millisecond)
}

// Expire processes acknowledgements.
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

// Notes count messages, bytes, repeated messages, duplicates at the broker, objects, times the
// stream was full, messages delayed by that, and reconnects.
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
