package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/internal/jet"
)

// outgoing is a message that the broker has not acknowledged.
type outgoing struct {
	msg    *nats.Msg
	future nc.PubAckFuture // nil: it has to be sent again
	record int64           // number of its record
	since  time.Time       // when it was sent first, or the stream was found to be full
	sent   time.Time       // the last time
	full   bool
	done   bool // it is in the side stream
	tries  int
}

// publish sends a message. That it cannot be sent now is found out later.
func (w *writer) publish(ctx context.Context, o *outgoing) error {
	if err := errors.Join(context.Cause(ctx), w.client.Err()); err != nil {
		return err
	}
	o.sent = time.Now()
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
		o.done = o.done || done
		w.prune()
		switch {
		case done && o.full:
			if err := w.follow(ctx); err != nil {
				return err
			}
		case !done && !wait:
			return nil
		}
	}
	return nil
}

// prune takes what is done off the list.
func (w *writer) prune() {
	for len(w.pending) > 0 && w.pending[0].done {
		w.pending[0] = nil
		w.pending = w.pending[1:]
	}
	if !w.scattered {
		return
	}
	w.scattered = false
	w.pending = slices.DeleteFunc(w.pending, func(o *outgoing) bool {
		if o.done {
			w.ahead = append(w.ahead, o.record-1)
		}
		return o.done
	})
}

// follow sends at once, when a message has found room in a stream that was full, those behind
// it that had not.
func (w *writer) follow(ctx context.Context) error {
	for _, o := range w.pending {
		if !o.done && !w.underWay(o) {
			if err := w.publish(ctx, o); err != nil {
				return err
			}
		}
		w.scattered = w.scattered || o.done
	}
	return nil
}

// acknowledged reports whether the broker has a message, for which it waits where
// that is wished for, and sends it again if it has not.
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
		left := time.Until(o.sent.Add(min(time.Duration(o.tries)*10*time.Millisecond, 100*time.Millisecond)))
		if left > 0 && !wait {
			return false, context.Cause(ctx)
		}
		if !jet.Sleep(ctx, left) {
			return false, context.Cause(ctx)
		}
		return false, w.publish(ctx, o)
	}
	err, answered := o.answer()
	if !answered && wait {
		select {
		case <-o.future.Ok():
		case err = <-o.future.Err():
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	} else if !answered {
		return false, nil
	}
	if err == nil {
		return true, nil
	}
	o.future = nil
	return w.failed(ctx, o, err)
}

// answer takes the broker's answer to a message that was sent, if there is one.
func (o *outgoing) answer() (err error, answered bool) {
	select {
	case <-o.future.Ok():
	case err = <-o.future.Err():
	default:
		return nil, false
	}
	return err, true
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
	case jet.Full(err) || jet.Bounded(err):
		w.noRoom(o)
		if wait := w.fullWait(err); time.Since(o.since) > wait {
			return false, fmt.Errorf("it has been full for %v: %w", wait, err)
		}
		w.client.Warn(o.since, "there is no room in "+w.Stream+"; waiting for it", err)
		return false, nil
	}
	switch {
	case w.client.Err() != nil:
		return false, w.client.Err()
	case !taken && !jet.Passing(err):
		return false, err
	case o.full: // it was, and now the broker is away
		o.full, o.since = false, time.Now()
	case time.Since(o.since) > w.client.Patience:
		return false, fmt.Errorf("%s was not acknowledged for %v: %w", o.msg.Subject, time.Since(o.since).Round(time.Second), err)
	}
	w.client.Warn(o.since, o.msg.Subject+" is not acknowledged; trying on", err)
	if errors.Is(err, nc.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders) {
		// No stream has that subject: the broker starts, or the stream is gone.
		if _, err := w.client.Find(ctx, w.Stream, 0); err != nil {
			return false, err
		}
	}
	return false, nil
}

// there compares a message with the one that has its position already. If there is none, one
// was on its way and did not arrive, or another worker has finished it since: it is sent again, which the
// broker's window of de-duplication, and what is behind the queue, let pass without harm.
func (w *writer) there(ctx context.Context, o *outgoing) (bool, error) {
	m, err := w.client.Last(ctx, w.Stream, o.msg.Subject)
	switch {
	case errors.Is(err, nc.ErrMsgNotFound):
		return false, nil
	case err != nil:
		return false, err
	case jet.SumOf(m.Header) != jet.SumOf(o.msg.Header) && o.msg.Subject == jet.EndSubject(w.Stream):
		return false, fmt.Errorf("another sink marked the end while this one was writing: of several sinks that write one queue each but the last sets NoEnd")
	case jet.SumOf(m.Header) != jet.SumOf(o.msg.Header):
		return false, fmt.Errorf("%s has another content already: %w", o.msg.Subject, jet.ErrOtherRun)
	}
	w.refused.Add(1)
	return true, nil
}
