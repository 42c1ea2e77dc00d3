package flow_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/reugn/go-streams/extension"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
)

// TestOnlyEOFEnds breaks a source off with errors that wrap io.EOF: none of them
// is the end of the stream.
func TestOnlyEOFEnds(t *testing.T) {
	wrapped := fmt.Errorf("connection lost: %w", io.EOF)
	for name, next := range map[string]func() error{
		"wraps":           func() error { return wrapped },
		"joins":           func() error { return errors.Join(errTest, io.EOF) },
		"panics":          func() error { panic(io.EOF) },
		"panics, wrapped": func() error { panic(wrapped) },
	} {
		h := func(place string, n int64) error {
			if place == "next" && n == 3 {
				return next()
			}
			return nil
		}
		var acks []int64
		sink := &keeper{}
		err := flow.From(numbers{Records: 100, Rows: 1, hook: h, ack: func(pos int64) { acks = append(acks, pos) }}).To(sink).
			With(flow.Options{Allocator: checked(t)}).Run(context.Background())
		if err == nil || !strings.HasPrefix(err.Error(), "numbers: ") {
			t.Errorf("%s: the error is %v", name, err)
		}
		if len(sink.closes) != 1 || sink.closes[0] == nil || len(acks) > 3 {
			t.Errorf("%s: closed with %v, acknowledged %v", name, sink.closes, acks)
		}
	}
}

// TestAckMayAsk calls Stats from Ack.
func TestAckMayAsk(t *testing.T) {
	var run *flow.Running
	started := make(chan struct{})
	wrong := 0
	src := numbers{Records: 50, Rows: 2, ack: func(pos int64) {
		<-started
		if done := run.Stats().Done; done < pos {
			wrong++
		}
	}}
	run = flow.From(src).Via(step{Label: "a", mode: forks}).With(flow.Options{Allocator: checked(t)}).Start(context.Background())
	close(started)
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	select {
	case err := <-ended:
		if err != nil || wrong > 0 {
			t.Errorf("%v; %d times Done was below what is acknowledged", err, wrong)
		}
	case <-time.After(time.Minute):
		t.Fatal("Ack and Stats wait for each other")
	}
}

// TestExitElsewhere ends the goroutine in code that stages call downstream, and
// in that of dead letters.
func TestExitElsewhere(t *testing.T) {
	for _, m := range []mode{plain, forks, holds} {
		err := flow.From(numbers{Records: 20, Rows: 2}).
			Via(step{Label: "a", mode: m, refuse: badIDs}).
			Via(step{Label: "b", mode: m}).
			With(flow.Options{Allocator: checked(t), Workers: 3, Refused: flow.Keep, DeadLetters: func(flow.Letter) error {
				exiting("", 0)("", 0)
				return nil
			}}).Run(context.Background())
		if err == nil || err.Error() != "dead letters: the stage has ended its goroutine by runtime.Goexit" {
			t.Errorf("mode %d: the error is %v", m, err)
		}
	}
}

// TestPanicNamesGraph: one line says which stage, which graph and where.
func TestPanicNamesGraph(t *testing.T) {
	at := func(row int) flow.Operator {
		return opFunc(func(rec arrow.Record, out *flow.Out) error {
			out.Row(row)
			if ids(rec)[0] == 6 {
				panic("two\nlines")
			}
			rec.Retain()
			return out.Emit(rec)
		})
	}
	for _, c := range []struct {
		rows, row int
		want      string
	}{
		{3, 2, "func: graph 8: panic: two lines (LINE)"},
		{3, -1, "func: panic: two lines (LINE, in the record of graphs 6 to 8)"},
		{1, -1, "func: graph 6: panic: two lines (LINE)"},
	} {
		err := flow.From(numbers{Records: 10, Rows: c.rows}).Via(at(c.row)).With(flow.Options{Allocator: checked(t)}).Run(context.Background())
		if err == nil || withoutLine(err) != c.want || !strings.Contains(err.Error(), "flow/end_test.go:") {
			t.Errorf("the error is %v, want %s", err, c.want)
		}
	}
}

// TestErrorRow: an error that Process returns names the graph the stage is at.
func TestErrorRow(t *testing.T) {
	op := opFunc(func(_ arrow.Record, out *flow.Out) error {
		out.Row(1)
		return errTest
	})
	err := flow.From(numbers{Records: 2, Rows: 3}).Via(op).With(flow.Options{Allocator: checked(t)}).Run(context.Background())
	if err == nil || err.Error() != "func: graph 1: an error on purpose" {
		t.Errorf("the error is %v", err)
	}
}

// TestFailedCall: of a call that fails nothing is left, neither what it has
// emitted nor its letters; what came before stays.
func TestFailedCall(t *testing.T) {
	for _, workers := range []int{1, 3} {
		letters := 0
		sink := &keeper{}
		op := opFunc(func(rec arrow.Record, out *flow.Out) error {
			if err := out.Emit(rec.NewSlice(0, 1)); err != nil {
				return err
			}
			if ids(rec)[0] < 9 {
				return nil
			}
			if err := out.Refuse(rec, 1, errTest); err != nil {
				return err
			}
			return errTest
		})
		err := flow.From(numbers{Records: 20, Rows: 3}).Via(op).To(sink).With(flow.Options{
			Allocator: checked(t), Workers: workers, Refused: flow.Keep, DeadLetters: func(flow.Letter) error { letters++; return nil },
		}).Run(context.Background())
		if !errors.Is(err, errTest) || letters > 0 || len(sink.ids) > 3 || !slices.Equal(sink.ids, []int64{0, 3, 6}[:len(sink.ids)]) {
			t.Errorf("%d workers: %v, %d letters, rows %v", workers, err, letters, sink.ids)
		}
	}
}

// TestNoDoublePrefix: a package that is called like its stage.
func TestNoDoublePrefix(t *testing.T) {
	e := &flow.Error{Stage: "parquet", Graph: flow.NoGraph, Err: errors.New("parquet: no footer")}
	if e.Error() != "parquet: no footer" {
		t.Error(e)
	}
}

// TestIdleAdapters waits for the end of adapters whose upstream gives nothing
// any more, and does not end.
func TestIdleAdapters(t *testing.T) {
	for _, records := range []int{0, 1} {
		mem := checked(t)
		ctx, stop := context.WithCancel(context.Background())
		feed := func() chan any {
			in := make(chan any, 1)
			if records > 0 {
				in <- record.NewBuilder(mem, record.Layout{}).Record()
			}
			return in
		}
		in, in2 := feed(), feed()
		f := flow.AsFlow(ctx, step{Label: "a", mode: forks}, flow.Options{Allocator: mem, Workers: 2})
		held := flow.AsFlow(ctx, step{Label: "b", mode: holds}, flow.Options{Allocator: mem})
		end := flow.AsSink(ctx, &keeper{}, flow.Options{Allocator: mem})
		s := flow.AsSink(ctx, &keeper{}, flow.Options{Allocator: mem})
		go extension.NewChanSource(in).Via(f).Via(held).To(end)
		go func() {
			for v := range in2 {
				s.In() <- v
			}
			close(s.In())
		}()
		time.Sleep(20 * time.Millisecond)
		stop()
		start := time.Now()
		for name, err := range map[string]error{"forks": f.Err(), "holds": held.Err(), "end": end.Err(), "sink": s.Err()} {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: the error is %v", name, err)
			}
		}
		if d := time.Since(start); d > leak.Patience {
			t.Errorf("it took %v", d)
		}
		// What comes afterwards is released.
		in <- record.NewBuilder(mem, record.Layout{}).Record()
		in2 <- record.NewBuilder(mem, record.Layout{}).Record()
		close(in)
		close(in2)
		left := mem.(*memory.CheckedAllocator)
		for start := time.Now(); left.CurrentAlloc() > 0 && time.Since(start) < leak.Patience; {
			time.Sleep(time.Millisecond)
		}
	}
}

// TestAsSourceUnread ends while its output is not read.
func TestAsSourceUnread(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	src := flow.AsSource(ctx, endless, flow.Options{Allocator: checked(t)})
	out := src.Out()
	time.Sleep(10 * time.Millisecond)
	stop()
	start := time.Now()
	if err := src.Err(); !errors.Is(err, context.Canceled) || time.Since(start) > leak.Patience {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	for v := range out {
		v.(arrow.Record).Release()
	}
}
