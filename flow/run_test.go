package flow_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
)

// jitter makes workers overtake each other.
func jitter(place string, n int64) error {
	if place == "process" {
		time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
	}
	return nil
}

func TestOrder(t *testing.T) {
	for _, workers := range []int{1, 2, 5, 16} {
		sink := &keeper{}
		err := flow.From(numbers{Records: 100, Rows: 2}).
			Via(step{Label: "a", mode: forks, hook: jitter}).
			Via(step{Label: "b", mode: forks, hook: jitter}).
			Via(step{Label: "c"}).
			Via(step{Label: "d", mode: forks, hook: jitter}).
			To(sink).With(flow.Options{Allocator: checked(t), Workers: workers}).Run(context.Background())
		if err != nil || !slices.Equal(sink.ids, upTo(200)) {
			t.Errorf("%d workers: %v, %v", workers, err, sink.ids)
		}
	}
}

// TestOneGoroutine lets a stage that holds rows to the end, and stages behind it that
// can be forked, tell which goroutine calls them.
func TestOneGoroutine(t *testing.T) {
	var ids []string
	tell := func(string, int64) error {
		id, _, _ := strings.Cut(string(debug.Stack()), "[")
		ids = append(ids, id)
		return nil
	}
	sink := &keeper{}
	err := flow.From(numbers{Records: 9, Rows: 2}).
		Via(step{Label: "a", mode: holds, hook: tell}).
		Via(step{Label: "b", mode: forks, hook: tell}).
		Via(step{Label: "c", mode: forks, hook: tell}).
		To(sink).With(flow.Options{Allocator: checked(t), Workers: 1}).Run(context.Background())
	slices.Sort(ids)
	if err != nil || !slices.Equal(sink.ids, upTo(18)) || len(slices.Compact(ids)) != 2 {
		t.Errorf("%v; rows %v; goroutines %q, want one that opens the stages and one that runs them", err, sink.ids, slices.Compact(ids))
	}
}

// TestSlowSink counts how far the source runs ahead of a sink that has stopped
// to take records. Each of the three stages before the sink has a buffer, one
// record in hand, and one on the way out; workers have one each, and one waits.
func TestSlowSink(t *testing.T) {
	for _, c := range []struct{ workers, buffer, most int }{
		{1, 1, 3 * 3}, {1, 4, 3 * 6}, {4, 1, 3*3 + 5}, {4, 4, 3*6 + 5},
	} {
		var read atomic.Int64
		src := numbers{Records: 1000, Rows: 1, hook: func(place string, n int64) error {
			if place == "next" {
				read.Store(n)
			}
			return nil
		}}
		stop := make(chan struct{})
		sink := &keeper{hook: func(place string, n int64) error {
			if place == "write" && n == 100 {
				<-stop
			}
			return nil
		}}
		run := flow.From(src).Via(step{Label: "a", mode: forks}).Via(step{Label: "b"}).To(sink).
			With(flow.Options{Allocator: checked(t), Workers: c.workers, Buffer: c.buffer}).Start(context.Background())
		still := int64(-1)
		for still != read.Load() || still < int64(100+c.buffer) {
			still = read.Load()
			time.Sleep(20 * time.Millisecond)
		}
		ahead := int(still - 100)
		close(stop)
		if err := run.Wait(); err != nil || sink.count() != 1000 {
			t.Fatal(err, sink.count())
		}
		if ahead > c.most {
			t.Errorf("%d workers, buffer %d: the source ran %d records ahead, want at most %d", c.workers, c.buffer, ahead, c.most)
		}
	}
}

// endless is a source without an end.
var endless = numbers{Records: 1 << 40, Rows: 1}

func TestCancel(t *testing.T) {
	never := func(ctx context.Context) flow.Pipeline { return flow.From(endless).Via(step{Label: "a", mode: forks}) }
	for _, c := range []struct {
		name string
		p    func(ctx context.Context) flow.Pipeline
	}{
		{"forks", never},
		{"plain", func(ctx context.Context) flow.Pipeline { return never(ctx).Via(step{Label: "b"}) }},
		{"holds", func(ctx context.Context) flow.Pipeline { return never(ctx).Via(step{Label: "b", mode: holds}) }},
		{"blocked in a stage", func(ctx context.Context) flow.Pipeline {
			return never(ctx).Via(opFunc(func(rec arrow.Record, out *flow.Out) error {
				<-out.Context().Done()
				return out.Context().Err()
			}))
		}},
		{"blocked in the source", func(ctx context.Context) flow.Pipeline {
			return flow.From(numbers{Records: 5, Rows: 1, hook: func(place string, n int64) error {
				if place == "next" && n == 3 {
					<-ctx.Done()
					return ctx.Err()
				}
				return nil
			}})
		}},
		{"blocked in the sink", func(ctx context.Context) flow.Pipeline {
			return never(ctx).To(&keeper{hook: func(place string, n int64) error {
				if place == "write" {
					<-ctx.Done()
				}
				return nil
			}})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, workers := range []int{1, 4} {
				ctx, stop := context.WithCancel(context.Background())
				run := c.p(ctx).With(flow.Options{Allocator: checked(t), Workers: workers}).Start(ctx)
				time.Sleep(5 * time.Millisecond)
				stop()
				start := time.Now()
				if err := run.Wait(); !errors.Is(err, context.Canceled) {
					t.Errorf("the error is %v", err)
				}
				if d := time.Since(start); d > leak.Patience {
					t.Errorf("Run went on for %v", d)
				}
			}
		})
	}
	t.Run("before the start", func(t *testing.T) {
		ctx, stop := context.WithCancel(context.Background())
		stop()
		err := flow.From(endless).With(flow.Options{Allocator: checked(t)}).Run(ctx)
		if err == nil || err.Error() != "run: context canceled" {
			t.Errorf("the error is %v", err)
		}
	})
	t.Run("deadline", func(t *testing.T) {
		ctx, stop := context.WithTimeout(context.Background(), 5*time.Millisecond)
		defer stop()
		if err := flow.From(endless).With(flow.Options{Allocator: checked(t)}).Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
	})
	t.Run("cause", func(t *testing.T) {
		ctx, stop := context.WithCancelCause(context.Background())
		stop(errTest)
		if err := flow.From(endless).With(flow.Options{Allocator: checked(t)}).Run(ctx); !errors.Is(err, errTest) {
			t.Errorf("the error is %v", err)
		}
	})
	t.Run("after the end", func(t *testing.T) {
		ctx, stop := context.WithCancel(context.Background())
		run := flow.From(numbers{Records: 3, Rows: 1}).With(flow.Options{Allocator: checked(t)}).Start(ctx)
		err := run.Wait()
		stop()
		if err != nil || run.Wait() != nil {
			t.Errorf("the error is %v", err)
		}
	})
}

// TestReuse runs one pipeline twice, also at once, and two with one beginning.
func TestReuse(t *testing.T) {
	mem := checked(t)
	begin := flow.From(numbers{Records: 10, Rows: 3}).
		Via(step{Label: "a", mode: forks}).Via(step{Label: "b"}).Via(step{Label: "c"}). // leaves room in a slice of 4
		With(flow.Options{Allocator: mem, Workers: 2})
	even := func(id int64) error {
		if id%2 == 1 {
			return errTest
		}
		return nil
	}
	// Both branches append to the beginning.
	var all, evens keeper
	a := begin.Via(step{Label: "all", mode: holds}).To(&all)
	b := begin.Via(step{Label: "evens", refuse: even}).To(&evens).With(flow.Options{Allocator: mem, Refused: flow.Skip})
	plan := a.String()
	for range 2 {
		all.ids, evens.ids = nil, nil
		var wg sync.WaitGroup
		for _, p := range []flow.Pipeline{a, b} {
			wg.Go(func() {
				if err := p.Run(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if !slices.Equal(all.ids, upTo(30)) {
			t.Errorf("the first branch: %v", all.ids)
		}
		if len(evens.ids) != 15 || evens.ids[14] != 28 {
			t.Errorf("the second branch: %v", evens.ids)
		}
	}
	if a.String() != plan {
		t.Errorf("after running the plan is\n%v\nwant\n%v", a, plan)
	}
	all.ids = nil
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := a.Run(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(all.ids) != 90 {
		t.Errorf("three runs at once: %d rows", len(all.ids))
	}
}

func TestEmptyStream(t *testing.T) {
	for _, src := range []numbers{{}, {Records: 0, Rows: 5}} {
		sink := &keeper{}
		run := flow.From(src).Via(step{Label: "a", mode: forks}).Via(step{Label: "b", mode: holds}).
			To(sink).With(flow.Options{Allocator: checked(t), Workers: 3}).Start(context.Background())
		if err := run.Wait(); err != nil || len(sink.ids) != 0 || len(sink.closes) != 1 || sink.closes[0] != nil {
			t.Errorf("%v, %+v", err, sink)
		}
		if s := run.Stats(); s.Done != -1 {
			t.Errorf("the watermark is %d", s.Done)
		}
	}
}

func TestStats(t *testing.T) {
	third := func(id int64) error {
		if id%3 == 0 {
			return errTest
		}
		return nil
	}
	for _, workers := range []int{1, 4} {
		run := flow.From(numbers{Records: 10, Rows: 6}).
			Via(step{Label: "a", mode: forks, refuse: third}).
			Via(step{Label: "a", mode: forks, hook: jitter}).
			Via(step{Label: "holding", mode: holds}).
			With(flow.Options{Allocator: checked(t), Workers: workers, Refused: flow.Skip}).Start(context.Background())
		if err := run.Wait(); err != nil {
			t.Fatal(err)
		}
		s := run.Stats()
		want := []flow.StageStats{
			{Stage: "numbers", RecordsOut: 10, RowsOut: 60},
			{Stage: "a", RecordsIn: 10, RowsIn: 60, RecordsOut: 20, RowsOut: 40, Refused: 20},
			{Stage: "a 2", RecordsIn: 20, RowsIn: 40, RecordsOut: 20, RowsOut: 40},
			{Stage: "holding", RecordsIn: 20, RowsIn: 40, RecordsOut: 20, RowsOut: 40},
			{Stage: "discard", RecordsIn: 20, RowsIn: 40},
		}
		if len(s.Stages) != len(want) || s.Done != 59 || s.Read != 59 {
			t.Fatalf("%d workers:\n%v", workers, s)
		}
		for i, w := range want {
			g := s.Stages[i]
			if i < len(want)-1 && g.BytesOut == 0 {
				t.Errorf("%s: no bytes", g.Stage)
			}
			if g.Busy < 0 || g.Waiting < 0 || g.Blocked < 0 {
				t.Errorf("%s: negative times: %+v", g.Stage, g)
			}
			if n := min(g.Refused, 8); len(g.Letters) != int(n) {
				t.Errorf("%s: %d letters, want %d", g.Stage, len(g.Letters), n)
			}
			for _, l := range g.Letters {
				if l.Stage != "a" || l.Graph%3 != 0 || l.Pos != l.Graph || l.Err != errTest || l.Row != nil {
					t.Errorf("a letter is %+v", l)
				}
			}
			g.BytesOut, g.Busy, g.Waiting, g.Blocked, g.Letters = 0, 0, 0, 0, nil
			if !reflect.DeepEqual(g, w) {
				t.Errorf("%d workers: %+v, want %+v", workers, g, w)
			}
		}
	}
}

// TestStatsMeanwhile asks a run that is at work.
func TestStatsMeanwhile(t *testing.T) {
	run := flow.From(numbers{Records: 200, Rows: 1}).Via(step{Label: "a", mode: forks, hook: jitter}).
		With(flow.Options{Allocator: checked(t), Workers: 2}).Start(context.Background())
	done := make(chan error)
	go func() { done <- run.Wait() }()
	last := int64(-1)
	for {
		select {
		case err := <-done:
			if err != nil || run.Stats().Done != 199 {
				t.Error(err, run.Stats().Done)
			}
			return
		default:
			s := run.Stats()
			if s.Done < last {
				t.Errorf("the watermark fell from %d to %d", last, s.Done)
			}
			last = s.Done
		}
	}
}

// TestBusy charges each stage of a chain for its own time.
func TestBusy(t *testing.T) {
	sleep := func(d time.Duration) hook {
		return func(place string, n int64) error {
			if place == "process" {
				time.Sleep(d)
			}
			return nil
		}
	}
	synctest.Test(t, func(t *testing.T) {
		run := flow.From(numbers{Records: 10, Rows: 1}).
			Via(step{Label: "slow", mode: forks, hook: sleep(4 * time.Millisecond)}).
			Via(step{Label: "quick", mode: forks}).
			Via(step{Label: "slower", mode: forks, hook: sleep(8 * time.Millisecond)}).
			With(flow.Options{Allocator: checked(t), Workers: 1}).Start(context.Background())
		if err := run.Wait(); err != nil {
			t.Fatal(err)
		}
		for i, want := range []time.Duration{0, 40 * time.Millisecond, 0, 80 * time.Millisecond, 0} {
			if s := run.Stats().Stages[i]; s.Busy != want {
				t.Errorf("%s is busy for %v, want %v", s.Stage, s.Busy, want)
			}
		}
	})
}

// Each calls its function with the records in order, and its error ends the run with the name of the sink.
func TestEach(t *testing.T) {
	mem := flowtest.Mem(t)
	recs := flowtest.Sample(mem)
	defer record.Release(recs)
	rows, ends := int64(0), errors.New("enough")
	err := flow.From(flow.Records{Records: recs}).With(flow.Options{Allocator: mem}).To(flow.Each("take", func(_ context.Context, rec arrow.Record) error {
		if rows += rec.NumRows(); rows > recs[0].NumRows() {
			return ends
		}
		return nil
	})).Run(t.Context())
	var stage *flow.Error
	if !errors.Is(err, ends) || !errors.As(err, &stage) || stage.Stage != "take" || rows != recs[0].NumRows()+recs[1].NumRows() {
		t.Errorf("%v after %d rows", err, rows)
	}
}
