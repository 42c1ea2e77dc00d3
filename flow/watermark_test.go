package flow_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// journal notes what leaves the pipeline and what the source is told.
type journal struct {
	keeper
	acks []int64
	// early holds the positions that were acknowledged before this many rows
	// up to them had been written.
	early []int64
	want  func(pos int64) int
}

func (j *journal) ack(pos int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for _, id := range j.ids {
		if id <= pos {
			n++
		}
	}
	if n < j.want(pos) {
		j.early = append(j.early, pos)
	}
	j.acks = append(j.acks, pos)
}

// TestWatermark runs pipelines that lose, hold, repeat and reorder rows. Every
// one acknowledges in rising order, not before the rows that will be written
// have been, and at the end everything.
func TestWatermark(t *testing.T) {
	all := func(pos int64) int { return int(pos) + 1 }
	good := func(pos int64) (n int) {
		for id := range pos + 1 {
			if badIDs(id) == nil {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		name string
		via  func(p flow.Pipeline) flow.Pipeline
		want func(pos int64) int
	}{
		{"nothing between", func(p flow.Pipeline) flow.Pipeline { return p }, all},
		{"workers", func(p flow.Pipeline) flow.Pipeline {
			return p.Via(step{Label: "a", mode: forks, hook: jitter}).Via(step{Label: "b", mode: plain})
		}, all},
		{"holds", func(p flow.Pipeline) flow.Pipeline { return p.Via(step{Label: "a", mode: holds}) }, all},
		{"refuses", func(p flow.Pipeline) flow.Pipeline {
			return p.Via(step{Label: "a", mode: forks, hook: jitter, refuse: badIDs})
		}, good},
		{"refuses while it holds", func(p flow.Pipeline) flow.Pipeline {
			return p.Via(step{Label: "a", mode: holds, refuse: badIDs})
		}, good},
		{"drops rows", func(p flow.Pipeline) flow.Pipeline { return p.Via(keepGood) }, good},
		{"drops records", func(p flow.Pipeline) flow.Pipeline {
			return p.Via(opFunc(func(rec arrow.Record, out *flow.Out) error { return nil }))
		}, func(int64) int { return 0 }},
		{"repeats rows", func(p flow.Pipeline) flow.Pipeline {
			return p.Via(opFunc(func(rec arrow.Record, out *flow.Out) error {
				for range 3 {
					rec.Retain()
					if err := out.Emit(rec); err != nil {
						return err
					}
				}
				return nil
			}))
		}, func(pos int64) int { return 3 * all(pos) }},
		{"epochs", func(p flow.Pipeline) flow.Pipeline { return p.Via(epochs(3)) }, func(pos int64) int { return 3 * all(pos) }},
		{"drops while it holds", func(p flow.Pipeline) flow.Pipeline { return p.Via(epochs(0)) }, func(int64) int { return 0 }},
		{"forgets positions", func(p flow.Pipeline) flow.Pipeline { return p.Via(unpositioned{}) }, all},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, workers := range []int{1, 4} {
				j := &journal{want: c.want}
				src := numbers{Records: 6, Rows: 5, ack: j.ack}
				run := c.via(flow.From(src)).To(j).
					With(flow.Options{Allocator: checked(t), Workers: workers, Refused: flow.Skip}).Start(context.Background())
				if err := run.Wait(); err != nil {
					t.Fatal(err)
				}
				if !slices.IsSorted(j.acks) || len(slices.Compact(slices.Clone(j.acks))) != len(j.acks) {
					t.Errorf("acknowledged %v, want rising", j.acks)
				}
				if len(j.acks) == 0 || j.acks[len(j.acks)-1] != 29 || run.Stats().Done != 29 {
					t.Errorf("acknowledged %v, want 29 at last; Done is %d", j.acks, run.Stats().Done)
				}
				if len(j.early) > 0 {
					t.Errorf("acknowledged too early: %v of %v", j.early, j.acks)
				}
			}
		})
	}
}

// keepGood drops rows without refusing them.
var keepGood = opFunc(func(rec arrow.Record, out *flow.Out) error {
	for row, id := range ids(rec) {
		if badIDs(id) == nil {
			if err := out.Emit(rec.NewSlice(int64(row), int64(row)+1)); err != nil {
				return err
			}
		}
	}
	return nil
})

// epochs plays the stream n times, or drops it if n is 0.
type epochs int

func (e epochs) Open(in *arrow.Schema) (flow.Stage, error) {
	return &epochsStage{n: int(e), hold: &holdStage{stepStage: &stepStage{schema: in}}}, nil
}

type epochsStage struct {
	n    int
	hold *holdStage
}

func (s *epochsStage) Schema() *arrow.Schema                         { return s.hold.schema }
func (s *epochsStage) Process(rec arrow.Record, out *flow.Out) error { return s.hold.Process(rec, out) }
func (s *epochsStage) Close() error                                  { return s.hold.Close() }

func (s *epochsStage) Flush(out *flow.Out) error {
	for i := range s.n {
		emit := out.Repeat
		if i == s.n-1 {
			emit = out.Emit
		}
		for _, rec := range s.hold.held {
			rec.Retain()
			if err := emit(rec); err != nil {
				return err
			}
		}
	}
	if s.n == 0 {
		for _, rec := range s.hold.held {
			out.Drop(rec)
		}
	}
	return nil
}

// TestDropAtOnce: what a Flusher drops is done then, and not at the end.
func TestDropAtOnce(t *testing.T) {
	var acks []int64
	src := numbers{Records: 4, Rows: 2, ack: func(pos int64) { acks = append(acks, pos) }}
	if err := flow.From(src).Via(dropping{}).With(flow.Options{Allocator: checked(t)}).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(acks, []int64{1, 3, 5, 7}) {
		t.Errorf("acknowledged %v", acks)
	}
}

type dropping struct{}

func (dropping) Open(in *arrow.Schema) (flow.Stage, error) { return droppingStage{in}, nil }

type droppingStage struct{ schema *arrow.Schema }

func (s droppingStage) Schema() *arrow.Schema     { return s.schema }
func (s droppingStage) Flush(out *flow.Out) error { return nil }

func (s droppingStage) Process(rec arrow.Record, out *flow.Out) error {
	out.Drop(rec)
	return nil
}

// unpositioned drops the column pos.
type unpositioned struct{}

func (unpositioned) Open(in *arrow.Schema) (flow.Stage, error) {
	schema := record.Without(in, record.Pos)
	return funcStage{func(rec arrow.Record, out *flow.Out) error {
		made, err := record.Project(schema, rec, nil)
		if err != nil {
			return err
		}
		return out.Emit(made)
	}, schema}, nil
}

// TestWatermarkWaits lets the sink stop at one record: what comes later may be
// handled, but nothing from there on is acknowledged.
func TestWatermarkWaits(t *testing.T) {
	var mu sync.Mutex
	low := int64(-1)
	reached, stop := make(chan struct{}), make(chan struct{})
	src := numbers{Records: 40, Rows: 1, ack: func(pos int64) {
		mu.Lock()
		defer mu.Unlock()
		low = pos
	}}
	sink := &keeper{hook: func(place string, n int64) error {
		if place == "write" && n == 7 {
			close(reached)
			<-stop
		}
		return nil
	}}
	odd := func(id int64) error { // refused at once, far ahead of row 7
		if id > 7 {
			return errTest
		}
		return nil
	}
	run := flow.From(src).Via(step{Label: "a", refuse: odd}).To(sink).
		With(flow.Options{Allocator: checked(t), Refused: flow.Skip}).Start(context.Background())
	for run.Stats().Stages[1].Refused < 5 {
		time.Sleep(time.Millisecond)
	}
	<-reached // rows are refused beside the sink, which may have got less far
	acknowledged := func() int64 {
		mu.Lock()
		defer mu.Unlock()
		return low
	}
	for start := time.Now(); acknowledged() < 6 && time.Since(start) < 15*time.Second; {
		time.Sleep(time.Millisecond)
	}
	got := acknowledged()
	if got != 6 || run.Stats().Done != 6 {
		t.Errorf("position %d is acknowledged while the sink has row 7 in hand, want 6", got)
	}
	close(stop)
	if err := run.Wait(); err != nil || low != 39 {
		t.Errorf("%v, at the end %d", err, low)
	}
}

// TestWatermarkOfFailedRun leaves alone what was not written.
func TestWatermarkOfFailedRun(t *testing.T) {
	for _, c := range []struct {
		name string
		step step
		sink hook
	}{
		{"sink", step{Label: "a", mode: forks}, failing("write", 12, false)},
		{"forks", step{Label: "a", mode: forks, hook: failing("process", 12, false)}, nil},
		{"holds", step{Label: "a", mode: holds, hook: failing("process", 12, false)}, nil},
		{"flush", step{Label: "a", mode: holds, hook: failing("flush", 0, false)}, nil},
	} {
		j := &journal{want: func(pos int64) int { return int(pos) + 1 }, keeper: keeper{hook: c.sink}}
		err := flow.From(numbers{Records: 30, Rows: 1, ack: j.ack}).Via(c.step).To(j).
			With(flow.Options{Allocator: checked(t), Workers: 3}).Run(context.Background())
		if err == nil || len(j.early) > 0 || slices.Max(append(j.acks, -1)) >= 12 {
			t.Errorf("%s: %v; acknowledged %v, too early %v", c.name, err, j.acks, j.early)
		}
	}
}

// TestClosedAfterAck closes a reader that is told of positions after the last.
func TestClosedAfterAck(t *testing.T) {
	var mu sync.Mutex
	var events []string
	note := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		if len(events) == 0 || events[len(events)-1] != s {
			events = append(events, s)
		}
	}
	src := numbers{Records: 9, Rows: 1,
		hook: func(place string, _ int64) error {
			if place == "close" {
				note("close")
			}
			return nil
		},
		ack: func(int64) { note("ack") },
	}
	if err := flow.From(src).Via(step{Label: "a", mode: holds}).With(flow.Options{Allocator: checked(t)}).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(events, []string{"ack", "close"}) {
		t.Error(events)
	}
}

// TestNoPositions runs records that never had any.
func TestNoPositions(t *testing.T) {
	mem := checked(t)
	col := record.NewColumn[int64](mem)
	col.Append(1, 2, 3)
	a := col.Finish()
	rec := array.NewRecord(arrow.NewSchema([]arrow.Field{{Name: record.GraphID, Type: arrow.PrimitiveTypes.Int64}}, nil), []arrow.Array{a}, 3)
	a.Release()
	defer rec.Release()
	sink := &keeper{}
	run := flow.From(brokenSource{once{rec, new(bool)}}).Via(step{Label: "a", mode: holds}).To(sink).With(flow.Options{Allocator: mem}).Start(context.Background())
	if err := run.Wait(); err != nil || len(sink.ids) != 3 || run.Stats().Done != -1 {
		t.Errorf("%v, %v, Done %d", err, sink.ids, run.Stats().Done)
	}
}
