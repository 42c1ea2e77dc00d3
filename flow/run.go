package flow

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/reugn/go-streams"
	extflow "github.com/reugn/go-streams/flow"

	"github.com/sanflow/sanflow/flow/record"
)

const (
	graphID   = record.GraphID
	posColumn = record.Pos
)

// run is what the stages of one running pipeline share.
type run struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	opts   Options
	track  *tracker

	mu    sync.Mutex
	first error

	letters sync.Mutex // one call of Options.DeadLetters at a time
}

func newRun(ctx context.Context, opts Options) *run {
	ctx, cancel := context.WithCancelCause(ctx)
	return &run{ctx: ctx, cancel: cancel, opts: opts.withDefaults(), track: newTracker()}
}

// fail keeps the first error and ends the run: from now on every stage
// releases what it receives, until its input is closed.
func (r *run) fail(err error) {
	if err == nil || errors.Is(err, errStopped) {
		return
	}
	r.mu.Lock()
	if r.first == nil {
		r.first = err
	}
	r.mu.Unlock()
	r.cancel(err)
}

func (r *run) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first
}

// stopped reports whether the run has ended before its time. A caller that
// drops something because of it has lost it, so the reason is kept.
func (r *run) stopped() bool {
	if r.ctx.Err() == nil {
		return false
	}
	r.fail(&Error{Stage: "run", Graph: NoGraph, Err: context.Cause(r.ctx)})
	return true
}

// deliver sends letters to the dead-letter function and releases them.
func (r *run) deliver(letters []Letter) {
	for _, l := range letters {
		if r.opts.Refused == Keep && !r.stopped() {
			r.letters.Lock()
			err := guard(func() error { return r.opts.DeadLetters(l) })
			r.letters.Unlock()
			r.fail(at("dead letters", err))
		}
		l.Row.Release()
	}
}

// pipe is the outlet that all our stages have; it makes them go-streams stages.
type pipe struct{ out chan any }

func (p *pipe) Out() <-chan any { return p.out }

func (p *pipe) Via(f streams.Flow) streams.Flow {
	extflow.DoStream(p, f)
	return f
}

// To streams into sink and returns when that has completed.
func (p *pipe) To(sink streams.Sink) {
	extflow.DoStream(p, sink)
	sink.AwaitCompletion()
}

// spout is a Source as a go-streams source.
type spout struct {
	pipe
	run    *run
	reader Reader
	count  *counter
	once   sync.Once
}

func (s *spout) serve() {
	defer close(s.out)
	defer func() { s.run.fail(at(s.count.stage, guard(s.reader.Close))) }()
	for !s.run.stopped() {
		var rec arrow.Record
		start := time.Now()
		err := guard(func() (err error) {
			rec, err = s.reader.Next(s.run.ctx)
			return err
		})
		since(&s.count.busy, start)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				s.run.fail(at(s.count.stage, err))
			}
			return
		}
		s.count.out(rec)
		s.run.track.enter(rec)
		start = time.Now()
		s.out <- rec
		since(&s.count.blocked, start)
	}
}

// drain is a Sink as a go-streams sink.
type drain struct {
	in     chan any
	run    *run
	open   func(*arrow.Schema) (Writer, error) // called for the first record
	writer Writer                              // nil before it
	count  *counter
	done   chan struct{}
}

func (d *drain) In() chan<- any   { return d.in }
func (d *drain) AwaitCompletion() { <-d.done }

func (d *drain) serve() {
	defer close(d.done)
	for {
		rec, ok := d.run.receive(d.in, d.count)
		if !ok {
			break
		}
		if rec != nil {
			d.write(rec)
		}
	}
	if d.run.err() == nil {
		d.run.track.finish()
	}
	if d.writer != nil {
		failed := d.run.err()
		err := guard(func() error { return d.writer.Close(failed) })
		d.run.fail(at(d.count.stage, err))
	}
}

func (d *drain) write(rec arrow.Record) {
	defer rec.Release()
	d.count.in(rec)
	start := time.Now()
	err := guard(func() (err error) {
		if d.writer == nil {
			if d.writer, err = d.open(rec.Schema()); err != nil {
				return err
			}
		}
		return d.writer.Write(d.run.ctx, rec)
	})
	since(&d.count.busy, start)
	if err != nil {
		d.run.fail(at(d.count.stage, err))
		return
	}
	d.run.track.done(rec)
}

// receive takes the next record from in, which the caller owns. It returns no
// record where there is nothing to handle: the run has ended, or something
// else than a record came in. ok is false at the end of the stream.
func (r *run) receive(in <-chan any, c *counter) (rec arrow.Record, ok bool) {
	start := time.Now()
	v, ok := <-in
	since(&c.wait, start)
	if !ok {
		return nil, false
	}
	rec, isRecord := v.(arrow.Record)
	switch {
	case !isRecord:
		r.fail(at(c.stage, notRecord(v)))
		return nil, true
	case r.stopped():
		rec.Release()
		return nil, true
	}
	return rec, true
}
