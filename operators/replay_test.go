package operators_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/internal/note"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
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

// spilling returns what a Replay of fields gives, and the records it had to put
// into a file. The stream has records of several sizes and parts of records.
func spilling(t *testing.T, r operators.Replay) (rows []string, spilled int64) {
	t.Helper()
	before := leak.IgnoreCurrent()
	mem := memory.NewCheckedAllocator(record.Poison{})
	defer mem.AssertSize(t, 0)
	var out sinks.Collect
	defer out.Release()
	run := flow.From(sources.Families{Graphs: 150}).Via(operators.Channel{By: labeling.NormalizedDegree}).
		Via(operators.Select{W: 5}).Via(operators.Assemble{K: 4}).Via(operators.Normalize{Edges: true}).
		Via(operators.Batch{Size: 7}).Via(r).To(&out).With(flow.Options{Allocator: mem}).Start(context.Background())
	if err := run.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := leak.Find(before); err != nil {
		t.Error(err)
	}
	for _, s := range run.Stats().Stages {
		spilled += s.Notes[note.Spilled]
	}
	return flowtest.Rows(out.Records()...), spilled
}

// A Replay that plays from a file gives the rows of one that does not.
func TestReplaySpills(t *testing.T) {
	dir := t.TempDir()
	r := operators.Replay{Epochs: 3, Seed: 9, Rows: 16, Dir: dir}
	want, none := spilling(t, r)
	if none != 0 || len(want) != 450 {
		t.Fatalf("%d rows, %d records in a file", len(want), none)
	}
	last := int64(1 << 62)
	for _, memory := range []int64{1, 60_000, 1 << 30} {
		r.Memory = memory
		got, spilled := spilling(t, r)
		if !slices.Equal(got, want) {
			t.Errorf("%d bytes: the rows differ", memory)
		}
		if spilled >= last || memory == 1 && spilled != 22 || memory == 1<<30 && spilled != 0 {
			t.Errorf("%d bytes: %d of 22 records in a file", memory, spilled)
		}
		last = spilled
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left", err, left)
	}
}

// No file is left by a run that fails while it is written, or while it is played.
func TestReplaySpillFails(t *testing.T) {
	dir := t.TempDir()
	full := errors.New("full")
	fail := sinkFunc(func(arrow.Record) error { return full })
	r := operators.Replay{Epochs: 3, Memory: 1, Dir: dir}
	if err := flow.From(sources.Families{Graphs: 100}).Via(r).To(fail).Run(context.Background()); !errors.Is(err, full) {
		t.Errorf("the error is %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopper := operators.Channel{By: stopping{stop}}
	if err := flow.From(sources.Families{Graphs: 200}).Via(stopper).Via(r).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left", err, left)
	}
	r.Dir = filepath.Join(dir, "nowhere")
	if err := flow.From(sources.Families{Graphs: 9}).Via(r).Run(context.Background()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	} else {
		t.Log(err)
	}
}

// stopping is a labeling that stops the run at the first graph of more than 20
// nodes.
type stopping struct{ stop func() }

func (stopping) String() string { return "stopping" }

func (s stopping) Label(in labeling.Input, labels []float64) error {
	if in.Graph.N() > 20 {
		s.stop()
	}
	return nil
}
