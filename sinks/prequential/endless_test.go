package prequential

import (
	"context"
	"os"
	"runtime"
	"testing"

	"github.com/sanflow/sanflow/internal/temporal"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/drift"
	"github.com/sanflow/sanflow/sources/events"
)

// Asking and learning about a stream of any length, with a window, takes no more memory
// than its first fifth, but for the scores that AUC and AP are of.
func TestEndless(t *testing.T) {
	marks := []int{2000, 10_000}
	if os.Getenv("SANFLOW_LONG") != "" {
		marks = []int{100_000, 1_000_000, 10_000_000}
	}
	inUse := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	begin, first, edges := inUse(), int64(0), 0
	l := &Links{
		Net: &nn.Ranker{Seed: 1}, History: &temporal.History{Last: 1500}, Every: 10, Candidates: 20, Drift: &drift.ADWIN{},
		Learned: func(n int) error {
			edges += n
			for _, mark := range marks {
				if edges != mark {
					continue
				}
				bytes := inUse() - begin
				t.Logf("%d edges: %.2f MB in use", edges, float64(bytes)/1e6)
				if first == 0 {
					first = bytes
				} else if scores := int64(8 * min(edges, lastAnswers) * 5 / 4); bytes > first+first/5+scores+1<<17 {
					t.Errorf("%d bytes after %d edges, %d after %d", bytes, edges, first, marks[0])
				}
			}
			return nil
		},
	}
	// The mechanism changes half-way, and no mark is at the end, where all is let go.
	if _, err := l.Run(context.Background(), events.Generated(marks[len(marks)-1]+10, 1)); err != nil {
		t.Fatal(err)
	}
	if edges < marks[len(marks)-1] {
		t.Errorf("%d edges", edges)
	}
}
