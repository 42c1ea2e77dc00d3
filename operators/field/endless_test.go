package field_test

import (
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph/dynamic"
	"github.com/sanflow/sanflow/internal/temporal"
	"github.com/sanflow/sanflow/operators/field"
)

// A stream of any length with a window takes no more memory than its first tenth: fields,
// with additions, removals and classes of a fixed number of nodes, and what is known of
// links, contacts and signs. New nodes take memory, which is by design.
func TestEndless(t *testing.T) {
	events := []int{10_000, 50_000}
	if os.Getenv("SANFLOW_LONG") != "" {
		events = []int{100_000, 1_000_000, 10_000_000}
	}
	const nodes, window = 300, 1500
	begin := inUse()
	for name, s := range map[string]dynamic.Settings{"last": {Last: window}, "within": {Within: window, Directed: true}} {
		f := emptyKept(t, s, field.Both, &field.Normalizer{K: 5, Cache: field.NewCache(1 << 16)})
		history := &temporal.History{Last: s.Last, Within: s.Within}
		rng, start, first, i := rand.New(rand.NewPCG(1, 1)), time.Now(), int64(0), 0
		node := func() int32 { return int32(min(rng.IntN(nodes), rng.IntN(nodes))) }
		for _, until := range events {
			for ; i < until; i++ {
				e := event.Event{Pos: int64(i), Time: int64(i), Source: node(), Target: node(), Class: int32(rng.IntN(5))}
				switch rng.IntN(10) {
				case 0:
					e.Kind = event.RemoveEdge
				case 1:
					e.Kind = event.SetClass
				}
				if err := f.Apply(&e); err != nil {
					t.Fatal(err)
				}
				if i%1000 == 999 {
					if err := f.Refresh(func(int32, []int32, []uint8) error { return nil }); err != nil {
						t.Fatal(err)
					}
				}
				if err := history.Add(e); err != nil {
					t.Fatal(err)
				}
			}
			bytes := inUse() - begin
			t.Logf("%s: %d events: %.2f MB in use, %.0f events/s", name, until, float64(bytes)/1e6, float64(until)/time.Since(start).Seconds())
			if first == 0 {
				first = bytes
			} else if bytes > first+first/5+1<<18 {
				t.Errorf("%s: %d bytes after %d events, %d after %d", name, bytes, until, first, events[0])
			}
		}
		runtime.KeepAlive(f)
		runtime.KeepAlive(history)
	}
}

// inUse is the bytes of the heap that are in use.
func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
