package flow

import (
	"time"

	"github.com/apache/arrow/go/v15/arrow"
)

// taker receives records: an edge, or later stages on the same goroutine. take owns rec, and
// releases it after the end of the run.
type taker interface{ take(rec arrow.Record) }

// edge connects two goroutines of a pipeline, with a buffer of Options.Buffer records.
type edge struct {
	run      *run
	from, to *counter // counters of the stages before and behind the edge
	records  chan arrow.Record

	timer *time.Timer // nil before the first deadline
	armed time.Time   // deadline of timer
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

// next waits for a record, which the caller owns. After the deadline it returns nil and true. At the
// end of the stream or of the run, ok is false.
func (e *edge) next(deadline time.Time) (rec arrow.Record, ok bool) {
	if e.run.stopped() {
		return nil, false
	}
	defer e.to.wait.since(monotonic())
	select {
	case rec, ok := <-e.records:
		if !ok {
			e.run.stopped() // the previous stage may have ended with the context
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

// alarm returns a channel that fires after the deadline, or nil without a deadline. It waits at least a
// millisecond, so that a deadline in the past cannot starve the input.
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

// drain releases further records until the channel is closed.
func (e *edge) drain() {
	if e.timer != nil {
		e.timer.Stop()
	}
	for rec := range e.records {
		rec.Release()
	}
}
