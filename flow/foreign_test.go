package flow_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/reugn/go-streams"
	extflow "github.com/reugn/go-streams/flow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest/leak"
	"github.com/sanflow/sanflow/flow/record"
)

// composite is a flow made of several: in at the first, out at the last.
type composite struct {
	streams.Flow
	first streams.Flow
}

func (c composite) In() chan<- any { return c.first.In() }

// split sends records over n ways and merges them again.
func split(n int) streams.Flow {
	first := extflow.NewPassThrough()
	return composite{extflow.Merge(extflow.RoundRobin(first, n)...), first}
}

// twice sends every record over two ways and merges them again.
func twice(retain bool) streams.Flow {
	first := extflow.NewMap(func(r arrow.Record) arrow.Record {
		if retain {
			r.Retain()
		}
		return r
	}, 1)
	return composite{extflow.Merge(extflow.FanOut(first, 2)...), first}
}

// firstRow makes a new record of the first row of r.
func firstRow(mem memory.Allocator, r arrow.Record) arrow.Record {
	rec, err := record.Take(mem, []arrow.Record{r}, []record.Ref{{}})
	if err != nil {
		panic(err)
	}
	return rec
}

func even(r arrow.Record) bool { return ids(r)[0]%2 == 0 }

func TestForeign(t *testing.T) {
	const records = 20 // of 2 rows
	var firsts, evens, doubled []int64
	for id := range int64(2 * records) {
		if id%2 == 0 {
			firsts = append(firsts, id)
		}
		if id/2%2 == 0 {
			evens = append(evens, id)
		}
		doubled = append(doubled, id, id)
	}
	for _, c := range []struct {
		name    string
		new     func(mem memory.Allocator) streams.Flow
		want    []int64
		ordered bool
	}{
		{"pass through", func(memory.Allocator) streams.Flow { return extflow.NewPassThrough() }, upTo(2 * records), true},
		{"filter", func(memory.Allocator) streams.Flow {
			return extflow.NewFilter(func(r arrow.Record) bool { return ids(r)[0]/2%2 == 0 }, 1)
		}, evens, true},
		{"filter that releases", func(memory.Allocator) streams.Flow {
			return extflow.NewFilter(func(r arrow.Record) bool {
				if ids(r)[0]/2%2 == 0 {
					return true
				}
				r.Release()
				return false
			}, 1)
		}, evens, true},
		{"filter in parallel", func(memory.Allocator) streams.Flow {
			return extflow.NewFilter(func(r arrow.Record) bool { return ids(r)[0]/2%2 == 0 }, 3)
		}, evens, false},
		{"map", func(mem memory.Allocator) streams.Flow {
			return extflow.NewMap(func(r arrow.Record) arrow.Record {
				defer r.Release()
				return firstRow(mem, r)
			}, 1)
		}, firsts, true},
		{"map that forgets", func(mem memory.Allocator) streams.Flow {
			return extflow.NewMap(func(r arrow.Record) arrow.Record {
				made := firstRow(mem, r)
				runtime.KeepAlive(r)
				return made
			}, 2)
		}, firsts, false},
		{"map that slices", func(memory.Allocator) streams.Flow {
			return extflow.NewMap(func(r arrow.Record) arrow.Record {
				defer r.Release()
				return r.NewSlice(0, 1)
			}, 1)
		}, firsts, true},
		{"throttler", func(memory.Allocator) streams.Flow {
			return extflow.NewThrottler(5, time.Millisecond, 3, extflow.Backpressure)
		}, upTo(2 * records), true},
		{"split and merge", func(memory.Allocator) streams.Flow { return split(3) }, upTo(2 * records), false},
		{"fan out", func(memory.Allocator) streams.Flow { return twice(true) }, doubled, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			mem := checked(t)
			for _, where := range []string{"alone", "between", "two"} {
				foreign := flow.Foreign{New: func() streams.Flow { return c.new(mem) }}
				p := flow.From(numbers{Records: records, Rows: 2})
				if where != "alone" {
					p = p.Via(step{Label: "a", mode: forks}).Through(foreign).Via(step{Label: "b"}).Via(step{Label: "c", mode: holds})
				} else {
					p = p.Through(foreign)
				}
				if where == "two" {
					p = p.Through(flow.Foreign{New: func() streams.Flow { return split(2) }})
				}
				sink := &keeper{}
				run := p.To(sink).With(flow.Options{Allocator: mem, Workers: 2}).Start(context.Background())
				if err := run.Wait(); err != nil {
					t.Fatalf("%s: %v", where, err)
				}
				if where == "two" || !c.ordered {
					slices.Sort(sink.ids)
				}
				if !slices.Equal(sink.ids, c.want) {
					t.Errorf("%s: got %v, want %v", where, sink.ids, c.want)
				}
				if done := run.Stats().Done; done != 2*records-1 {
					t.Errorf("%s: Done is %d", where, done)
				}
			}
		})
	}
}

func TestForeignErrors(t *testing.T) {
	gone := func(r arrow.Record) arrow.Record { r.Release(); return r }
	for _, c := range []struct {
		name string
		f    flow.Foreign
		want string
	}{
		{"no New", flow.Foreign{}, "foreign: the field New is nil"},
		{"nil flow", flow.Foreign{New: func() streams.Flow { return nil }}, "foreign: the function New returned nil"},
		{"New panics", flow.Foreign{Label: "mine", New: func() streams.Flow { panic(errTest) }}, "mine: panic: an error on purpose (LINE)"},
		{"New exits", flow.Foreign{New: func() streams.Flow { runtime.Goexit(); return nil }}, "foreign: the stage has ended its goroutine by runtime.Goexit"},
		{"Schema fails", flow.Foreign{
			New:    func() streams.Flow { return extflow.NewPassThrough() },
			Schema: func(*arrow.Schema) (*arrow.Schema, error) { return nil, errTest },
		}, "foreign: an error on purpose"},
		{"Schema panics", flow.Foreign{
			New:    func() streams.Flow { return extflow.NewPassThrough() },
			Schema: func(*arrow.Schema) (*arrow.Schema, error) { panic(errTest) },
		}, "foreign: panic: an error on purpose (LINE)"},
		{"fan out without a Retain", flow.Foreign{New: func() streams.Flow { return twice(false) }},
			"foreign: the flow passed on a record that it had released; a record that is passed on twice needs a Retain"},
		{"passes on what it released", flow.Foreign{New: func() streams.Flow { return extflow.NewMap(gone, 1) }},
			"foreign: the flow passed on a record that it had released; a record that is passed on twice needs a Retain"},
		{"emits numbers", flow.Foreign{New: func() streams.Flow {
			return extflow.NewMap(func(r arrow.Record) int64 { return r.NumRows() }, 1)
		}}, "foreign: got a int64, want an arrow.Record"},
		{"emits nil", flow.Foreign{New: func() streams.Flow {
			return extflow.NewMap(func(r arrow.Record) any { return nil }, 1)
		}}, "foreign: got a <nil>, want an arrow.Record"},
		{"emits slices", flow.Foreign{New: func() streams.Flow {
			return extflow.NewBatch[arrow.Record](3, time.Hour)
		}}, "foreign: got a []arrow.Record, want an arrow.Record"},
		{"announces other columns", flow.Foreign{
			New:    func() streams.Flow { return extflow.NewPassThrough() },
			Schema: func(s *arrow.Schema) (*arrow.Schema, error) { return record.Without(s, record.Pos), nil },
		}, "foreign: a record has the columns [graph_id pos offsets neighbors], want [graph_id offsets neighbors]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, p := range []flow.Pipeline{
				flow.From(numbers{Records: 5, Rows: 1}).Through(c.f),
				flow.From(numbers{Records: 5, Rows: 1}).Via(step{Label: "a", mode: forks}).Through(c.f).Via(step{Label: "b"}),
			} {
				err := p.With(flow.Options{Allocator: checked(t)}).Run(context.Background())
				if err == nil || withoutLine(err) != c.want {
					t.Errorf("the error is %v, want %s", err, c.want)
				}
			}
		})
	}
}

// TestForeignSchema has a flow that changes the columns and says so.
func TestForeignSchema(t *testing.T) {
	without := func(s *arrow.Schema) (*arrow.Schema, error) { return record.Without(s, record.Neighbors), nil }
	p := flow.From(numbers{Records: 5, Rows: 1}).Through(flow.Foreign{
		Label:  "cut",
		Schema: without,
		New: func() streams.Flow {
			return extflow.NewMap(func(r arrow.Record) arrow.Record {
				defer r.Release()
				s, _ := without(r.Schema())
				made, err := record.Project(s, r, nil)
				if err != nil {
					panic(err)
				}
				return made
			}, 1)
		},
	}).Via(step{Label: "a"})
	sink := &keeper{}
	if err := p.To(sink).With(flow.Options{Allocator: checked(t)}).Run(context.Background()); err != nil || len(sink.ids) != 5 {
		t.Errorf("%v, %v", err, sink.ids)
	}
	if plan, err := p.Plan(context.Background()); err != nil || !strings.Contains(plan, "cut                        - neighbors") {
		t.Errorf("%v, the plan is\n%s", err, plan)
	}
}

// TestForeignStopped cancels, and fails on both sides of a foreign flow.
func TestForeignStopped(t *testing.T) {
	for name, f := range map[string]func() streams.Flow{
		"pass through": func() streams.Flow { return extflow.NewPassThrough() },
		"filter":       func() streams.Flow { return extflow.NewFilter(even, 2) },
		"throttler": func() streams.Flow {
			return extflow.NewThrottler(1, time.Millisecond, 4, extflow.Backpressure)
		},
		"discarding throttler": func() streams.Flow {
			return extflow.NewThrottler(1, time.Millisecond, 1, extflow.Discard)
		},
		"split and merge": func() streams.Flow { return split(3) },
		"fan out":         func() streams.Flow { return twice(true) },
	} {
		t.Run(name, func(t *testing.T) {
			foreign := flow.Foreign{New: f}
			ctx, stop := context.WithCancel(context.Background())
			run := flow.From(endless).Via(step{Label: "a", mode: forks}).Through(foreign).
				With(flow.Options{Allocator: checked(t), Workers: 2}).Start(ctx)
			time.Sleep(5 * time.Millisecond)
			stop()
			start := time.Now()
			if err := run.Wait(); !errors.Is(err, context.Canceled) || time.Since(start) > leak.Patience {
				t.Errorf("%v after %v", err, time.Since(start))
			}
			for _, p := range []flow.Pipeline{
				flow.From(numbers{Records: 50, Rows: 1}).Via(step{Label: "a", hook: failing("process", 6, false)}).Through(foreign),
				flow.From(endless).Through(foreign).Via(step{Label: "a", hook: failing("process", 0, false)}),
				flow.From(endless).Through(foreign).To(&keeper{hook: failing("write", 0, true)}),
			} {
				if err := p.With(flow.Options{Allocator: checked(t)}).Run(context.Background()); !errors.Is(err, errTest) {
					t.Errorf("the error is %v", err)
				}
			}
		})
	}
}

// TestForeignForgets lets a filter drop a long stream: what it drops must not
// pile up until the end.
func TestForeignForgets(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	const few = 600 * 64 * 6 // the buffers of 600 records; sizes are multiples of 64
	most := 0
	src := numbers{Records: 2000, Rows: 1, hook: func(place string, n int64) error {
		if place == "next" && n%200 == 0 {
			now := 0
			for start := time.Now(); time.Since(start) < leak.Patience; {
				runtime.GC() // cleanups run soon after, but not at once on a busy machine
				time.Sleep(5 * time.Millisecond)
				if now = mem.CurrentAlloc(); now <= few {
					break
				}
			}
			most = max(most, now)
		}
		return nil
	}}
	err := flow.From(src).Through(flow.Foreign{New: func() streams.Flow {
		return extflow.NewFilter(func(arrow.Record) bool { return false }, 1)
	}}).With(flow.Options{Allocator: mem}).Run(context.Background())
	if err != nil || mem.CurrentAlloc() != 0 || most > few {
		t.Errorf("%v, up to %d bytes were held, want at most %d; %d at the end", err, most, few, mem.CurrentAlloc())
	}
}

// TestStatsOfForeign counts what goes in and what comes out.
func TestStatsOfForeign(t *testing.T) {
	run := flow.From(numbers{Records: 10, Rows: 1}).Through(flow.Foreign{Label: "even", New: func() streams.Flow {
		return extflow.NewFilter(even, 1)
	}}).With(flow.Options{Allocator: checked(t)}).Start(context.Background())
	if err := run.Wait(); err != nil {
		t.Fatal(err)
	}
	s := run.Stats().Stages[1]
	if got := fmt.Sprint(s.Stage, s.RowsIn, s.RowsOut); got != "even10 5" {
		t.Error(got)
	}
}
