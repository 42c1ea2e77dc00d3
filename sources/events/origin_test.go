package events_test

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/sources/events"
)

// Streams are brought into the same order wherever the origin of time is, up to the least and the greatest
// time.
func TestOriginOfTime(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 2))
	var list []event.Event
	for i := range 200 {
		list = append(list, event.Event{Time: int64(max(0, i/4-rng.IntN(6))), Source: int32(rng.IntN(3)), Target: int32(rng.IntN(3)), Class: -1})
	}
	const last = 49
	list[0].Time, list[len(list)-1].Time = 0, last
	order := func(s iter.Seq2[event.Event, error]) iter.Seq2[event.Event, error] {
		return events.Sorted(context.Background(), s, events.MaxSorted)
	}
	run := func(by int64) (got []string) {
		for e, err := range order(func(yield func(event.Event, error) bool) {
			for _, e := range list {
				e.Time += by
				if !yield(e, nil) {
					return
				}
			}
		}) {
			got = append(got, fmt.Sprint(e.Time-by, e.Source, e.Target, err))
		}
		return got
	}
	want := run(0)
	for _, by := range []int64{1e9, -1e9, -20, math.MinInt64, math.MaxInt64 - last} {
		if got := run(by); !slices.Equal(got, want) {
			t.Errorf("another stream where times are shifted by %d", by)
		}
	}
}
