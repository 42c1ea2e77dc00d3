package flow_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
)

// vault is a sink of which a record is durable when durable says so.
type vault struct {
	keeper
	records int64
	// durable returns how many of the records are safe; closed tells whether
	// Close has been called.
	durable func(written int64, closed bool) int64
	closed  bool
}

func (v *vault) Open(*arrow.Schema) (flow.Writer, error) { return v, nil }

func (v *vault) Write(ctx context.Context, rec arrow.Record) error {
	v.records++
	return v.keeper.Write(ctx, rec)
}

func (v *vault) Durable() int64 { return v.durable(v.records, v.closed) }

func (v *vault) Close(failed error) error {
	v.closed = true
	return v.keeper.Close(failed)
}

// TestDurable acknowledges what the writer says is safe, and nothing else: not
// what was only written, and not the rest before Close has made it safe.
func TestDurable(t *testing.T) {
	parts := func(written int64, _ bool) int64 { return written / 4 * 4 }
	for _, c := range []struct {
		name    string
		durable func(int64, bool) int64
		hook    hook
		want    []int64 // acknowledged
		fails   bool
	}{
		{"at once", func(n int64, _ bool) int64 { return n }, nil, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, false},
		{"in parts", func(n int64, closed bool) int64 {
			if closed {
				return n
			}
			return n / 4 * 4
		}, nil, []int64{3, 7, 9}, false},
		{"at the end", func(n int64, closed bool) int64 {
			if closed {
				return n
			}
			return 0
		}, nil, []int64{9}, false},
		{"never", func(int64, bool) int64 { return 0 }, nil, nil, false},
		{"not the last part", parts, nil, []int64{3, 7}, false},
		{"more than there is", func(n int64, _ bool) int64 { return n + 100 }, nil, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, false},
		{"Write fails", parts, failing("write", 6, false), []int64{3}, true},
		{"Close fails", parts, failing("close", 0, false), []int64{3, 7}, true},
		{"Close panics", parts, failing("close", 0, true), []int64{3, 7}, true},
		{"Close ends the goroutine", parts, exiting("close", 0), []int64{3, 7}, true},
		{"Durable panics", func(n int64, _ bool) int64 {
			if n == 7 {
				panic(errTest)
			}
			return n / 4 * 4
		}, nil, []int64{3}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, via := range []flow.Operator{step{Label: "a", mode: forks}, step{Label: "a", mode: plain}} {
				var acks []int64
				src := numbers{Records: 10, Rows: 1, ack: func(pos int64) { acks = append(acks, pos) }}
				sink := &vault{durable: c.durable, keeper: keeper{hook: c.hook}}
				run := flow.From(src).Via(via).To(sink).With(flow.Options{Allocator: checked(t), Workers: 2}).Start(context.Background())
				if err := run.Wait(); (err != nil) != c.fails || !slices.Equal(acks, c.want) {
					t.Errorf("%v; acknowledged %v, want %v", err, acks, c.want)
				}
				if want := slices.Max(append(c.want, -1)); run.Stats().Done != want {
					t.Errorf("Done is %d, want %d", run.Stats().Done, want)
				}
			}
		})
	}
}

// TestCloseBeforeTheRest: a writer without Durable may fail in Close. Rows that are not
// accounted for are then not acknowledged.
func TestCloseBeforeTheRest(t *testing.T) {
	for _, fails := range []bool{false, true} {
		var acks []int64
		src := numbers{Records: 4, Rows: 1, ack: func(pos int64) { acks = append(acks, pos) }}
		sink := &keeper{}
		if fails {
			sink.hook = failing("close", 0, false)
		}
		err := flow.From(src).Via(unpositioned{}).To(sink).With(flow.Options{Allocator: checked(t)}).Run(context.Background())
		if (err != nil) != fails || len(acks) == 0 != fails {
			t.Errorf("%v, acknowledged %v", err, acks)
		}
	}
}

// TestBareRecordsOfADurableSink: a record that an operator makes without positions keeps the claims of its input. The rows are acknowledged when
// the record is durable, also behind a second operator, and not before.
func TestBareRecordsOfADurableSink(t *testing.T) {
	for _, operators := range [][]flow.Operator{{unpositioned{}}, {unpositioned{}, step{Label: "a", mode: forks}}, {step{Label: "a", mode: plain}, unpositioned{}, step{Label: "b", mode: plain}}} {
		var acks []int64
		src := numbers{Records: 10, Rows: 2, ack: func(pos int64) { acks = append(acks, pos) }}
		sink := &vault{durable: func(n int64, closed bool) int64 {
			if closed {
				return n
			}
			return n / 4 * 4
		}}
		p := flow.From(src)
		for _, op := range operators {
			p = p.Via(op)
		}
		run := p.To(sink).With(flow.Options{Allocator: checked(t), Workers: 2}).Start(context.Background())
		if err := run.Wait(); err != nil || !slices.Equal(acks, []int64{7, 15, 19}) || run.Stats().Done != 19 {
			t.Errorf("%d operators: %v; acknowledged %v, done %d", len(operators), err, acks, run.Stats().Done)
		}
	}
}

// slow is a source that hands out a record whenever it is told to.
func slow(next <-chan struct{}, records int) flow.Source {
	return numbers{Records: records, Rows: 1, hook: func(place string, _ int64) error {
		if place == "next" {
			<-next
		}
		return nil
	}}
}

// patient holds rows, as a stage or a writer, until a time after the first.
type patient struct {
	wait    time.Duration
	hook    hook
	mu      sync.Mutex
	busy    bool // in a call
	overlap bool // two calls at once
	expired []time.Duration
}

type patientStage struct {
	*patient
	holdStage
	since time.Time
}

func (p *patient) Open(in *arrow.Schema) (flow.Stage, error) {
	return &patientStage{patient: p, holdStage: holdStage{stepStage: &stepStage{schema: in}}}, nil
}

func (s *patientStage) within(f func() error) error {
	s.mu.Lock()
	s.overlap = s.overlap || s.busy
	s.busy = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.busy = false
		s.mu.Unlock()
	}()
	return f()
}

func (s *patientStage) Process(rec arrow.Record, out *flow.Out) error {
	return s.within(func() error {
		if len(s.held) == 0 {
			s.since = time.Now()
		}
		return s.holdStage.Process(rec, out)
	})
}

func (s *patientStage) Flush(out *flow.Out) error {
	return s.within(func() error { return s.holdStage.Flush(out) })
}

func (s *patientStage) Deadline() time.Time {
	if len(s.held) == 0 {
		return time.Time{}
	}
	return s.since.Add(s.wait)
}

func (s *patientStage) Expire(out *flow.Out) error {
	return s.within(func() error {
		s.expired = append(s.expired, time.Since(s.since))
		if err := s.patient.hook.at("expire", 0); err != nil {
			return err
		}
		return s.holdStage.Flush(out)
	})
}

// TestTimedStage lets rows come once in 10 s into a stage that waits 25 s.
func TestTimedStage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := checked(t)
		next := make(chan struct{})
		op := &patient{wait: 25 * time.Second}
		sink := &keeper{}
		go func() {
			for range 7 {
				time.Sleep(10 * time.Second)
				next <- struct{}{}
			}
			time.Sleep(1000 * time.Second)
			close(next)
		}()
		run := flow.From(slow(next, 7)).Via(op).To(sink).With(flow.Options{Allocator: mem}).Start(context.Background())
		time.Sleep(36 * time.Second)
		synctest.Wait()
		if n := sink.count(); n != 3 {
			t.Errorf("after 36 s %d rows are through, want 3", n)
		}
		time.Sleep(100 * time.Second)
		synctest.Wait()
		if n := sink.count(); n != 7 {
			t.Errorf("before the end %d rows are through, want 7", n)
		}
		if err := run.Wait(); err != nil || !slices.Equal(sink.ids, upTo(7)) {
			t.Errorf("%v, %v", err, sink.ids)
		}
		for _, d := range op.expired {
			if d < op.wait || d > op.wait+10*time.Millisecond {
				t.Errorf("Expire after %v, want %v", op.expired, op.wait)
			}
		}
		if op.overlap || len(op.expired) != 3 {
			t.Errorf("Expire was called %d times, want 3; two calls at once: %t", len(op.expired), op.overlap)
		}
	})
}

// TestTimedStageFails fails, panics and ends its goroutine in Expire.
func TestTimedStageFails(t *testing.T) {
	for _, h := range []hook{failing("expire", 0, false), failing("expire", 0, true), exiting("expire", 0)} {
		synctest.Test(t, func(t *testing.T) {
			mem := checked(t)
			next := make(chan struct{})
			go func() {
				next <- struct{}{}
				time.Sleep(time.Minute)
				close(next)
			}()
			var e *flow.Error
			err := flow.From(slow(next, 1)).Via(&patient{wait: time.Second, hook: h}).With(flow.Options{Allocator: mem}).Run(context.Background())
			if !errors.As(err, &e) || e.Stage != "patient" {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// press is a timed writer that makes what it has durable when time has passed.
type press struct {
	keeper
	since         time.Time
	wait          time.Duration
	written, safe int64
	stuck         bool // leaves its deadline in the past
}

func (p *press) Open(*arrow.Schema) (flow.Writer, error) { return p, nil }

func (p *press) Write(ctx context.Context, rec arrow.Record) error {
	if p.written == p.safe {
		p.since = time.Now()
	}
	p.written++
	return p.keeper.Write(ctx, rec)
}

func (p *press) Deadline() time.Time {
	if p.written == p.safe {
		return time.Time{}
	}
	return p.since.Add(p.wait)
}

func (p *press) Expire(ctx context.Context) error {
	if !p.stuck {
		p.safe = p.written
	}
	return ctx.Err()
}

func (p *press) Durable() int64 { return p.safe }

// TestTimedWriter acknowledges while nothing comes in.
func TestTimedWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := checked(t)
		next := make(chan struct{})
		sink := &press{wait: time.Minute}
		src := slow(next, 2).(numbers)
		var low atomic.Int64
		low.Store(-1)
		src.ack = low.Store
		run := flow.From(src).To(sink).With(flow.Options{Allocator: mem}).Start(context.Background())
		next <- struct{}{}
		next <- struct{}{}
		synctest.Wait()
		if low.Load() != -1 {
			t.Errorf("%d is acknowledged at once", low.Load())
		}
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if low.Load() != 1 {
			t.Errorf("%d is acknowledged after a minute, want 1", low.Load())
		}
		close(next)
		if err := run.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// TestTimedWriterStuck has a deadline that stays in the past, which must not
// keep records from coming in.
func TestTimedWriterStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := make(chan struct{})
		sink := &press{stuck: true}
		run := flow.From(slow(next, 50)).To(sink).With(flow.Options{Allocator: checked(t)}).Start(context.Background())
		for range 50 {
			time.Sleep(time.Second)
			next <- struct{}{}
		}
		close(next)
		if err := run.Wait(); err != nil || sink.count() != 50 {
			t.Errorf("%v, %d rows", err, sink.count())
		}
	})
}
