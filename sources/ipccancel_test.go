package sources_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sinks"
	toparquet "github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/parquet"
)

// A source of files that is cancelled on one large graph ends within a second.
func TestCancelLarge(t *testing.T) {
	n := int32(race.Share(200_000))
	if longTests() {
		n = 2_000_000
	}
	// A circulant graph: 16 neighbours each.
	g := &graph.Graph{Offsets: make([]int32, n+1)}
	for v := range n {
		for _, d := range []int32{-8, -7, -6, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6, 7, 8} {
			if u := v + d; u >= 0 && u < n {
				g.Neighbors = append(g.Neighbors, u)
			}
		}
		g.Offsets[v+1] = int32(len(g.Neighbors))
	}
	b := record.NewBuilder(memory.DefaultAllocator, record.Layout{})
	if err := b.Append(g, record.Row{}); err != nil {
		t.Fatal(err)
	}
	rec := b.Record()
	b.Release()
	defer rec.Release()
	dir := t.TempDir()
	ipc, packed, columns := filepath.Join(dir, "a.arrow"), filepath.Join(dir, "b.arrow"), filepath.Join(dir, "a.parquet")
	for _, s := range []flow.Sink{sinks.IPC{Path: ipc}, sinks.IPC{Path: packed, Compression: "zstd"}, toparquet.Sink{Path: columns}} {
		if err := flow.From(sources.Records{Records: []arrow.Record{rec}}).To(s).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for _, src := range []flow.Source{
		sources.IPC{Path: ipc, MaxBytes: 4 << 30}, sources.IPC{Path: packed, MaxBytes: 4 << 30},
		parquet.Source{Path: columns, MaxBytes: 4 << 30},
	} {
		start := time.Now()
		if _, err := next(context.Background(), src); err != nil {
			t.Fatal(err)
		}
		whole := time.Since(start)
		worst := time.Duration(0)
		for part := range 6 {
			ctx, cancel := context.WithCancel(context.Background())
			var at time.Time
			timer := time.AfterFunc(whole*time.Duration(part)/6, func() { at = time.Now(); cancel() })
			err := func() error { defer timer.Stop(); _, err := next(ctx, src); return err }()
			cancel()
			if err == nil || at.IsZero() {
				continue // it was quicker than that
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v: %v", src, err)
			}
			worst = max(worst, time.Since(at))
		}
		t.Logf("%v: %v in all, cancelled after at most %v", src, whole, worst)
		if worst > leak.Patience {
			t.Errorf("%v: cancelled after %v", src, worst)
		}
	}
}

// next opens a source and reads a record.
func next(ctx context.Context, src flow.Source) (int64, error) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	r, err := src.Open(ctx, mem)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	rec, err := r.Next(ctx)
	if err != nil {
		return 0, err
	}
	defer rec.Release()
	if _, err := r.Next(ctx); err != io.EOF {
		return 0, err
	}
	return rec.NumRows(), nil
}
