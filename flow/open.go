package flow

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
)

// opened is a pipeline whose stages are open and not yet running.
type opened struct {
	run    *run
	names  namer
	source *sourceStage
	steps  []openStep
	schema *arrow.Schema // of what leaves the last of the steps
	sink   *sinkStage
	counts []*counter
}

// openStep is a stage with its name.
type openStep struct {
	stage   Stage
	count   *counter
	in, out *arrow.Schema
}

// open opens everything but the sink, as far as it comes. What is open then is
// to be closed, by close or by serve.
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
	o.source = &sourceStage{outlet: o.run.outlet(), run: o.run, count: o.count(p.source)}
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
		s := openStep{count: o.count(op), in: o.schema}
		var err error
		if s.stage, s.out, err = o.run.openOperator(s.count.stage, op, o.schema); err != nil {
			return err
		}
		o.schema = s.out
		o.steps = append(o.steps, s)
	}
	return nil
}

// count returns the counter of one more stage.
func (o *opened) count(stage any) *counter {
	c := &counter{stage: o.names.name(stage)}
	o.counts = append(o.counts, c)
	return c
}

// openSink opens the sink after all else.
func (o *opened) openSink(sink Sink) {
	sink = orDiscard(sink)
	o.sink = &sinkStage{inbox: inbox{run: o.run, count: o.count(sink)}}
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

func (r *run) openOperator(name string, op Operator, in *arrow.Schema) (s Stage, out *arrow.Schema, err error) {
	err = r.guard(name, func() (err error) {
		if op == nil {
			return errors.New("the operator is nil")
		}
		if s, err = op.Open(in); err != nil {
			return err
		}
		if s == nil {
			return errors.New("Open returned no Stage")
		}
		if out = s.Schema(); out == nil {
			return errors.New("the schema is nil")
		}
		return nil
	})
	return s, out, err
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

// close undoes open where the pipeline will not run. There is an error to
// report already, so those of closing are not.
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

// serve connects the stages and returns when all is done. What leaves one segment is what comes
// into the next. Each has a goroutine, which code of a stage may end: so what is to be done
// behind such code is deferred, here and in what is called. The sink has that of the
// caller, and if there is no sink, the last segment has it.
func (o *opened) serve() {
	r := o.run
	tasks := []func(){o.source.serve}
	last := &o.source.outlet
	for i := 0; i < len(o.steps); {
		n := o.stretch(i)
		seg := o.segment(o.steps[i : i+n])
		seg.in = last.out
		i += n
		if n = o.stretch(i); seg.takes(o.steps[i : i+n]) {
			seg.then = o.segment(o.steps[i : i+n])
			i += n
		}
		tasks = append(tasks, func() {
			defer seg.drain()
			seg.serve()
		})
		last = seg.end()
	}
	o.sink.in = last.out
	here := func() {}
	if _, nothing := o.sink.writer.(discard); nothing {
		last.discard = o.sink
		if n := len(tasks) - 1; n > 0 { // it is of a segment
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
	defer o.sink.drain()
	defer o.sink.serve()
	here()
}

// stretch returns how many steps from i on form a segment: stages that can be
// forked share their workers.
func (o *opened) stretch(i int) int {
	if i == len(o.steps) {
		return 0
	}
	n := 1
	for forks(stagesOf(o.steps[i:i+1])) && i+n < len(o.steps) && forks(stagesOf(o.steps[i+n:i+n+1])) {
		n++
	}
	return n
}

// segment returns the segment of some steps.
func (o *opened) segment(steps []openStep) *segment {
	seg := &segment{outlet: o.run.outlet(), workers: o.run.opts.Workers, stages: stagesOf(steps)}
	for _, s := range steps {
		seg.counts = append(seg.counts, s.count)
	}
	seg.inbox = inbox{run: o.run, count: seg.counts[0]}
	return seg
}

func stagesOf(steps []openStep) []Stage {
	stages := make([]Stage, len(steps))
	for i, s := range steps {
		stages[i] = s.stage
	}
	return stages
}

// discard is the sink of a pipeline without one.
type discard struct{}

func (discard) Open(*arrow.Schema) (Writer, error)        { return discard{}, nil }
func (discard) Write(context.Context, arrow.Record) error { return nil }
func (discard) Close(error) error                         { return nil }
