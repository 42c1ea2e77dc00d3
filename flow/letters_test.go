package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
)

// badIDs refuses some rows: the first and last of a record, two in a row, and a
// whole record among them.
func badIDs(id int64) error {
	if slices.Contains([]int64{0, 4, 5, 9, 15, 16, 17, 18, 19, 22, 23}, id) {
		return fmt.Errorf("%d is bad", id)
	}
	return nil
}

func refusing(p flow.Policy, m mode, workers int, t *testing.T) (*keeper, flow.Pipeline, flow.Options) {
	sink := &keeper{}
	return sink, flow.From(numbers{Records: 6, Rows: 5}).
		Via(step{Label: "before", mode: forks, hook: jitter}).
		Via(step{Label: "strict", mode: m, refuse: badIDs, hook: jitter}).
		To(sink), flow.Options{Allocator: checked(t), Workers: workers, Refused: p}
}

func TestRefused(t *testing.T) {
	var good, bad []int64
	for id := range int64(30) {
		if badIDs(id) == nil {
			good = append(good, id)
		} else {
			bad = append(bad, id)
		}
	}
	for _, m := range []mode{plain, forks, holds} {
		for _, workers := range []int{1, 2, 5} {
			t.Run(fmt.Sprintf("mode %d, %d workers", m, workers), func(t *testing.T) {
				_, p, o := refusing(flow.Stop, m, workers, t)
				err := p.With(o).Run(context.Background())
				var e *flow.Error
				if !errors.As(err, &e) || e.Stage != "strict" || e.Graph != 0 || err.Error() != "strict: graph 0: 0 is bad" {
					t.Errorf("stop: %v", err)
				}

				sink, p, o := refusing(flow.Skip, m, workers, t)
				run := p.With(o).Start(context.Background())
				if err := run.Wait(); err != nil || !slices.Equal(sink.ids, good) {
					t.Errorf("skip: %v, %v", err, sink.ids)
				}
				if s := run.Stats(); s.Stages[2].Refused != int64(len(bad)) || s.Done != 29 {
					t.Errorf("skip:\n%v", s)
				}

				sink, p, o = refusing(flow.Keep, m, workers, t)
				var got []int64
				var rows []arrow.Record
				o.DeadLetters = func(l flow.Letter) error {
					if l.Stage != "strict" || l.Pos != l.Graph || l.Err.Error() != fmt.Sprintf("%d is bad", l.Graph) {
						t.Errorf("letter %+v", l)
					}
					l.Row.Retain()
					rows = append(rows, l.Row)
					got = append(got, l.Graph)
					return nil
				}
				if err := p.With(o).Run(context.Background()); err != nil || !slices.Equal(sink.ids, good) || !slices.Equal(got, bad) {
					t.Errorf("keep: %v, %v, letters %v", err, sink.ids, got)
				}
				for i, rec := range rows {
					if rec.NumRows() != 1 || ids(rec)[0] != bad[i] {
						t.Errorf("letter %d holds %v", i, rec)
					}
					rec.Release()
				}
			})
		}
	}
}

// TestLettersFail ends the run where a letter cannot be kept.
func TestLettersFail(t *testing.T) {
	for _, panics := range []bool{false, true} {
		for i, m := range []mode{forks, holds, forks, holds} {
			_, p, o := refusing(flow.Keep, m, 3, t)
			n, last := 0, 1+i/2 // of the letters, which are rows 0 and 4
			o.DeadLetters = func(flow.Letter) error {
				if n++; n == last {
					return failing("letter", 2, panics)("letter", 2)
				}
				return nil
			}
			run := p.With(o).Start(context.Background())
			err := run.Wait()
			var e *flow.Error
			if !errors.As(err, &e) || e.Stage != "dead letters" || !errors.Is(err, errTest) {
				t.Errorf("the error is %v", err)
			}
			if n != last {
				t.Errorf("there were %d letters, want an end after %d", n, last)
			}
			if done := run.Stats().Done; done >= int64(4*(last-1)) {
				t.Errorf("position %d counts as done, though letter %d is lost", done, last)
			}
		}
	}
}
