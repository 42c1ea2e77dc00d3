package flow

import (
	"context"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/reugn/go-streams"
)

// The adapters put one stage of ours into a pipeline that is wired with
// go-streams alone. Such a pipeline carries no error, so each adapter keeps its
// own: after an error it releases what still comes in, ends its output, and
// tells the error by Err once the stream has ended. Records that a go-streams
// flow drops are for that flow to release.

// OperatorFlow is an operator as a streams.Flow.
type OperatorFlow struct {
	segment
	done chan struct{}
}

var _ streams.Flow = (*OperatorFlow)(nil)

// AsFlow returns op as a go-streams flow of arrow.Record. It opens op with the schema of the
// first record. When ctx ends, the output ends, and Err returns within a second. A goroutine
// then releases further input until the input is closed, since go-streams cannot stop it. At
// most one Options is used.
//
// go-streams passes no error on: an error is returned by Err of the failed stage alone, and Err of
// the other stages is nil. Check Err of the source, of every flow and of the sink.
func AsFlow(ctx context.Context, op Operator, opts ...Options) *OperatorFlow {
	r, err := adapterRun(ctx, opts)
	count := &counter{stage: Name(op)}
	f := &OperatorFlow{done: make(chan struct{})}
	f.segment = segment{
		outlet:  r.outlet(),
		inbox:   inbox{in: make(chan any), run: r, count: count},
		counts:  []*counter{count},
		workers: r.opts.Workers,
		open: func(s *arrow.Schema) ([]Stage, error) {
			st, _, err := r.openOperator(count.stage, op, s)
			return []Stage{st}, err
		},
	}
	r.fail(at(count.stage, err))
	go func() {
		defer r.cancel(nil)
		defer close(f.done)
		defer f.leave(ctx)
		f.serve()
	}()
	return f
}

// Err returns the first error. It waits for the end of the stream.
func (f *OperatorFlow) Err() error {
	<-f.done
	return f.run.err()
}

// SourceOutlet is a Source as a streams.Source.
type SourceOutlet struct {
	sourceStage
	open func() error
	done chan struct{}
}

var _ streams.Source = (*SourceOutlet)(nil)

// AsSource returns src as a go-streams source of arrow.Record. It opens src when the first
// stage is connected, and ends when ctx does. A reader that is an Acker gets no calls, since
// go-streams does not report completed records.
//
// go-streams passes no error on: an error is returned by Err of the failed stage alone, and Err of
// the other stages is nil. Check Err of the source, of every flow and of the sink.
func AsSource(ctx context.Context, src Source, opts ...Options) *SourceOutlet {
	r, err := adapterRun(ctx, opts)
	s := &SourceOutlet{
		sourceStage: sourceStage{outlet: r.outlet(), run: r, count: &counter{stage: Name(src)}},
		done:        make(chan struct{}),
	}
	s.open = func() error {
		if err != nil {
			return at(s.count.stage, err)
		}
		return s.sourceStage.open(src)
	}
	return s
}

// Out returns the output. Its first call starts the source.
func (s *SourceOutlet) Out() <-chan any {
	s.once.Do(func() {
		go func() {
			defer s.run.cancel(nil)
			defer close(s.done)
			attend(func() { s.run.fail(s.open()) })
			if s.run.err() != nil {
				if s.reader != nil {
					attend(s.close)
				}
				close(s.out)
				return
			}
			s.serve()
		}()
	})
	return s.out
}

// Via streams into f, which it returns.
func (s *SourceOutlet) Via(f streams.Flow) streams.Flow {
	s.Out()
	return s.outlet.Via(f)
}

// To streams into sink and returns when that has completed.
func (s *SourceOutlet) To(sink streams.Sink) {
	s.Out()
	s.outlet.To(sink)
}

// Err returns the first error. It waits for the end of the stream, which must
// have been connected.
func (s *SourceOutlet) Err() error {
	<-s.done
	return s.run.err()
}

// SinkInlet is a Sink as a streams.Sink.
type SinkInlet struct {
	sinkStage
	ended chan struct{}
}

var _ streams.Sink = (*SinkInlet)(nil)

// AsSink returns sink as a go-streams sink of arrow.Record. It opens the sink with the schema
// of the first record. When ctx ends it ends as AsFlow does.
//
// go-streams passes no error on: an error is returned by Err of the failed stage alone, and Err of
// the other stages is nil. Check Err of the source, of every flow and of the sink.
func AsSink(ctx context.Context, sink Sink, opts ...Options) *SinkInlet {
	r, err := adapterRun(ctx, opts)
	count := &counter{stage: Name(sink)}
	s := &SinkInlet{ended: make(chan struct{})}
	s.sinkStage = sinkStage{
		inbox: inbox{in: make(chan any), run: r, count: count},
		done:  make(chan struct{}),
		open:  func(in *arrow.Schema) (Writer, error) { return r.openSink(count.stage, sink, in) },
	}
	r.fail(at(count.stage, err))
	go func() {
		defer r.cancel(nil)
		defer close(s.ended)
		defer s.leave(ctx)
		s.serve()
	}()
	return s
}

// AwaitCompletion waits for the end of the stream.
func (s *SinkInlet) AwaitCompletion() { <-s.ended }

// Err returns the first error. It waits for the end of the stream.
func (s *SinkInlet) Err() error {
	<-s.ended
	return s.run.err()
}

// leave releases what still comes in, until the input is closed. When ctx has
// ended it waits no longer than a pipeline around it needs to end likewise, and
// leaves the rest to a goroutine.
func (b *inbox) leave(ctx context.Context) {
	const wait = 500 * time.Millisecond
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		b.drain()
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

func adapterRun(ctx context.Context, opts []Options) (*run, error) {
	var o Options
	if len(opts) > 0 {
		o = opts[0]
	}
	err := o.check()
	if err != nil {
		o = Options{} // nothing is made of what was refused
	}
	r := newRun(ctx, o)
	r.track.off = true
	return r, err
}
