package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/message"
	"github.com/sanflow/sanflow/flow/record"
)

// widen adds and drops a column, and has fields of every kind.
type widen struct {
	Name_  string
	K      int
	Ratio  float64
	On     bool
	Wait   time.Duration
	Sizes  []int
	By     fmt.Stringer
	Do     func()
	Nested struct{ X int }
	secret int
}

func (w widen) Open(in *arrow.Schema) (flow.Stage, error) {
	if w.K < 0 {
		return nil, fmt.Errorf("K is %d, want 0 or more", w.K)
	}
	s, err := record.Extend(record.Without(in, record.Neighbors), arrow.Field{Name: "wide", Type: arrow.PrimitiveTypes.Int32})
	return funcStage{nil, s}, err
}

// generic has a type parameter, which names leave away.
type generic[T any] struct{ Value T }

func (generic[T]) Open(in *arrow.Schema) (flow.Stage, error) { return funcStage{nil, in}, nil }

func TestPlan(t *testing.T) {
	opened, closed := 0, 0
	count := func(place string, _ int64) error {
		switch place {
		case "open":
			opened++
		case "close":
			closed++
		}
		return nil
	}
	sink := &keeper{hook: func(string, int64) error { panic("a plan does not open the sink") }}
	mem := checked(t)
	base := flow.From(numbers{Records: 2, Rows: 3, hook: count}).With(flow.Options{Allocator: mem})
	for _, c := range []struct {
		p    flow.Pipeline
		want string
	}{
		{base.
			Via(widen{}).
			Via(&step{Label: "x", hook: count}).
			Via(step{Label: "x"}).
			To(sink), `
numbers  Records=2 Rows=3  + graph_id pos offsets neighbors
widen                      + wide  - neighbors
x        Label=x
x 2      Label=x
keeper`},
		{base.Via(widen{Name_: "n", K: 3, Ratio: 0.5, On: true, Wait: time.Second, Sizes: []int{1, 2}, By: time.Minute, Do: func() {}, secret: 1}), `
numbers  Records=2 Rows=3                                              + graph_id pos offsets neighbors
widen    Name_=n K=3 Ratio=0.5 On=true Wait=1s Sizes=[2] By=1m0s Do=…  + wide  - neighbors
discard`},
		{base.Via(generic[int]{4}).To(&keeper{}), `
numbers  Records=2 Rows=3  + graph_id pos offsets neighbors
generic  Value=4
keeper`},
		{base.Via(step{Label: "x", hook: count}).Via(widen{K: -1}).Via(step{Label: "y"}).To(sink), `
numbers  Records=2 Rows=3  + graph_id pos offsets neighbors
x        Label=x
widen    K=-1
widen: K is -1, want 0 or more`},
		{flow.From(numbers{hook: failing("open", 0, true)}).Via(step{}).To(sink), `
numbers
numbers: panic: an error on purpose (LINE)`},
		{flow.Pipeline{}.Via(widen{}), `

pipeline: no source`},
	} {
		want := strings.TrimPrefix(c.want, "\n")
		got, err := c.p.Plan(context.Background())
		if err != nil {
			got += "\n" + withoutLine(err)
		}
		if got != want {
			t.Errorf("the plan is\n%s\nwant\n%s", got, want)
		}
	}
	if opened == 0 || opened != closed {
		t.Errorf("plans opened %d stages and closed %d", opened, closed)
	}
}

// TestSchema compares what Schema says with what the sink of a run is opened with, and
// its errors with those of a run; it leaves nothing open.
func TestSchema(t *testing.T) {
	var opened, closed atomic.Int32
	count := func(place string, _ int64) error {
		switch place {
		case "open":
			opened.Add(1)
		case "close":
			closed.Add(1)
		}
		return nil
	}
	base := flow.From(numbers{Records: 2, Rows: 3, hook: count}).With(flow.Options{Allocator: checked(t)})
	for _, p := range []flow.Pipeline{
		base,
		base.Via(widen{}).Via(&step{hook: count}),
		base.Via(&step{hook: count}).Via(widen{K: -1}),
		flow.From(numbers{hook: failing("open", 0, true)}).Via(step{}),
		{},
	} {
		var want *arrow.Schema
		wantErr := p.To(openedWith(func(s *arrow.Schema) { want = s })).Run(context.Background())
		opened.Store(0)
		closed.Store(0)
		never := openedWith(func(*arrow.Schema) { t.Error("Schema opens the sink") })
		got, err := p.To(never).Schema(context.Background())
		if want == nil { // the run came no further than that; widen opens, and fails with its first record
			if err == nil || withoutLine(err) != withoutLine(wantErr) || got != nil {
				t.Errorf("%v, %v, want the error %v", got, err, wantErr)
			}
		} else if err != nil || !got.Equal(want) {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
		if n, m := opened.Load(), closed.Load(); n != m {
			t.Errorf("%d stages were opened and %d closed", n, m)
		}
	}
}

// openedWith is a sink that tells what it is opened with, and drops all.
type openedWith func(*arrow.Schema)

func (f openedWith) Open(in *arrow.Schema) (flow.Writer, error) { f(in); return f, nil }

func (openedWith) Write(context.Context, arrow.Record) error { return nil }

func (openedWith) Close(error) error { return nil }

// TestString prints pipelines, which opens nothing.
func TestString(t *testing.T) {
	never := func(place string, _ int64) error { panic("printing calls " + place) }
	p := flow.From(numbers{Records: 2, Rows: 3, hook: never}).
		Via(widen{K: -1}).
		Via(step{Label: "x", hook: never}).
		Via(step{Label: "x"})
	want := `numbers  Records=2 Rows=3
widen    K=-1
x        Label=x
x 2      Label=x
keeper`
	if got := p.To(&keeper{hook: never}).String(); got != want {
		t.Errorf("the text is\n%s\nwant\n%s", got, want)
	}
	if got := (flow.Pipeline{}).String(); got != "no source\ndiscard" {
		t.Errorf("without a source: %q", got)
	}
}

// TestPlanContext asks for the plan of a source that looks at its context while
// it opens.
func TestPlanContext(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	_, err := flow.From(opener(func(ctx context.Context) error { return ctx.Err() })).Plan(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, want context.Canceled", err)
	}
}

// opener is a source whose Open fails as the function says.
type opener func(context.Context) error

func (f opener) Open(ctx context.Context, _ memory.Allocator) (flow.Reader, error) {
	return nil, f(ctx)
}

// TestPlanRuns asks for the plan before, while and after a pipeline runs.
func TestPlanRuns(t *testing.T) {
	p := flow.From(numbers{Records: 3, Rows: 1}).Via(step{Label: "a"}).With(flow.Options{Allocator: checked(t)})
	plan := func() string {
		text, err := p.Plan(context.Background())
		if err != nil {
			t.Error(err)
		}
		return text
	}
	before := plan()
	run := p.Start(context.Background())
	while := plan()
	if err := run.Wait(); err != nil || before != while || before != plan() {
		t.Errorf("%v\n%s\n%s\n%s", err, before, while, plan())
	}
}

func TestName(t *testing.T) {
	var none *widen
	for _, c := range []struct {
		v    any
		want string
	}{
		{widen{}, "widen"}, {&widen{}, "widen"}, {none, "widen"}, {generic[string]{}, "generic"},
		{step{Label: "mine"}, "mine"}, {nil, "stage"}, {message.Source{}, "message"}, {&message.Sink{}, "message"}, {func() {}, "stage"}, {memory.DefaultAllocator, "goallocator"},
	} {
		if got := flow.Name(c.v); got != c.want {
			t.Errorf("Name(%T) is %q, want %q", c.v, got, c.want)
		}
	}
}

func TestStatsText(t *testing.T) {
	s := flow.Stats{Stages: []flow.StageStats{
		{Stage: "tu", RowsOut: 188, BytesOut: 1234567, Busy: 12 * time.Millisecond, Blocked: time.Second},
		{Stage: "select", RowsIn: 188, RowsOut: 187, Refused: 1, Waiting: 1500 * time.Microsecond,
			Notes: map[string]int64{"ties": 3, "fallbacks": 0}},
	}}
	want := `   stage  rows in  rows out  refused  MB out  busy  waiting  blocked
      tu        0       188        0     1.2  12ms       0s       1s
  select      188       187        1     0.0    0s      2ms       0s  fallbacks 0  ties 3
`
	if got := s.String(); got != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
}
