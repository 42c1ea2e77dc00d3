package prequential

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/drift"
	"github.com/sanflow/sanflow/sources/events"
)

// changing is a stream with events of every kind, signs, equal times, gaps, and nodes that return.
func changing(n int, seed uint64) (list []event.Event) {
	rng := rand.New(rand.NewPCG(seed, 35))
	for e := range events.Generated(n, seed) {
		e.Attr = []float32{float32(int(e.Source+e.Target)%3 - 1)}
		list = append(list, e)
		also := event.Event{Time: e.Time, Source: e.Source, Target: int32(rng.IntN(240)), Class: -1}
		switch rng.IntN(30) {
		case 0:
			also.Kind = event.RemoveNode
		case 1:
			also.Kind = event.RemoveEdge
		case 2:
			also.Kind, also.Class = event.SetClass, int32(rng.IntN(7))-1
		default:
			continue
		}
		list = append(list, also)
	}
	for i := range list {
		list[i].Pos = int64(i)
	}
	return list
}

// shifted is the same stream with another origin of time.
func shifted(list []event.Event, by int64) (moved []event.Event) {
	for _, e := range list {
		e.Time += by
		moved = append(moved, e)
	}
	return moved
}

// Every program learns and answers the same wherever the origin of time is.
func TestOriginOfTime(t *testing.T) {
	run := func(l Links, list []event.Event) (*Report, error) { return l.Run(context.Background(), seq(list)) }
	benchmark := func(l Links, list []event.Event) (*Report, error) { return l.Benchmark(context.Background(), list) }
	list := changing(250, 4)
	last := list[len(list)-1].Time
	for name, c := range map[string]struct {
		links   Links
		history History
		drift   drift.ADWIN
		run     func(Links, []event.Event) (*Report, error)
	}{
		"links":           {links: Links{Every: 1}, run: run},
		"links, a window": {links: Links{Every: 1, Candidates: 7}, history: History{Within: 500}, drift: drift.ADWIN{Rise: true}, run: run},
		"links, batches":  {links: Links{Every: 9, Candidates: 7}, history: History{Last: 90}, run: run},
		"benchmark":       {links: Links{Every: 3}, run: benchmark},
	} {
		do := func(list []event.Event) (*Report, *nn.Ranker) {
			l, h, d := c.links, c.history, c.drift
			l.Net, l.History, l.Drift = &nn.Ranker{Seed: 3, Batch: 8}, &h, &d
			r, err := c.run(l, list)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return r, l.Net
		}
		want, net := do(list)
		for _, by := range []int64{1e9, -1e9, 1 << 53, -last / 2, math.MinInt64, math.MaxInt64 - last} {
			moved := shifted(list, by)
			got, again := do(moved)
			for i := range got.Alarms {
				got.Alarms[i].Time -= by
			}
			if again.Hash() != net.Hash() || !reflect.DeepEqual(got, want) {
				t.Errorf("%s, times shifted by %d: %+v, want %+v", name, by, got, want)
			}
		}
	}
}

// The parts of the benchmark end at the same events wherever the origin of time is, also where a quantile
// is the time of an event.
func TestQuantileOfTime(t *testing.T) {
	for n := 2; n < 400; n++ {
		for _, step := range []int64{1, 10, 86_400} {
			list := make([]event.Event, n)
			for i := range list {
				list[i].Time = int64(i) * step
			}
			for _, percent := range []int{70, 85} {
				want := percent*(n-1)/100 + 1 // times i·step up to percent·(n-1)/100·step
				for _, by := range []int64{0, 1e9, -1e9, 1 << 55, math.MinInt64, math.MaxInt64 - int64(n)*step} {
					if got := upTo(shifted(list, by), percent); got != want {
						t.Fatalf("%d events %d apart from %d: %d up to %d %%, want %d", n, step, by, got, percent, want)
					}
				}
			}
		}
	}
}
