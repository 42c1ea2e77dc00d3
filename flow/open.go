package flow

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
)

// opened is a pipeline with open stages, before it runs.
type opened struct {
	run    *run
	names  namer
	source *sourceStage
	steps  []step
	schema *arrow.Schema // of the output of the last step
	sink   *sinkStage
	counts []*counter
}

// open opens all stages but the sink, up to the first error. close or serve closes the open stages.
func (p Pipeline) open(r *run) *opened {
	o := &opened{run: r, names: namer{}}
	attend(func() { r.fail(o.open(p)) })
	return o
}

func (o *opened) open(p Pipeline) error {
	if p.source == nil {
		return at("pipeline", errors.New("no source"))
	}
	if err := p.opts.check(); err != nil {
		return at("pipeline", err)
	}
	o.source = &sourceStage{run: o.run, count: o.count(p.source)}
	o.source.out = o.run.edge(o.source.count)
	o.source.to = o.source.out
	if err := o.source.open(p.source); err != nil {
		return err
	}
	if a, ok := o.source.reader.(Acker); ok {
		o.source.outlived = true
		o.run.track.ack = func(pos int64) {
			o.run.fail(o.run.guard(o.source.count.stage, func() error { a.Ack(pos); return nil }))
		}
	}
	o.schema = o.source.schema
	for _, op := range p.steps {
		s := step{count: o.count(op), in: o.schema}
		if err := o.run.openOperator(op, &s); err != nil {
			return err
		}
		o.schema = s.out
		o.steps = append(o.steps, s)
	}
	return nil
}

// count makes the counter of a stage, with a unique name, and adds it to counts.
func (o *opened) count(stage any) *counter {
	c := &counter{stage: o.names.name(stage)}
	o.counts = append(o.counts, c)
	return c
}

func (o *opened) openSink(sink Sink) {
	sink = orDiscard(sink)
	o.sink = &sinkStage{run: o.run, count: o.count(sink)}
	var err error
	o.sink.writer, err = o.run.openSink(o.sink.count.stage, sink, o.schema)
	o.sink.count.of(o.sink.writer)
	o.run.fail(err)
}

func orDiscard(s Sink) Sink {
	if s == nil {
		return discard{}
	}
	return s
}

func (r *run) openOperator(op Operator, s *step) error {
	return r.guard(s.count.stage, func() (err error) {
		if op == nil {
			return errors.New("the operator is nil")
		}
		if s.stage, err = op.Open(s.in); err != nil {
			return err
		}
		if s.stage == nil {
			return errors.New("Open returned no Stage")
		}
		if s.out = s.stage.Schema(); s.out == nil {
			return errors.New("the schema is nil")
		}
		return nil
	})
}

func (r *run) openSink(name string, sink Sink, in *arrow.Schema) (w Writer, err error) {
	err = r.guard(name, func() (err error) {
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

// close closes the open stages of a pipeline that does not run. It drops errors of Close, since the
// run has an earlier error.
func (o *opened) close() {
	shut := func(close func() error) {
		attend(func() { _ = guard(close, func(error) {}) })
	}
	if o.source != nil && o.source.reader != nil {
		shut(o.source.reader.Close)
	}
	for _, s := range o.steps {
		if c, ok := s.stage.(io.Closer); ok {
			shut(c.Close)
		}
	}
}

// serve connects the stages and returns at the end of the run. The output of one segment is the input
// of the next. Each segment has a goroutine, which code of a stage may end, so all work after such code is
// deferred. The sink runs on the goroutine of the caller; without a sink, the last segment does.
func (o *opened) serve() {
	r := o.run
	tasks := []func(){o.source.serve}
	out, to := o.source.out, &o.source.to
	for steps := o.steps; len(steps) > 0; {
		n := together(steps)
		s := r.segment(out, steps[:n])
		steps, to = steps[n:], &s.to
		// A Flusher such as Chunk only emits pieces. Another goroutine behind it costs more than it
		// saves: the ratio to direct calls falls from 0.95 to 0.80 (random graphs, k = 10,
		// BenchmarkStream).
		if n = together(steps); r.opts.Workers == 1 && s.holds && n > 0 && steps[0].forks() {
			s.then = r.segment(s.out, steps[:n])
			s.to, s.out = s.then, s.then.out
			steps, to = steps[n:], &s.then.to
		}
		tasks = append(tasks, s.serve)
		out = s.out
	}
	o.sink.in, out.to = out, o.sink.count
	here := func() {}
	if _, nothing := o.sink.writer.(discard); nothing {
		*to = o.sink
		if n := len(tasks) - 1; n > 0 { // the last task is a segment
			here, tasks = tasks[n], tasks[:n]
		}
	}
	for _, t := range tasks {
		r.tasks.Go(t)
	}
	defer func() {
		r.tasks.Wait()
		if o.source.outlived {
			o.source.close()
		}
	}()
	defer o.sink.serve()
	here()
}

// discard is the sink of a pipeline without one.
type discard struct{}

func (discard) Open(*arrow.Schema) (Writer, error)        { return discard{}, nil }
func (discard) Write(context.Context, arrow.Record) error { return nil }
func (discard) Close(error) error                         { return nil }
