package flow

import (
	"time"

	"github.com/apache/arrow/go/v15/arrow"
)

// inbox is the end of a stage to which records come.
type inbox struct {
	in    chan arrow.Record
	run   *run
	count *counter

	timer *time.Timer // for the deadline that was armed last; nil before the first
	armed time.Time
}

// next waits for a record, which the caller owns. It returns none, and true,
// when the deadline has passed; ok is false when the stream has ended, or the
// run.
func (b *inbox) next(deadline time.Time) (rec arrow.Record, ok bool) {
	if b.run.stopped() {
		return nil, false
	}
	defer b.count.wait.since(monotonic())
	select {
	case rec, ok := <-b.in:
		if !ok {
			b.run.stopped() // the stage before may have ended because the context did
		}
		return rec, ok
	case <-b.alarm(deadline):
		b.armed = time.Time{}
		return nil, true
	case <-b.run.ctx.Done():
		b.run.stopped()
		return nil, false
	}
}

// alarm returns a channel that says when the deadline has passed, or nil where
// there is none. A stage whose deadline stays in the past must not keep records
// from coming in, so it waits a little in any case.
func (b *inbox) alarm(deadline time.Time) <-chan time.Time {
	const little = time.Millisecond
	switch {
	case deadline.IsZero():
		return nil
	case b.timer == nil:
		b.timer = time.NewTimer(max(little, time.Until(deadline)))
	case !deadline.Equal(b.armed):
		b.timer.Reset(max(little, time.Until(deadline)))
	}
	b.armed = deadline
	return b.timer.C
}

// drain releases what still comes in, until the channel is closed.
func (b *inbox) drain() {
	if b.timer != nil {
		b.timer.Stop()
	}
	for rec := range b.in {
		rec.Release()
	}
}
