package flow_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	streams "github.com/reugn/go-streams"
	"github.com/reugn/go-streams/extension"
	extflow "github.com/reugn/go-streams/flow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
)

// TestGoStreams wires our stages with go-streams and its own flows.
func TestGoStreams(t *testing.T) {
	ctx := context.Background()
	opts := flow.Options{Allocator: checked(t), Workers: 3}
	src := flow.AsSource(ctx, numbers{Records: 30, Rows: 2}, opts)
	forked := flow.AsFlow(ctx, step{Label: "a", mode: forks, hook: jitter}, opts)
	held := flow.AsFlow(ctx, step{Label: "b", mode: holds}, opts)
	sink := &keeper{}
	end := flow.AsSink(ctx, sink, opts)
	src.
		Via(extflow.NewFilter(func(r arrow.Record) bool {
			if ids(r)[0]%3 != 0 {
				r.Release()
				return false
			}
			return true
		}, 1)).
		Via(forked).
		Via(extflow.NewThrottler(50, time.Millisecond, 4, extflow.Backpressure)).
		Via(extflow.NewMap(func(r arrow.Record) arrow.Record {
			defer r.Release()
			return r.NewSlice(1, 2)
		}, 1)).
		Via(extflow.NewPassThrough()).
		Via(held).
		To(end)
	for name, err := range map[string]error{"source": src.Err(), "forked": forked.Err(), "held": held.Err(), "sink": end.Err()} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	var want []int64
	for id := int64(1); id < 60; id += 6 {
		want = append(want, id)
	}
	if !slices.Equal(sink.ids, want) || len(sink.closes) != 1 || sink.closes[0] != nil {
		t.Errorf("got %v, want %v; closed with %v", sink.ids, want, sink.closes)
	}
}

// TestGoStreamsErrors fails each stage: that one tells, and everything ends.
func TestGoStreamsErrors(t *testing.T) {
	for _, c := range []struct {
		stage, place string
		n            int64
		want         string
	}{
		{"source", "open", 0, "numbers: an error on purpose"},
		{"source", "next", 5, "numbers: an error on purpose"},
		{"source", "close", 0, "numbers: an error on purpose"},
		{"flow", "open", 0, "a: an error on purpose"},
		{"flow", "process", 5, "a: an error on purpose"},
		{"flow", "close", 0, "a: an error on purpose"},
		{"holds", "flush", 0, "b: an error on purpose"},
		{"sink", "open", 0, "keeper: an error on purpose"},
		{"sink", "write", 5, "keeper: an error on purpose"},
		{"sink", "close", 0, "keeper: an error on purpose"},
	} {
		t.Run(c.stage+" "+c.place, func(t *testing.T) {
			ctx, opts := context.Background(), flow.Options{Allocator: checked(t), Workers: 3}
			h := func(stage string) hook {
				if stage == c.stage {
					return failing(c.place, c.n, false)
				}
				return nil
			}
			src := flow.AsSource(ctx, numbers{Records: 30, Rows: 1, hook: h("source")}, opts)
			forked := flow.AsFlow(ctx, step{Label: "a", mode: forks, hook: h("flow")}, opts)
			held := flow.AsFlow(ctx, step{Label: "b", mode: holds, hook: h("holds")}, opts)
			end := flow.AsSink(ctx, &keeper{hook: h("sink")}, opts)
			src.Via(forked).Via(held).To(end)
			for name, err := range map[string]error{"source": src.Err(), "flow": forked.Err(), "holds": held.Err(), "sink": end.Err()} {
				switch {
				case name == c.stage && (err == nil || err.Error() != c.want):
					t.Errorf("%s: the error is %v, want %s", name, err, c.want)
				case name != c.stage && err != nil:
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func TestGoStreamsCancel(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	opts := flow.Options{Allocator: checked(t), Workers: 2}
	src := flow.AsSource(ctx, endless, opts)
	forked := flow.AsFlow(ctx, step{Label: "a", mode: forks}, opts)
	end := flow.AsSink(ctx, &keeper{}, opts)
	time.AfterFunc(5*time.Millisecond, stop)
	start := time.Now()
	src.Via(forked).To(end)
	if err := src.Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("the error of the source is %v", err)
	}
	if err := errors.Join(forked.Err(), end.Err()); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if d := time.Since(start); d > leak.Patience {
		t.Errorf("it took %v", d)
	}
}

// TestGoStreamsInput feeds the adapters what is not theirs.
func TestGoStreamsInput(t *testing.T) {
	mem := checked(t)
	other := func() arrow.Record {
		b := record.NewBuilder(mem, record.Layout{Directed: true})
		return b.Record()
	}
	usual := func() arrow.Record { return record.NewBuilder(mem, record.Layout{}).Record() }
	for _, c := range []struct {
		name string
		in   []any
		want string
	}{
		{"nothing", nil, ""},
		{"a number", []any{1, usual()}, "got a int, want an arrow.Record"},
		{"a number later", []any{usual(), 1, usual()}, "got a int, want an arrow.Record"},
		{"another schema", []any{usual(), other(), usual()}, "a record has the column"},
	} {
		for _, adapter := range []string{"flow", "sink"} {
			in := make(chan any, len(c.in))
			for _, v := range c.in {
				if r, ok := v.(arrow.Record); ok {
					r.Retain()
				}
				in <- v
			}
			close(in)
			var err error
			ctx := context.Background()
			if adapter == "flow" {
				drop := opFunc(func(arrow.Record, *flow.Out) error { return nil })
				f := flow.AsFlow(ctx, drop, flow.Options{Allocator: mem})
				extension.NewChanSource(in).Via(f).To(flow.AsSink(ctx, &keeper{}))
				err = f.Err()
			} else {
				s := flow.AsSink(ctx, &keeper{}, flow.Options{Allocator: mem})
				extension.NewChanSource(in).Via(extflow.NewPassThrough()).To(s)
				err = s.Err()
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s, %s: the error is %v, want %q", c.name, adapter, err, c.want)
			}
		}
		for _, v := range c.in {
			if r, ok := v.(arrow.Record); ok {
				r.Release()
			}
		}
	}
}

// stream streams from one adapter into another.
func stream(from flow.SourceAdapter, to streams.Sink) {
	from.Via(extflow.NewPassThrough()).To(to)
}

// TestGoStreamsOptions: settings that are wrong, and rows that are refused.
func TestGoStreamsOptions(t *testing.T) {
	ctx, bad := context.Background(), flow.Options{Allocator: checked(t), Workers: -1}
	src := flow.AsSource(ctx, numbers{Records: 3, Rows: 1}, bad)
	stream(src, flow.AsSink(ctx, &keeper{}))
	const want = "option Workers is -1, want 0 or more"
	if err := src.Err(); err == nil || err.Error() != "numbers: "+want {
		t.Errorf("source: %v", err)
	}
	f := flow.AsFlow(ctx, step{Label: "a"}, bad)
	s := flow.AsSink(ctx, &keeper{}, bad)
	src = flow.AsSource(ctx, numbers{Records: 3, Rows: 1}, flow.Options{Allocator: bad.Allocator})
	src.Via(f).To(s)
	if err := f.Err(); err == nil || err.Error() != "a: "+want {
		t.Errorf("flow: %v", err)
	}
	if err := s.Err(); err == nil || err.Error() != "keeper: "+want {
		t.Errorf("sink: %v", err)
	}

	var letters []int64
	keep := flow.Options{Allocator: bad.Allocator, Workers: 3, Refused: flow.Keep, DeadLetters: func(l flow.Letter) error {
		letters = append(letters, l.Pos)
		return nil
	}}
	for _, m := range []mode{plain, forks, holds} {
		letters = nil
		sink := &keeper{}
		f = flow.AsFlow(ctx, step{Label: "a", mode: m, refuse: badIDs}, keep)
		flow.AsSource(ctx, numbers{Records: 5, Rows: 2}, keep).Via(f).To(flow.AsSink(ctx, sink, keep))
		if err := f.Err(); err != nil || !slices.Equal(letters, []int64{0, 4, 5, 9}) || len(sink.ids) != 6 {
			t.Errorf("mode %d: %v, letters %v, rows %v", m, err, letters, sink.ids)
		}
	}
}

// TestAsSourceForgets streams for long from a source with positions, without
// acknowledgements.
func TestAsSourceForgets(t *testing.T) {
	told := false
	src := flow.AsSource(context.Background(), numbers{Records: 10, Rows: 1, ack: func(int64) { told = true }}, flow.Options{Allocator: checked(t)})
	sink := &keeper{}
	stream(src, flow.AsSink(context.Background(), sink))
	if err := src.Err(); err != nil || told || len(sink.ids) != 10 {
		t.Errorf("%v, told %t, rows %v", err, told, sink.ids)
	}
}
