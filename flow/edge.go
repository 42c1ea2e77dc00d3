package flow

import (
	"time"

	"github.com/apache/arrow/go/v15/arrow"
)

// taker is what a record goes to: an edge, or the stages behind on the same goroutine. take takes
// rec over, and releases it where the run has ended.
type taker interface{ take(rec arrow.Record) }

// edge connects two goroutines of a pipeline: at most Options.Buffer records wait in it.
type edge struct {
	run      *run
	from, to *counter // of the stages before and behind
	records  chan arrow.Record

	timer *time.Timer // for the deadline that was armed last; nil before the first
	armed time.Time
}

func (r *run) edge(from *counter) *edge {
	return &edge{run: r, from: from, records: make(chan arrow.Record, max(r.opts.Buffer, 0))}
}

func (e *edge) take(rec arrow.Record) {
	defer e.from.blocked.since(monotonic())
	if !e.run.stopped() {
		select {
		case e.records <- rec:
			return
		case <-e.run.ctx.Done():
			e.run.stopped()
		}
	}
	rec.Release()
}

// next waits for a record, which the caller owns. It returns none, and true,
// when the deadline has passed; ok is false when the stream has ended, or the
// run.
func (e *edge) next(deadline time.Time) (rec arrow.Record, ok bool) {
	if e.run.stopped() {
		return nil, false
	}
	defer e.to.wait.since(monotonic())
	select {
	case rec, ok := <-e.records:
		if !ok {
			e.run.stopped() // the stage before may have ended because the context did
		}
		return rec, ok
	case <-e.alarm(deadline):
		e.armed = time.Time{}
		return nil, true
	case <-e.run.ctx.Done():
		e.run.stopped()
		return nil, false
	}
}

// alarm returns a channel that says when the deadline has passed, or nil where
// there is none. A stage whose deadline stays in the past must not keep records
// from coming in, so it waits a little in any case.
func (e *edge) alarm(deadline time.Time) <-chan time.Time {
	const little = time.Millisecond
	switch {
	case deadline.IsZero():
		return nil
	case e.timer == nil:
		e.timer = time.NewTimer(max(little, time.Until(deadline)))
	case !deadline.Equal(e.armed):
		e.timer.Reset(max(little, time.Until(deadline)))
	}
	e.armed = deadline
	return e.timer.C
}

// drain releases what still comes in, until the channel is closed.
func (e *edge) drain() {
	if e.timer != nil {
		e.timer.Stop()
	}
	for rec := range e.records {
		rec.Release()
	}
}
