package flow_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// TestErrorPlaces lets every call of a user's code fail, and panic.
func TestErrorPlaces(t *testing.T) {
	errorPlaces(t, 3)
	errorPlaces(t, 1) // holding and behind on one goroutine
}

func errorPlaces(t *testing.T, workers int) {
	for _, c := range []struct {
		stage, place string
		n            int64
		opens        bool // the run gets as far as the sink
	}{
		{"numbers", "open", 0, false},
		{"numbers", "next", 0, true},
		{"numbers", "next", 12, true},
		{"numbers", "next", 30, true}, // instead of the end
		{"numbers", "close", 0, true},
		{"first", "open", 0, false},
		{"first", "process", 0, true},
		{"first", "process", 15, true},
		{"first", "close", 0, true},
		{"forked", "open", 0, false},
		{"forked", "process", 15, true},
		{"forked", "close", 0, true},
		{"holding", "open", 0, false},
		{"holding", "process", 27, true},
		{"holding", "flush", 0, true},
		{"holding", "close", 0, true},
		{"behind", "process", 15, true},
		{"behind", "close", 0, true},
		{"keeper", "open", 0, false},
		{"keeper", "write", 0, true},
		{"keeper", "write", 27, true},
		{"keeper", "close", 0, true},
	} {
		for _, how := range []string{"error", "panic", "exit"} {
			t.Run(fmt.Sprintf("%s %s %d %s, %d workers", c.stage, c.place, c.n, how, workers), func(t *testing.T) {
				mem := checked(t)
				h := func(stage string) hook {
					switch {
					case stage != c.stage:
						return nil
					case how == "exit":
						return exiting(c.place, c.n)
					}
					return failing(c.place, c.n, how == "panic")
				}
				sink := &keeper{hook: h("keeper")}
				p := flow.From(numbers{Records: 10, Rows: 3, hook: h("numbers")}).
					Via(step{Label: "first", hook: h("first")}).
					Via(step{Label: "forked", mode: forks, hook: h("forked")}).
					Via(step{Label: "holding", mode: holds, hook: h("holding")}).
					Via(step{Label: "behind", mode: forks, hook: h("behind")}).
					With(flow.Options{Allocator: mem, Workers: workers})
				err := p.To(sink).Run(context.Background())
				if c.stage != "keeper" { // and the same where the last stages have the goroutine of the run
					if alone := p.Run(context.Background()); alone == nil || errors.Is(alone, errTest) != (how != "exit") {
						t.Errorf("without a sink the error is %v", alone)
					}
				}
				var e *flow.Error
				if !errors.As(err, &e) || errors.Is(err, errTest) != (how != "exit") {
					t.Fatalf("the error is %v, want a *flow.Error around the one on purpose", err)
				}
				if e.Stage != c.stage || e.Graph != flow.NoGraph {
					t.Errorf("stage %q, graph %d, want stage %q and no graph", e.Stage, e.Graph, c.stage)
				}
				want := map[string]string{
					"error": ": an error on purpose$",
					"panic": `: panic: an error on purpose \(flow/stub_test.go:\d+(, in the record of graphs \d+ to \d+)?\)$`,
					"exit":  `: the stage has ended its goroutine by runtime.Goexit$`,
				}[how]
				if ok, _ := regexp.MatchString("^"+c.stage+want, err.Error()); !ok {
					t.Errorf("the error prints as %q, want %q", err, want)
				}
				var panicked *flow.PanicError
				if errors.As(err, &panicked) != (how == "panic") || panicked != nil && !strings.Contains(string(panicked.Stack), "failing") {
					t.Errorf("a panic: %v", panicked)
				}
				if how == "exit" {
					return
				}
				switch {
				case !c.opens && len(sink.closes) != 0:
					t.Error("the sink was closed without having been opened")
				case c.opens && len(sink.closes) != 1:
					t.Errorf("the sink was closed %d times", len(sink.closes))
				case c.opens && c.stage != "keeper" && !errors.Is(sink.closes[0], errTest):
					t.Errorf("the sink was told %v", sink.closes[0])
				case c.opens && c.place == "close" && c.stage == "keeper" && sink.closes[0] != nil:
					t.Errorf("the sink was told %v of a complete stream", sink.closes[0])
				}
			})
		}
	}
}

// TestFirstError fails many records at once: the first in the stream is the one
// to report, whichever worker was quicker.
func TestFirstError(t *testing.T) {
	mem := checked(t)
	for _, workers := range []int{1, 2, 5, 16} {
		for range 20 {
			fail := func(place string, n int64) error {
				if place == "process" && n >= 12 {
					time.Sleep(time.Duration(30-n) * 20 * time.Microsecond) // the first is the slowest
					return fmt.Errorf("record %d", n)
				}
				return nil
			}
			sink := &keeper{}
			err := flow.From(numbers{Records: 30, Rows: 1}).
				Via(step{Label: "a", mode: forks}).
				Via(step{Label: "b", mode: forks, hook: fail}).
				To(sink).With(flow.Options{Allocator: mem, Workers: workers}).Run(context.Background())
			if err == nil || err.Error() != "b: record 12" {
				t.Fatalf("%d workers: the error is %v", workers, err)
			}
			if !slices.Equal(sink.ids, upTo(len(sink.ids))) || len(sink.ids) > 12 {
				t.Fatalf("%d workers: the sink got %v", workers, sink.ids)
			}
		}
	}
}

// TestErrorNotReturned has stages that take no notice of an error.
func TestErrorNotReturned(t *testing.T) {
	for _, workers := range []int{1, 3} {
		opts := flow.Options{Allocator: checked(t), Workers: workers}
		deaf := opFunc(func(rec arrow.Record, out *flow.Out) error {
			rec.Retain()
			_ = out.Emit(rec)
			rec.Retain()
			_ = out.Emit(rec)
			return nil
		})
		err := flow.From(numbers{Records: 3, Rows: 1}).Via(deaf).
			Via(step{Label: "after", mode: forks, hook: failing("process", 1, false)}).
			With(opts).Run(context.Background())
		if !errors.Is(err, errTest) {
			t.Errorf("%d workers: an error of the stage after: %v", workers, err)
		}
		refuses := opFunc(func(rec arrow.Record, out *flow.Out) error {
			_ = out.Refuse(rec, 0, errTest)
			return nil
		})
		err = flow.From(numbers{Records: 3, Rows: 1}).Via(refuses).With(opts).Run(context.Background())
		if !errors.Is(err, errTest) {
			t.Errorf("%d workers: a refused row under Stop: %v", workers, err)
		}
	}
}

// TestNotCalledAgain: after an error of its own, or of Emit, a stage is closed
// and nothing else; so is each copy of it.
func TestNotCalledAgain(t *testing.T) {
	for _, workers := range []int{1, 4} {
		for range 10 {
			var again atomic.Bool
			src := flow.From(numbers{Records: 60, Rows: 1})
			for _, p := range []flow.Pipeline{src, src.Via(twiceAtOnce)} {
				err := p.Via(fragile{&again}).
					With(flow.Options{Allocator: checked(t), Workers: workers}).Run(context.Background())
				if !errors.Is(err, errTest) || again.Load() {
					t.Errorf("%d workers: %v; a stage that has failed was called again: %t", workers, err, again.Load())
				}
			}
		}
	}
}

// twiceAtOnce emits every record twice, whatever comes of it.
var twiceAtOnce = opFunc(func(rec arrow.Record, out *flow.Out) error {
	for range 2 {
		rec.Retain()
		_ = out.Emit(rec)
	}
	return nil
})

// fragile panics over every record from number 3 on, which takes a while.
type fragile struct{ again *atomic.Bool }

func (f fragile) Open(in *arrow.Schema) (flow.Stage, error) {
	return &fragileStage{fragile: f, schema: in}, nil
}

type fragileStage struct {
	fragile
	schema *arrow.Schema
	broken bool
}

func (s *fragileStage) Schema() *arrow.Schema { return s.schema }
func (s *fragileStage) Fork() flow.Stage      { return &fragileStage{fragile: s.fragile, schema: s.schema} }

func (s *fragileStage) Process(rec arrow.Record, out *flow.Out) error {
	if s.broken {
		s.again.Store(true)
	}
	if n := ids(rec)[0]; n >= 3 {
		if n == 3 {
			time.Sleep(time.Millisecond) // so that others fail before
		}
		s.broken = true
		panic(errTest)
	}
	rec.Retain()
	return out.Emit(rec)
}

// TestForkerThatFlushes holds rows back and forks, which no stage should; it
// then runs in one worker, by itself, and is flushed.
func TestForkerThatFlushes(t *testing.T) {
	sink := &keeper{}
	err := flow.From(numbers{Records: 20, Rows: 1}).
		Via(step{Label: "before", mode: forks}).
		Via(flushingForker{}).
		Via(step{Label: "after", mode: forks}).
		To(sink).With(flow.Options{Allocator: checked(t), Workers: 3}).Run(context.Background())
	if err != nil || !slices.Equal(sink.ids, upTo(20)) {
		t.Errorf("%v, %v", err, sink.ids)
	}
}

type flushingForker struct{}

func (flushingForker) Open(in *arrow.Schema) (flow.Stage, error) {
	return flushingFork{&holdStage{stepStage: &stepStage{schema: in}}}, nil
}

type flushingFork struct{ *holdStage }

func (s flushingFork) Fork() flow.Stage {
	return flushingFork{&holdStage{stepStage: &stepStage{schema: s.schema}}}
}

// opFunc is a stage that forks, made of a function.
type opFunc func(rec arrow.Record, out *flow.Out) error

func (opFunc) Name() string                               { return "func" }
func (f opFunc) Open(s *arrow.Schema) (flow.Stage, error) { return funcStage{f, s}, nil }

type funcStage struct {
	f      opFunc
	schema *arrow.Schema
}

func (s funcStage) Schema() *arrow.Schema                         { return s.schema }
func (s funcStage) Process(rec arrow.Record, out *flow.Out) error { return s.f(rec, out) }
func (s funcStage) Fork() flow.Stage                              { return s }

// TestBrokenStages has stages that do not keep their side of the interface.
func TestBrokenStages(t *testing.T) {
	other := func(mem memory.Allocator) arrow.Record {
		col := record.NewColumn[int64](mem)
		col.Append(1)
		a := col.Finish()
		defer a.Release()
		return array.NewRecord(arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil), []arrow.Array{a}, 1)
	}
	nums := numbers{Records: 3, Rows: 1}
	for _, c := range []struct {
		name string
		p    flow.Pipeline
		want string
	}{
		{"no source", flow.Pipeline{}, "pipeline: no source"},
		{"no reader", flow.From(brokenSource{}), "brokensource: Open returned no Reader"},
		{"no schema", flow.From(brokenSource{reader: brokenReader{}}), "brokensource: the schema is nil"},
		{"nil record", flow.From(brokenSource{reader: brokenReader{schema: arrow.NewSchema(nil, nil)}}), "brokensource: the record is nil"},
		{"other record", flow.From(brokenSource{reader: brokenReader{arrow.NewSchema(nil, nil), other}}), "brokensource: a record has the columns [x], want []"},
		{"nil operator", flow.From(nums).Via(nil), "stage: the operator is nil"},
		{"no stage", flow.From(nums).Via(brokenOp{}), "brokenop: Open returned no Stage"},
		{"stage without schema", flow.From(nums).Via(brokenOp{funcStage{}}), "brokenop: the schema is nil"},
		{"emits nil", flow.From(nums).Via(opFunc(func(_ arrow.Record, out *flow.Out) error { return out.Emit(nil) })), "func: the record is nil"},
		{"emits other columns", flow.From(nums).Via(opFunc(func(_ arrow.Record, out *flow.Out) error { return out.Emit(other(out.Allocator())) })),
			"func: a record has the columns [x], want [graph_id pos offsets neighbors]"},
		{"refuses a row that is not there", flow.From(nums).Via(opFunc(func(rec arrow.Record, out *flow.Out) error { return out.Refuse(rec, 1, errTest) })),
			"func: refused row 1 of 1: an error on purpose"},
		{"gives no reason", flow.From(nums).Via(opFunc(func(rec arrow.Record, out *flow.Out) error { return out.Refuse(rec, 0, nil) })),
			"func: graph 0: the stage gave no reason"},
		{"fork fails", flow.From(nums).Via(step{Label: "ok", mode: forks}).Via(step{Label: "forked", mode: forks, hook: failing("fork", 0, false)}), "forked: Fork returned nil"},
		{"fork panics", flow.From(nums).Via(step{Label: "forked", mode: forks, hook: failing("fork", 0, true)}), "forked: panic: an error on purpose (LINE)"},
		{"no writer", flow.From(nums).To(brokenSink{}), "brokensink: Open returned no Writer"},
		{"ack panics", flow.From(numbers{Records: 3, Rows: 1, ack: func(int64) { panic("no") }}), "numbers: panic: no (LINE)"},
		{"ack exits", flow.From(numbers{Records: 3, Rows: 1, ack: func(int64) { runtime.Goexit() }}), "numbers: the stage has ended its goroutine by runtime.Goexit"},
		{"fork exits", flow.From(nums).Via(step{Label: "forked", mode: forks, hook: exiting("fork", 0)}), "forked: the stage has ended its goroutine by runtime.Goexit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.p.With(flow.Options{Allocator: checked(t), Workers: 2}).Run(context.Background())
			if err == nil || withoutLine(err) != c.want {
				t.Errorf("the error is %v, want %s", err, c.want)
			}
		})
	}
}

// withoutLine returns the text of an error with LINE for that of a panic.
func withoutLine(err error) string {
	return regexp.MustCompile(`\w+/\w+\.go:\d+`).ReplaceAllString(err.Error(), "LINE")
}

type brokenSource struct{ reader flow.Reader }

func (s brokenSource) Open(_ context.Context, mem memory.Allocator) (flow.Reader, error) {
	if r, ok := s.reader.(brokenReader); ok && r.next != nil {
		next := r.next
		r.next = func(memory.Allocator) arrow.Record { return next(mem) }
		return r, nil
	}
	return s.reader, nil
}

type brokenReader struct {
	schema *arrow.Schema
	next   func(memory.Allocator) arrow.Record
}

func (r brokenReader) Schema() *arrow.Schema { return r.schema }
func (brokenReader) Close() error            { return nil }
func (r brokenReader) Next(context.Context) (arrow.Record, error) {
	if r.next == nil {
		return nil, nil
	}
	return r.next(nil), nil
}

type brokenOp struct{ stage flow.Stage }

func (o brokenOp) Open(*arrow.Schema) (flow.Stage, error) { return o.stage, nil }

type brokenSink struct{}

func (brokenSink) Open(*arrow.Schema) (flow.Writer, error) { return nil, nil }

func TestOptionErrors(t *testing.T) {
	for _, c := range []struct {
		o    flow.Options
		want string
	}{
		{flow.Options{Workers: -1}, "pipeline: option Workers is -1, want 0 or more"},
		{flow.Options{Buffer: -2}, "pipeline: option Buffer is -2, want 0 to 65536"},
		{flow.Options{Buffer: 1 << 62}, "pipeline: option Buffer is 4611686018427387904, want 0 to 65536"},
		{flow.Options{Refused: 7}, "pipeline: option Refused is Policy(7), want Stop, Skip or Keep"},
		{flow.Options{Refused: flow.Keep}, "pipeline: option Refused is Keep, but DeadLetters is nil"},
	} {
		if err := flow.From(numbers{}).With(c.o).Run(context.Background()); err == nil || err.Error() != c.want {
			t.Errorf("the error is %v, want %s", err, c.want)
		}
		end := flow.AsSink(context.Background(), &keeper{}, c.o)
		close(end.In())
		if err := end.Err(); err == nil || !strings.HasSuffix(err.Error(), strings.TrimPrefix(c.want, "pipeline")) {
			t.Errorf("the error of an adapter is %v, want %s", err, c.want)
		}
	}
}

// TestErrorText covers what the other tests do not print.
func TestErrorText(t *testing.T) {
	e := &flow.Error{Stage: "normalize", Graph: 57, Err: io.ErrUnexpectedEOF}
	if e.Error() != "normalize: graph 57: unexpected EOF" || !errors.Is(e, io.ErrUnexpectedEOF) {
		t.Errorf("%v", e)
	}
	p := &flow.PanicError{Value: 3}
	if p.Error() != "panic: 3" || p.Unwrap() != nil {
		t.Errorf("%v", p)
	}
	if s := fmt.Sprint(flow.Stop, flow.Skip, flow.Keep); s != "stop skip keep" {
		t.Error(s)
	}
}
