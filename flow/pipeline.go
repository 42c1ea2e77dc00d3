package flow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/reugn/go-streams"
)

// Options are the settings of a run; the zero value is a good one.
type Options struct {
	// Workers is how many goroutines share each stretch of stages that can be
	// forked. The results do not depend on it. The default is GOMAXPROCS.
	Workers int
	// Buffer is how many records may wait between two stretches of stages. The
	// default is 2.
	Buffer int
	// Refused says what happens to rows that a stage refuses. The default is
	// Stop.
	Refused Policy
	// DeadLetters receives the rows that were refused, one call at a time,
	// where Refused is Keep. An error ends the run.
	DeadLetters func(Letter) error
	// Mem is where records are allocated. The default is Go's heap.
	Mem memory.Allocator
}

func (o Options) withDefaults() Options {
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Buffer == 0 {
		o.Buffer = 2
	}
	if o.Mem == nil {
		o.Mem = memory.DefaultAllocator
	}
	return o
}

func (o Options) check() error {
	switch {
	case o.Workers < 0:
		return fmt.Errorf("option Workers is %d, want 0 or more", o.Workers)
	case o.Buffer < 0:
		return fmt.Errorf("option Buffer is %d, want 0 or more", o.Buffer)
	case o.Refused < Stop || o.Refused > Keep:
		return fmt.Errorf("option Refused is %v, want Stop, Skip or Keep", o.Refused)
	case o.Refused == Keep && o.DeadLetters == nil:
		return errors.New("option Refused is Keep, but DeadLetters is nil")
	}
	return nil
}

// Pipeline is a source, the steps after it, and a sink: a plan, which nothing
// runs until Run or Start. Each method returns a new Pipeline, so that a
// beginning can be shared; running one does not change it.
type Pipeline struct {
	source Source
	steps  []step
	sink   Sink
	opts   Options
}

// step is an operator, or a foreign flow.
type step struct {
	op      Operator
	foreign *Foreign
}

// From begins a pipeline.
func From(s Source) Pipeline { return Pipeline{source: s} }

// Via adds an operator.
func (p Pipeline) Via(op Operator) Pipeline { return p.add(step{op: op}) }

// Through adds a flow that was not written for sanflow.
func (p Pipeline) Through(f Foreign) Pipeline { return p.add(step{foreign: &f}) }

func (p Pipeline) add(s step) Pipeline {
	p.steps = append(p.steps[:len(p.steps):len(p.steps)], s)
	return p
}

// To ends a pipeline. Without a sink, records are counted and released.
func (p Pipeline) To(s Sink) Pipeline {
	p.sink = s
	return p
}

// With sets the options of the run.
func (p Pipeline) With(o Options) Pipeline {
	p.opts = o
	return p
}

// Run runs the pipeline to its end, and returns nil when every row has left
// it. Otherwise it returns the first error, as an *[Error]; when ctx ended
// before the stream did, that wraps the cause. No goroutine and no Arrow
// buffer of the pipeline outlives Run.
func (p Pipeline) Run(ctx context.Context) error { return p.Start(ctx).Wait() }

// Running is a pipeline at work.
type Running struct {
	run    *run
	counts []*counter
	done   chan struct{}
}

// Wait returns when the run has ended, with what Run returns.
func (r *Running) Wait() error {
	<-r.done
	return r.run.err()
}

// Stats returns what each stage did so far. It may be called at any time, also
// after the end.
func (r *Running) Stats() Stats {
	s := Stats{Done: r.run.track.watermark()}
	for _, c := range r.counts {
		s.Stages = append(s.Stages, c.snapshot())
	}
	return s
}

// Start opens every stage, from the source on, and runs the pipeline. It does
// not wait: an error of opening is reported by Wait as well.
func (p Pipeline) Start(ctx context.Context) *Running {
	r := newRun(ctx, p.opts)
	running := &Running{run: r, done: make(chan struct{})}
	o, err := p.open(r)
	if err == nil {
		err = o.openSink(p.sink)
	}
	if err != nil {
		r.fail(err)
		r.cancel(nil)
		close(running.done)
		return running
	}
	running.counts = o.counts
	go func() {
		defer close(running.done)
		defer r.cancel(nil)
		o.serve()
	}()
	return running
}

// opened is a pipeline whose stages are open and not yet running.
type opened struct {
	run    *run
	names  namer
	spout  *spout
	steps  []openStep
	schema *arrow.Schema // of what leaves the last of the steps
	drain  *drain
	counts []*counter
}

// openStep is a stage with its name, or a foreign flow.
type openStep struct {
	stage   Stage
	count   *counter
	foreign *Foreign
	in, out *arrow.Schema
}

// open opens everything but the sink.
func (p Pipeline) open(r *run) (o *opened, err error) {
	if p.source == nil {
		return nil, at("pipeline", errors.New("no source"))
	}
	if err := p.opts.check(); err != nil {
		return nil, at("pipeline", err)
	}
	o = &opened{run: r, names: namer{}}
	o.spout = &spout{pipe: r.pipe(), run: r, count: o.count(p.source)}
	if err := o.spout.open(p.source); err != nil {
		o.close()
		return o, err
	}
	if a, ok := o.spout.reader.(Acker); ok {
		o.spout.acked = true
		r.track.ack = func(pos int64) {
			r.fail(at(o.spout.count.stage, guard(func() error { a.Ack(pos); return nil })))
		}
	}
	o.schema = o.spout.schema

	for _, s := range p.steps {
		st := openStep{foreign: s.foreign, in: o.schema}
		if s.foreign != nil {
			st.count = o.count(*s.foreign)
			err = guard(func() (err error) {
				st.out, err = s.foreign.schema(o.schema)
				return err
			})
		} else {
			st.count = o.count(s.op)
			if st.stage, err = openOperator(s.op, o.schema); err == nil {
				st.out = st.stage.Schema()
			}
		}
		if err != nil {
			o.close()
			return o, at(st.count.stage, err)
		}
		o.schema = st.out
		o.steps = append(o.steps, st)
	}
	return o, nil
}

// count returns the counter of one more stage.
func (o *opened) count(stage any) *counter {
	c := &counter{stage: o.names.name(stage)}
	o.counts = append(o.counts, c)
	return c
}

// openSink opens the sink after all else.
func (o *opened) openSink(sink Sink) (err error) {
	o.drain = &drain{in: make(chan any), run: o.run, count: o.count(orDiscard(sink)), done: make(chan struct{})}
	if o.drain.writer, err = openSink(orDiscard(sink), o.schema); err != nil {
		o.close()
	}
	return at(o.drain.count.stage, err)
}

func orDiscard(s Sink) Sink {
	if s == nil {
		return discard{}
	}
	return s
}

func openOperator(op Operator, in *arrow.Schema) (s Stage, err error) {
	err = guard(func() (err error) {
		if op == nil {
			return errors.New("the operator is nil")
		}
		if s, err = op.Open(in); err != nil {
			return err
		}
		if s == nil {
			return errors.New("Open returned no Stage")
		}
		if s.Schema() == nil {
			return errors.New("the schema is nil")
		}
		return nil
	})
	return s, err
}

func openSink(sink Sink, in *arrow.Schema) (w Writer, err error) {
	err = guard(func() (err error) {
		if sink == nil {
			return errors.New("the sink is nil")
		}
		if w, err = sink.Open(in); err == nil && w == nil {
			err = errors.New("Open returned no Writer")
		}
		return err
	})
	return w, err
}

// close undoes open where the pipeline will not run. There is an error to
// report already, so those of closing are not.
func (o *opened) close() {
	if o.spout.reader != nil {
		_ = guard(o.spout.reader.Close)
	}
	for _, s := range o.steps {
		if c, ok := s.stage.(io.Closer); ok {
			_ = guard(c.Close)
		}
	}
}

// serve connects the stages and returns when all is done.
func (o *opened) serve() {
	r := o.run
	go o.spout.serve()
	go o.drain.serve()
	var last streams.Source = o.spout
	var end streams.Flow // the last flow so far, if any
	via := func(f streams.Flow) {
		if end == nil {
			end = last.Via(f)
		} else {
			end = end.Via(f)
		}
	}
	for i := 0; i < len(o.steps); {
		if s := o.steps[i]; s.foreign != nil {
			i++
			l := newLedger(r, s)
			flow, err := l.build()
			if err != nil {
				r.fail(at(s.count.stage, err))
				continue
			}
			go l.lend.serve()
			go l.back.serve()
			via(&l.lend)
			via(flow)
			via(&l.back)
			continue
		}
		// A stretch of stages that can be forked shares its workers.
		n := 1
		for forks(stagesOf(o.steps[i:i+1])) && i+n < len(o.steps) && o.steps[i+n].foreign == nil && forks(stagesOf(o.steps[i+n:i+n+1])) {
			n++
		}
		seg := &segment{pipe: r.pipe(), in: make(chan any), run: r, workers: r.opts.Workers}
		seg.stages = stagesOf(o.steps[i : i+n])
		for _, s := range o.steps[i : i+n] {
			seg.counts = append(seg.counts, s.count)
		}
		i += n
		go seg.serve()
		via(seg)
	}
	if end == nil {
		o.spout.To(o.drain)
	} else {
		end.To(o.drain)
	}
	if o.spout.acked {
		o.spout.close()
	}
}

func stagesOf(steps []openStep) []Stage {
	stages := make([]Stage, len(steps))
	for i, s := range steps {
		stages[i] = s.stage
	}
	return stages
}

func (r *run) pipe() pipe { return pipe{make(chan any, max(r.opts.Buffer, 0))} }

// discard is the sink of a pipeline without one.
type discard struct{}

func (discard) Open(*arrow.Schema) (Writer, error)        { return discard{}, nil }
func (discard) Write(context.Context, arrow.Record) error { return nil }
func (discard) Close(error) error                         { return nil }
