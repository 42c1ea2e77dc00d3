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
	// A stage that gave up since the context has ended says just that; the
	// caller wants to hear why it has.
	if why := context.Cause(r.ctx); why != nil && errors.Is(err, r.ctx.Err()) && !errors.Is(err, why) {
		stage, graph := "run", int64(NoGraph)
		var e *Error
		if errors.As(err, &e) {
			stage, graph = e.Stage, e.Graph
		}
		err = &Error{Stage: stage, Graph: graph, Err: why}
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
	schema *arrow.Schema
	acked  bool // the reader is an Acker, which somebody else closes
	count  *counter
	once   sync.Once
}

// open opens src.
func (s *spout) open(src Source) error {
	return at(s.count.stage, guard(func() error {
		if src == nil {
			return errors.New("the source is nil")
		}
		reader, err := src.Open(s.run.ctx, s.run.opts.Mem)
		if err != nil {
			return err
		}
		if reader == nil {
			return errors.New("Open returned no Reader")
		}
		s.reader = reader
		if s.schema = s.reader.Schema(); s.schema == nil {
			return errors.New("the schema is nil")
		}
		return nil
	}))
}

func (s *spout) close() { s.run.fail(at(s.count.stage, guard(s.reader.Close))) }

func (s *spout) serve() {
	defer close(s.out)
	if !s.acked {
		defer s.close()
	}
	for !s.run.stopped() {
		var rec arrow.Record
		start := time.Now()
		err := guard(func() (err error) {
			if rec, err = s.reader.Next(s.run.ctx); err != nil {
				return err
			}
			if rec == nil {
				return errNoRecord
			}
			if err = checkColumns(rec.Schema(), s.schema); err != nil {
				rec.Release()
			}
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
	schema *arrow.Schema                       // what comes in, where nobody before has checked it
	count  *counter
	done   chan struct{}
}

func (d *drain) In() chan<- any   { return d.in }
func (d *drain) AwaitCompletion() { <-d.done }

func (d *drain) serve() {
	defer close(d.done)
	for {
		rec, ok := d.run.receive(d.in, d.count, d.schema)
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
			d.schema = rec.Schema()
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
// else than a record, or a record of another schema than want, came in. A nil
// want is any. ok is false at the end of the stream.
func (r *run) receive(in <-chan any, c *counter, want *arrow.Schema) (rec arrow.Record, ok bool) {
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
	if want != nil {
		if err := checkColumns(rec.Schema(), want); err != nil {
			rec.Release()
			r.fail(at(c.stage, err))
			return nil, true
		}
	}
	return rec, true
}
