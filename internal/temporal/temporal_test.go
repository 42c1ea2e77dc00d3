package temporal

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/event"
)

func random(n, nodes int, seed uint64) []event.Event {
	rng := rand.New(rand.NewPCG(seed, 1))
	list, now := make([]event.Event, n), int64(0)
	for i := range list {
		now += int64(rng.IntN(4))
		list[i] = event.Event{Pos: int64(i), Time: now, Source: int32(rng.IntN(nodes)), Target: int32(rng.IntN(nodes))}
	}
	return list
}

// What a window keeps is what counting its edges gives, and the last targets are in order.
func TestWindow(t *testing.T) {
	const nodes = 12
	for _, h := range []*History{{}, {Last: 40}, {Within: 30}, {Last: 25, Within: 60}} {
		list := random(600, nodes, 1)
		for i, e := range list {
			if err := h.Add(e); err != nil {
				t.Fatal(err)
			}
			from := 0
			if h.Last > 0 {
				from = max(0, i+1-h.Last)
			}
			for h.Within > 0 && e.Time-list[from].Time >= h.Within {
				from++
			}
			count, latest := map[uint64]int32{}, map[uint64]int{}
			for j, e := range list[from : i+1] {
				count[key(e.Source, e.Target)]++
				latest[key(e.Source, e.Target)] = j
			}
			if len(h.index) != len(count) || h.edges != int64(i+1) {
				t.Fatalf("event %d: %d pairs, want %d", i, len(h.index), len(count))
			}
			for k, n := range count {
				if h.pairs[h.index[k]].count != n {
					t.Fatalf("event %d: a pair has %d edges, want %d", i, h.pairs[h.index[k]].count, n)
				}
			}
			var want []int32
			for v := range int32(nodes) {
				if count[key(e.Source, v)] > 0 {
					want = append(want, v)
				}
			}
			slices.SortFunc(want, func(a, b int32) int { return latest[key(e.Source, b)] - latest[key(e.Source, a)] })
			if got := h.Recent(nil, e.Source, 100); !slices.Equal(got, want) || int(h.nodes[e.Source].targets) != len(want) {
				t.Fatalf("event %d: targets %v, want %v", i, got, want)
			}
		}
		if len(h.pairs) > 80 && h.Last > 0 {
			t.Errorf("%d places for %d pairs", len(h.pairs), len(h.index))
		}
	}
}

// Common neighbours are those of the graph while no node has more than mostWalked.
func TestCommonNeighbors(t *testing.T) {
	h := &History{}
	const nodes = 10
	var joined [nodes][nodes]bool
	for _, e := range random(25, nodes, 2) {
		if err := h.Add(e); err != nil {
			t.Fatal(err)
		}
		joined[e.Source][e.Target], joined[e.Target][e.Source] = true, true
	}
	candidates := make([]int32, nodes)
	for i := range candidates {
		candidates[i] = int32(i)
	}
	x, scores := make([]float32, nodes*Features), make([]float64, nodes)
	for s := range int32(nodes) {
		if err := h.Describe(s, 1000, 3, candidates, x); err != nil {
			t.Fatal(err)
		}
		h.Score(CommonNeighbors, s, candidates, scores)
		for v := range int32(nodes) {
			want := 0.0
			for u := range nodes {
				if joined[s][u] && joined[u][v] {
					want++
				}
			}
			if v != s && scores[v] != want {
				t.Errorf("%d and %d have %v common neighbours, want %v", s, v, scores[v], want)
			}
		}
		for i, f := range x {
			if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
				t.Fatalf("feature %d is %v", i%Features, f)
			}
		}
	}
}

// What is asked about does not depend on the other candidates, and asking changes nothing.
func TestDescribe(t *testing.T) {
	h := &History{Last: 100}
	for _, e := range random(300, 20, 3) {
		if err := h.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	all := []int32{0, 3, 5, 7, 19, 25}
	x, one := make([]float32, len(all)*Features), make([]float32, Features)
	if err := h.Describe(4, 2000, 0, all, x); err != nil {
		t.Fatal(err)
	}
	for i, v := range all {
		if err := h.Describe(4, 2000, 0, []int32{v}, one); err != nil || !slices.Equal(one, x[i*Features:(i+1)*Features]) {
			t.Errorf("candidate %d has other features alone: %v", v, err)
		}
	}
	if h.Describe(4, 0, 0, all, one) == nil || h.Describe(-1, 0, 0, all, x) == nil || h.Describe(1, 0, 0, []int32{-1}, one) == nil {
		t.Error("no error")
	}
	if (&History{}).Add(event.Event{Source: -1}) == nil || (&History{Last: -1}).Add(event.Event{}) == nil {
		t.Error("no error")
	}
	for x := 0.0; x < 1e12; x = x*1.37 + 0.01 {
		if d := math.Abs(float64(logOf(x)) - math.Log1p(x)); d > 2e-4 {
			t.Fatalf("log(1+%v) is off by %v", x, d)
		}
	}
}

// Times at both ends of their range, and times that run backwards, give features that are
// finite numbers, and a window that drops what is too old.
func TestTimes(t *testing.T) {
	for _, times := range [][]int64{
		{math.MinInt64, 0, math.MaxInt64}, {math.MinInt64, math.MinInt64 + 1, math.MaxInt64}, {math.MaxInt64, math.MaxInt64, math.MaxInt64},
		{1e18, 1e18 + 1, 0}, {math.MaxInt64, 0, math.MinInt64},
	} {
		h := &History{Within: 10}
		for i, at := range times {
			for _, v := range []int32{1, 2, int32(3 + i)} {
				if err := h.Add(event.Event{Source: 0, Target: v, Time: at, Attr: []float32{1}}); err != nil {
					t.Fatal(err)
				}
			}
			x := make([]float32, 6*Features)
			if err := h.Describe(0, at, 0, []int32{0, 1, 2, 3, 4, 5}, x); err != nil {
				t.Fatal(err)
			}
			for j, v := range x {
				if v-v != 0 {
					t.Fatalf("times %v: feature %d is %v", times[:i+1], j, v)
				}
			}
		}
		if times[0] == math.MinInt64 {
			if got := h.Recent(nil, 0, 10); !slices.Equal(got, []int32{5, 2, 1}) {
				t.Errorf("times %v: the window has %v", times, got)
			}
		}
	}
}

// A stream with a window takes memory that does not grow with its events.
func TestBoundedMemory(t *testing.T) {
	h := &History{Last: 200}
	for _, e := range random(20000, 100, 4) {
		if err := h.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	if len(h.pairs) > 202 || len(h.queue) > 1024 || len(h.free)+len(h.index) != len(h.pairs) {
		t.Errorf("%d places, %d free, %d in the queue", len(h.pairs), len(h.free), len(h.queue))
	}
}

func BenchmarkDescribe(b *testing.B) {
	h := &History{}
	for _, e := range random(50000, 2000, 5) {
		if err := h.Add(e); err != nil {
			b.Fatal(err)
		}
	}
	candidates := make([]int32, 1000)
	for i := range candidates {
		candidates[i] = int32(i)
	}
	x := make([]float32, len(candidates)*Features)
	for b.Loop() {
		if err := h.Describe(7, 200000, 0, candidates, x); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(candidates)), "ns/candidate")
}
