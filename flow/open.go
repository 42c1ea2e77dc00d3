package flow

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/reugn/go-streams"
)

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
