package flow

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/reugn/go-streams"
	extflow "github.com/reugn/go-streams/flow"
)

// Each adapter runs a Pipeline of one stage, whose source or sink is a channel of go-streams.
// go-streams passes no errors on, so each adapter keeps its own. After an error the adapter releases
// further input and closes its output. A go-streams flow that drops records releases them.

// SourceAdapter is a source as a streams.Source, FlowAdapter an operator as a streams.Flow, and SinkAdapter
// a sink as a streams.Sink. Their records are arrow.Record.
//
// go-streams passes no error on: an error is returned by Err of the failed stage alone, and Err of
// the other stages is nil. Err waits for the end of the stream, which must have been connected. Check
// Err of the source, of every flow and of the sink.
type (
	SourceAdapter interface {
		streams.Source
		Err() error
	}
	FlowAdapter interface {
		streams.Flow
		Err() error
	}
	SinkAdapter interface {
		streams.Sink
		Err() error
	}
)

// adapter is a source, a flow or a sink of go-streams. A source has no in, and a sink has no out.
type adapter struct {
	in    chan any // nil for a source
	out   chan any // nil for a sink
	start func()   // starts the pipeline of a source, once
	done  chan struct{}
	err   error // error of the pipeline; set before done is closed
}

// AsSource returns src as a go-streams source. It opens src when the first stage is connected, and
// ends when ctx does. A reader that is an Acker gets no calls, since go-streams does not report
// completed records. At most one Options is used.
func AsSource(ctx context.Context, src Source, opts ...Options) SourceAdapter {
	a := &adapter{out: make(chan any), done: make(chan struct{})}
	a.start = sync.OnceFunc(func() {
		go a.serve(ctx, Name(src), opts, func(Source) Pipeline { return From(unheard{src}).To(exit{a.out}) })
	})
	return a
}

// AsFlow returns op as a go-streams flow. It opens op with the schema of the first record. When ctx
// ends, the output ends, and Err returns within a second. A goroutine then releases further input
// until the input is closed, since go-streams cannot stop it.
func AsFlow(ctx context.Context, op Operator, opts ...Options) FlowAdapter {
	a := &adapter{in: make(chan any), out: make(chan any), start: func() {}, done: make(chan struct{})}
	go a.serve(ctx, Name(op), opts, func(in Source) Pipeline { return From(in).Via(op).To(exit{a.out}) })
	return a
}

// AsSink returns sink as a go-streams sink. It opens the sink with the schema of the first record.
// When ctx ends it ends as AsFlow does.
func AsSink(ctx context.Context, sink Sink, opts ...Options) SinkAdapter {
	a := &adapter{in: make(chan any), start: func() {}, done: make(chan struct{})}
	go a.serve(ctx, Name(sink), opts, func(in Source) Pipeline { return From(in).To(sink) })
	return a
}

// In is the input of a flow or a sink.
func (a *adapter) In() chan<- any { return a.in }

// Out is the output of a source or a flow. Its first call starts the source.
func (a *adapter) Out() <-chan any {
	a.start()
	return a.out
}

// Via streams into f, which it returns.
func (a *adapter) Via(f streams.Flow) streams.Flow {
	extflow.DoStream(a, f)
	return f
}

// To streams into sink and returns when that has completed.
func (a *adapter) To(sink streams.Sink) {
	extflow.DoStream(a, sink)
	sink.AwaitCompletion()
}

// AwaitCompletion waits for the end of the stream.
func (a *adapter) AwaitCompletion() { <-a.done }

// Err returns the first error. It waits for the end of the stream, which must have been connected.
func (a *adapter) Err() error {
	<-a.done
	return a.err
}

// serve runs the pipeline that begin returns. With an input it first waits for a record, which has
// the schema. name is the name of the stage.
func (a *adapter) serve(ctx context.Context, name string, opts []Options, begin func(Source) Pipeline) {
	defer close(a.done)
	if a.in != nil {
		defer a.leave(ctx)
	}
	if a.out != nil {
		defer close(a.out)
	}
	var o Options
	if len(opts) > 0 {
		o = opts[0]
	}
	if err := o.check(); err != nil {
		a.err = at(name, err)
		return
	}
	in := inlet{in: a.in}
	if a.in != nil {
		var err error
		if in.first, err = in.Next(ctx); err != nil {
			if err != io.EOF {
				a.err = at(name, err)
			}
			return
		}
		defer in.first.Release()
	}
	// The caller did not start this pipeline, so its observer does not see the pipeline.
	a.err = begin(in).With(o).Run(context.WithValue(ctx, observeKey{}, nil))
}

// leave releases further input until the input is closed. After the end of ctx it returns within wait,
// and a goroutine releases the rest.
func (a *adapter) leave(ctx context.Context) {
	const wait = 500 * time.Millisecond
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for v := range a.in {
			if rec, ok := v.(arrow.Record); ok {
				rec.Release()
			}
		}
	}()
	select {
	case <-drained:
		return
	case <-ctx.Done():
	}
	select {
	case <-drained:
	case <-time.After(wait):
	}
}

// inlet is a channel as a Source, and its Reader.
type inlet struct {
	in    chan any
	first arrow.Record
	begun *bool // whether Next has returned first; nil before Open
}

func (i inlet) Open(context.Context, memory.Allocator) (Reader, error) {
	i.begun = new(bool)
	return i, nil
}

func (i inlet) Schema() *arrow.Schema { return i.first.Schema() }
func (i inlet) Close() error          { return nil }

func (i inlet) Next(ctx context.Context) (arrow.Record, error) {
	if i.begun != nil && !*i.begun {
		*i.begun = true
		i.first.Retain()
		return i.first, nil
	}
	select {
	case v, ok := <-i.in:
		rec, is := v.(arrow.Record)
		switch {
		case !ok && ctx.Err() == nil:
			return nil, io.EOF
		case ok && !is:
			return nil, fmt.Errorf("got a %T, want an arrow.Record", v)
		case ok:
			return rec, nil
		}
	case <-ctx.Done():
	}
	return nil, context.Cause(ctx)
}

// exit is a channel as a Sink, and its Writer.
type exit struct{ out chan any }

func (e exit) Open(*arrow.Schema) (Writer, error) { return e, nil }
func (e exit) Close(error) error                  { return nil }

func (e exit) Write(ctx context.Context, rec arrow.Record) error {
	rec.Retain()
	select {
	case e.out <- rec:
		return nil
	case <-ctx.Done():
		rec.Release()
		return context.Cause(ctx)
	}
}

// unheard is a source that hides the optional interfaces of its reader.
type unheard struct{ Source }

func (u unheard) Name() string { return Name(u.Source) }

func (u unheard) Open(ctx context.Context, mem memory.Allocator) (Reader, error) {
	r, err := u.Source.Open(ctx, mem)
	if r == nil || err != nil {
		return nil, err
	}
	return struct{ Reader }{r}, nil
}
