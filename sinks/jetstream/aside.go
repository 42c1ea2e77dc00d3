package jetstream

import (
	"cmp"
	"context"
	"time"

	"github.com/sanflow/sanflow/internal/jet"
)

// aside puts the message that the reader of a full stream waits for into the stream
// beside that (jet.Side), since nothing else will ever make room; and the end, when there is
// only that left. If the reader does not purge there is no such stream, and it
// waits.
func (w *writer) aside(ctx context.Context) error {
	if w.Queue || time.Since(w.asked) < 50*time.Millisecond {
		return nil
	}
	w.asked = time.Now()
	err := w.putAside(ctx)
	if err != nil && !jet.Passing(err) {
		return err
	}
	return context.Cause(ctx)
}

func (w *writer) putAside(ctx context.Context) (err error) {
	if w.side == nil {
		if w.side, err = w.client.Side(ctx, w.stream.CachedInfo()); err != nil || w.side == nil {
			return err
		}
	}
	p, err := w.side.Progress(ctx)
	if err != nil || p.Want < 0 {
		return err
	}
	wanted, end := jet.Subject(w.Stream, p.Want), jet.EndSubject(w.Stream)
	for _, o := range w.pending {
		if o.msg.Subject != wanted && o.msg.Subject != end || o.done || w.underWay(o) {
			w.scattered = w.scattered || o.done
			continue
		}
		if err := w.side.Put(ctx, o.msg); err != nil {
			return err
		}
		o.done, w.scattered = true, true
		w.late.Add(1)
	}
	return nil
}

// underWay reports whether a message may still be stored where it belongs.
func (w *writer) underWay(o *outgoing) bool {
	if o.future == nil {
		return !o.full
	}
	err, answered := o.answer()
	if !answered || err == nil {
		o.done = answered
		return true
	}
	if o.future = nil; jet.Full(err) || jet.Bounded(err) {
		w.noRoom(o)
	} else {
		o.full = false
	}
	return !o.full
}

// noRoom notes that the stream is full, and since when.
func (w *writer) noRoom(o *outgoing) {
	if !o.full {
		o.full, o.since = true, time.Now()
		w.full.Add(1)
	}
}

// fullWait is how long a message waits for room. A full broker keeps what it has, unless a worker
// or a reader takes from this stream.
func (w *writer) fullWait(err error) time.Duration {
	if w.FullWait == 0 && jet.Full(err) && !w.Queue && w.side == nil {
		return jet.RoomWait
	}
	return cmp.Or(w.FullWait, time.Hour)
}
