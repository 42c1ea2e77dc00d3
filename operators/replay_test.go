package operators_test

import (
	"context"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/operators"
)

func TestReplayEpochs(t *testing.T) {
	const n = 50
	ids, sizes := play(t, numbered(n, 7), operators.Replay{Epochs: 3, Seed: 5, Rows: 20})
	if !slices.Equal(sizes, []int{20, 20, 10, 20, 20, 10, 20, 20, 10}) {
		t.Errorf("records of %v rows", sizes)
	}
	var epochs [][]int64
	for e := range slices.Chunk(ids, n) {
		epochs = append(epochs, e)
		sorted := slices.Clone(e)
		slices.Sort(sorted)
		if !slices.Equal(sorted, upTo(n)) {
			t.Errorf("epoch %d is no permutation: %v", len(epochs)-1, e)
		}
	}
	if slices.Equal(epochs[0], epochs[1]) || slices.Equal(epochs[1], epochs[2]) || slices.IsSorted(epochs[0]) {
		t.Error("epochs have the same order")
	}
	// The order of an epoch depends on the seed and its number alone.
	longer, _ := play(t, numbered(n, 50), operators.Replay{Epochs: 5, Seed: 5})
	if !slices.Equal(longer[:3*n], ids) {
		t.Error("more epochs change the first ones")
	}
	other, _ := play(t, numbered(n, 7), operators.Replay{Epochs: 3, Seed: 6})
	if slices.Equal(other, ids) {
		t.Error("another seed gives the same orders")
	}
	if none, sizes := play(t, numbered(0, 7), operators.Replay{Epochs: 4}); len(none) != 0 || len(sizes) != 0 {
		t.Errorf("an empty stream: records of %v rows", sizes)
	}
}

// TestReplayWatermark: nothing has left for good before the last epoch.
func TestReplayWatermark(t *testing.T) {
	const n, epochs = 30, 3
	var run *flow.Running
	seen := 0
	ready := make(chan struct{})
	sink := sinkFunc(func(rec arrow.Record) error {
		<-ready
		if done := run.Stats().Done; seen < n*(epochs-1) && done != -1 {
			t.Errorf("after %d rows position %d has left", seen, done)
		}
		seen += int(rec.NumRows())
		return nil
	})
	run = flow.From(numbered(n, 4)).Via(operators.Replay{Epochs: epochs, Rows: 5}).To(sink).Start(context.Background())
	close(ready)
	if err := run.Wait(); err != nil || run.Stats().Done != n-1 || seen != n*epochs {
		t.Errorf("%v, %d rows, Done %d", err, seen, run.Stats().Done)
	}
}
