package flow

import (
	"context"

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

// AsFlow returns op as a go-streams flow of arrow.Record. It is opened with
// the schema of the first record, and ends when ctx does. At most one Options
// is used.
func AsFlow(ctx context.Context, op Operator, opts ...Options) *OperatorFlow {
	r, err := adapterRun(ctx, opts)
	count := &counter{stage: Name(op)}
	f := &OperatorFlow{done: make(chan struct{})}
	f.segment = segment{
		pipe: r.pipe(), in: make(chan any), run: r,
		counts: []*counter{count}, workers: r.opts.Workers,
		open: func(s *arrow.Schema) ([]Stage, error) {
			st, err := openOperator(op, s)
			return []Stage{st}, at(count.stage, err)
		},
	}
	r.fail(at(count.stage, err))
	go func() {
		defer r.cancel(nil)
		defer close(f.done)
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
	spout
	open func() error
	done chan struct{}
}

var _ streams.Source = (*SourceOutlet)(nil)

// AsSource returns src as a go-streams source of arrow.Record. It is opened
// when something is first connected to it, and ends when ctx does. A reader
// that is an [Acker] hears nothing, since go-streams does not tell what becomes
// of a record.
func AsSource(ctx context.Context, src Source, opts ...Options) *SourceOutlet {
	r, err := adapterRun(ctx, opts)
	s := &SourceOutlet{
		spout: spout{pipe: r.pipe(), run: r, count: &counter{stage: Name(src)}},
		done:  make(chan struct{}),
	}
	s.open = func() error {
		if err != nil {
			return at(s.count.stage, err)
		}
		return s.spout.open(src)
	}
	return s
}

// Out starts reading at its first call.
func (s *SourceOutlet) Out() <-chan any {
	s.once.Do(func() {
		go func() {
			defer s.run.cancel(nil)
			defer close(s.done)
			if err := s.open(); err != nil {
				s.run.fail(err)
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
	return s.pipe.Via(f)
}

// To streams into sink and returns when that has completed.
func (s *SourceOutlet) To(sink streams.Sink) {
	s.Out()
	s.pipe.To(sink)
}

// Err returns the first error. It waits for the end of the stream, which must
// have been connected.
func (s *SourceOutlet) Err() error {
	<-s.done
	return s.run.err()
}

// SinkInlet is a Sink as a streams.Sink.
type SinkInlet struct{ drain }

var _ streams.Sink = (*SinkInlet)(nil)

// AsSink returns sink as a go-streams sink of arrow.Record. It is opened with
// the schema of the first record, and ends when ctx does.
func AsSink(ctx context.Context, sink Sink, opts ...Options) *SinkInlet {
	r, err := adapterRun(ctx, opts)
	s := &SinkInlet{drain{
		in: make(chan any), run: r, count: &counter{stage: Name(sink)}, done: make(chan struct{}),
		open: func(in *arrow.Schema) (Writer, error) { return openSink(sink, in) },
	}}
	r.fail(at(s.count.stage, err))
	go func() {
		defer r.cancel(nil)
		s.serve()
	}()
	return s
}

// Err returns the first error. It waits for the end of the stream.
func (s *SinkInlet) Err() error {
	<-s.done
	return s.run.err()
}

func adapterRun(ctx context.Context, opts []Options) (*run, error) {
	var o Options
	if len(opts) > 0 {
		o = opts[0]
	}
	r := newRun(ctx, o)
	r.track.off = true
	return r, o.check()
}
