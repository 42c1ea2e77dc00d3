package flow_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
)

// reporting is a sink that reports how many records it has.
type reporting struct{ n int }

func (r *reporting) Open(*arrow.Schema) (flow.Writer, error) { return r, nil }

func (r *reporting) Write(context.Context, arrow.Record) error { r.n++; return nil }

func (r *reporting) Close(error) error { return nil }

func (r *reporting) Report() any { return r.n }

// The observer of a context is called with each run once, before its first record and with its
// error, and an inner one takes its place.
func TestObserve(t *testing.T) {
	var told []string
	observe := func(ctx context.Context, name string) context.Context {
		return flow.Observe(ctx, func(o flow.Observed) func(error) {
			s := o.Stats()
			told = append(told, name+" begins")
			if len(s.Stages) != 2 || s.Stages[0].RowsOut != 0 || s.Done != -1 || s.Read != -1 || len(o.Report()) != 2 {
				t.Errorf("at the start the statistics are %+v", s)
			}
			return func(err error) {
				told = append(told, name+" ends")
				if got := o.Report(); name == "inner" && (got[0] != nil || got[1] != 3) {
					t.Errorf("the report is %v, want that of the sink: 3 records", got)
				}
				if (name == "outer") != errors.Is(err, errTest) {
					t.Errorf("%s ends with %v", name, err)
				}
			}
		})
	}
	outer := observe(context.Background(), "outer")
	inner := observe(outer, "inner")
	if err := flow.From(numbers{Records: 3, Rows: 2}).To(&reporting{}).With(flow.Options{Allocator: checked(t)}).Run(inner); err != nil {
		t.Fatal(err)
	}
	err := flow.From(numbers{Records: 3, Rows: 2, hook: failing("next", 2, false)}).With(flow.Options{Allocator: checked(t)}).Run(outer)
	if !errors.Is(err, errTest) {
		t.Errorf("the error is %v", err)
	}
	if want := []string{"inner begins", "inner ends", "outer begins", "outer ends"}; !slices.Equal(told, want) {
		t.Errorf("told: %q, want %q", told, want)
	}
	flow.Announce(context.Background(), nil)(nil) // there is no observer
}

// A panic of an observer is the error of the run, which ends well otherwise.
func TestObserverPanics(t *testing.T) {
	for _, at := range []string{"start", "end"} {
		ctx := flow.Observe(context.Background(), func(flow.Observed) func(error) {
			if at == "start" {
				panic("on purpose")
			}
			return func(error) { panic("on purpose") }
		})
		err := flow.From(numbers{Records: 3, Rows: 2}).With(flow.Options{Allocator: checked(t)}).Run(ctx)
		if err == nil || !strings.HasPrefix(err.Error(), "observer: panic: on purpose") {
			t.Errorf("at its %s: %v", at, err)
		}
	}
}
