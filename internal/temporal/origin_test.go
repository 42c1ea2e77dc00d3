package temporal_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/internal/temporal"
)

// Features are the same, to the bit, wherever the origin of time is. The nodes of a question may never have been met.
func TestOriginOfTime(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 35))
	var list []event.Event
	for i := range 80 {
		list = append(list, event.Event{
			Kind: event.Kind([]int{0, 0, 0, 0, 0, 5, 2}[rng.IntN(7)]), Pos: int64(i), Time: int64(i / 3 * 5),
			Source: int32(rng.IntN(8)), Target: int32(rng.IntN(8)), Class: int32(rng.IntN(4)) - 1, Attr: []float32{float32(rng.IntN(5) - 2)},
		})
	}
	last := list[len(list)-1].Time + 7
	for _, h := range []temporal.History{{}, {Last: 9}, {Within: 11}, {Within: math.MaxInt64}} {
		run := func(by int64) (all []float32) {
			h := &temporal.History{Last: h.Last, Within: h.Within}
			for _, e := range list {
				candidates := []int32{0, 3, 7, 9}
				x := make([]float32, len(candidates)*temporal.Features)
				scores := make([]float64, len(candidates))
				if err := h.Describe(e.Source, e.Time+by, 1, candidates, x); err != nil {
					t.Fatal(err)
				}
				for _, b := range temporal.Baselines() {
					h.Score(b, e.Source, candidates, scores)
					for _, s := range scores {
						x = append(x, float32(s))
					}
				}
				all = append(all, x...)
				e.Time += by
				if err := h.Add(e); err != nil {
					t.Fatal(err)
				}
			}
			return all
		}
		want := run(0)
		for _, by := range []int64{1e9, -1e9, -60, 1 << 55, math.MinInt64, math.MaxInt64 - last} {
			if got := run(by); !slices.Equal(got, want) {
				t.Errorf("Last %d, Within %d: other features where times are shifted by %d", h.Last, h.Within, by)
			}
		}
	}
}
