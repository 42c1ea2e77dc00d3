package temporal_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/internal/temporal"
)

// Features are the same, to the bit, wherever the origin of time is, and after a restart at any event. The
// nodes of a question may never have been met.
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
		run := func(by int64, restart int) (all []float32) {
			h, classes := &temporal.History{Last: h.Last, Within: h.Within}, &temporal.Classes{}
			for i, e := range list {
				if i == restart {
					var a, b bytes.Buffer
					if err := h.Save(&a); err != nil {
						t.Fatal(err)
					}
					if err := classes.Save(&b); err != nil {
						t.Fatal(err)
					}
					h, classes = &temporal.History{Last: h.Last, Within: h.Within}, &temporal.Classes{}
					if err := h.Load(&a); err != nil {
						t.Fatal(err)
					}
					if err := classes.Load(&b); err != nil {
						t.Fatal(err)
					}
				}
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
				all = append(append(all, x...), classes.Describe(e.Source, e.Time+by)...)
				e.Time += by
				if err := h.Add(e); err != nil {
					t.Fatal(err)
				}
				classes.Add(e)
			}
			return all
		}
		want := run(0, -1)
		for _, by := range []int64{1e9, -1e9, -60, 1 << 55, math.MinInt64, math.MaxInt64 - last} {
			if got := run(by, -1); !slices.Equal(got, want) {
				t.Errorf("Last %d, Within %d: other features where times are shifted by %d", h.Last, h.Within, by)
			}
		}
		for at := range list {
			if got := run(math.MinInt64, at); !slices.Equal(got, want) {
				t.Errorf("Last %d, Within %d: other features after a restart at event %d", h.Last, h.Within, at)
			}
		}
	}
}

// A node that was removed has no contacts and no class, and can get others.
func TestClassesForgetNode(t *testing.T) {
	var removed, never temporal.Classes
	for _, c := range []*temporal.Classes{&removed, &never} {
		c.Add(event.Event{Kind: event.SetClass, Source: 1, Class: 1})
		c.Add(event.Event{Source: 0, Target: 1})
	}
	removed.Add(event.Event{Kind: event.SetClass, Source: 2, Class: 0})
	removed.Add(event.Event{Source: 0, Target: 2})
	removed.Add(event.Event{Source: 2, Target: 2})
	removed.Add(event.Event{Kind: event.RemoveNode, Source: 2})
	removed.Add(event.Event{Kind: event.RemoveNode, Source: 9}) // never met
	if got, want := removed.Describe(0, 5), never.Describe(0, 5); !slices.Equal(got, want) || removed.Class(2) != -1 {
		t.Errorf("%v, want %v; class %d", got, want, removed.Class(2))
	}
	removed.Add(event.Event{Kind: event.SetClass, Source: 2, Class: 3})
	if removed.Class(2) != 3 || removed.Len() != 4 {
		t.Errorf("class %d of %d, want 3 of 4", removed.Class(2), removed.Len())
	}
}
