package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/internal/jet"
)

// finish publishes the mark of the end. It counts the sent messages of a queue, and the stored
// messages of another stream.
func (w *writer) finish(ctx context.Context) error {
	if w.marked != nil {
		if w.end == *w.marked {
			return nil
		}
		return fmt.Errorf("an earlier run has fed it and marked its end, with %d messages of %d rows, digest %.16x; this run has %d of %d, digest %.16x, and sent none: %w",
			w.marked.Messages, w.marked.Rows, w.marked.Digest[0], w.end.Messages, w.end.Rows, w.end.Digest[0], jet.ErrOtherRun)
	}
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
	for slices.Contains(info.State.Deleted, last) { // no reader will ever see it
		last--
	}
	if end, err = w.client.Count(ctx, info, last); err != nil {
		return end, err
	}
	return end, w.behind(ctx, last)
}

// behind refuses messages of sanflow behind an end that was marked before, where no reader
// looks. One kind of them is deleted instead. Two workers may have one message of a queue in
// hand. The first one puts its rows into the side stream, the reader takes them, and the end
// counts them. The second one was waiting for room meanwhile, and the stream then stores its copy.
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
		n, err := jet.Read(w.Stream, m.Subject, m.Header, at)
		if err != nil {
			continue // a stranger's
		}
		// A run that began behind the end has had no part in what the end counts.
		if end.Time.After(w.opened) {
			had, err := w.had(ctx, n.First())
			if err == nil && had {
				err = w.client.Ask(ctx, func(ctx context.Context) error { return w.stream.DeleteMsg(ctx, at) })
			}
			if err != nil && !errors.Is(err, nc.ErrMsgNotFound) {
				return err
			}
			if had {
				continue
			}
		}
		return fmt.Errorf("it was marked before, as message %d, and behind that is message %d, which no reader sees: delete the mark %s, and run this again; of several that write one stream at different times each but the last sets NoEnd", end.Sequence, at, end.Subject)
	}
}

// had reports whether the reader has the message at a position from the side stream.
func (w *writer) had(ctx context.Context, first int64) (bool, error) {
	side, err := w.client.Side(ctx, w.stream.CachedInfo())
	if err != nil || side == nil {
		return false, err
	}
	return side.Had(ctx, first)
}
