package dynamic_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph/dynamic"
)

// A graph is the same wherever the origin of time is, up to the least and the greatest time. Removals name what is absent, and nodes come back.
func TestOriginOfTime(t *testing.T) {
	for _, s := range []dynamic.Settings{{}, {Last: 6}, {Within: 1}, {Within: 8}, {Within: math.MaxInt64}, {Within: 8, Directed: true}} {
		rng := rand.New(rand.NewPCG(22, 8))
		var list []event.Event
		for i := range 60 {
			list = append(list, event.Event{
				Kind: event.Kind([]int{0, 0, 0, 0, 1, 2, 5}[rng.IntN(7)]), Pos: int64(i), Time: int64(i/2 + rng.IntN(3)),
				Source: int32(rng.IntN(6)), Target: int32(rng.IntN(6)), Class: int32(rng.IntN(3)) - 1,
			})
		}
		list[0].Time, list[len(list)-1].Time = 0, 40 // the first and the last of all
		run := func(by int64) (graphs []any) {
			g, err := dynamic.New(s)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range list {
				e.Time += by
				if err := g.Apply(&e, nil, nil); err != nil {
					t.Fatal(err)
				}
				classes := []int32{}
				for v := range int32(g.N()) {
					classes = append(classes, g.Class(v))
				}
				graphs = append(graphs, []any{g.Graph(), g.Stats(), classes})
			}
			return graphs
		}
		want := run(0)
		for _, by := range []int64{1e9, -1e9, -20, math.MinInt64, math.MaxInt64 - 40} {
			if got := run(by); !reflect.DeepEqual(got, want) {
				t.Errorf("%+v: another graph where times are shifted by %d", s, by)
			}
		}
	}
}
