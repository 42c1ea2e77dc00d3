package operators_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sources"
)

// circle returns a record of one graph: n nodes, each joined to the next two.
func circle(t *testing.T, n int32) arrow.Record {
	g := &graph.Graph{Offsets: make([]int32, 1, n+1), Neighbors: make([]int32, 0, 4*n)}
	for v := range n {
		row := []int32{(v + n - 2) % n, (v + n - 1) % n, (v + 1) % n, (v + 2) % n}
		slices.Sort(row)
		g.Neighbors = append(g.Neighbors, row...)
		g.Offsets = append(g.Offsets, int32(len(g.Neighbors)))
	}
	b := record.NewBuilder(memory.DefaultAllocator, record.Layout{})
	if err := b.Append(g, record.Row{}); err != nil {
		t.Fatal(err)
	}
	rec := b.Record()
	t.Cleanup(rec.Release)
	return rec
}

// Every operator ends within a second of the cancellation on a graph of two
// million nodes.
func TestLargeGraphsStop(t *testing.T) {
	if testing.Short() || race.Enabled {
		t.Skip("takes seconds, and without the race detector")
	}
	src := sources.Records{Records: []arrow.Record{circle(t, 2_000_000)}}
	all := operators.Select{}
	for _, c := range []struct {
		name string
		ops  operators.Recipe
	}{
		{"channel", operators.Recipe{operators.Channel{By: labeling.Betweenness}}},
		{"check", operators.Recipe{operators.Check{}}},
		{"select", operators.Recipe{operators.Select{W: 10, By: labeling.Degree}}},
		{"select depth first", operators.Recipe{operators.Select{W: 10, By: labeling.Attribute{}, DepthFirst: true}}},
		{"assemble", operators.Recipe{all, operators.Assemble{K: 200}}},
		{"chunks", operators.Recipe{all, operators.Chunk{}, operators.Assemble{K: 20}, operators.Normalize{}}},
		{"normalize", operators.Recipe{all, operators.Chunk{Size: 1 << 18}, operators.Normalize{K: 20}}},
		{"normalize globally", operators.Recipe{all, operators.Chunk{Size: 1 << 18}, operators.Normalize{K: 20, By: labeling.Eigenvector, Global: true}}},
		{"per root", operators.Recipe{all, operators.Chunk{Size: 1 << 16}, operators.Normalize{K: 2}, operators.PerRoot{}, operators.Shuffle{}, operators.Batch{}}},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		end := make(chan time.Time, 1)
		timer := time.AfterFunc(150*time.Millisecond, func() { end <- time.Now(); cancel() })
		err := c.ops.Onto(flow.From(src)).Run(ctx)
		if timer.Stop() || !errors.Is(err, context.Canceled) {
			t.Logf("%s: done before: %v", c.name, err)
		} else if took := time.Since(<-end); took > leak.Patience {
			t.Errorf("%s ended %v after the cancellation", c.name, took)
		}
		cancel()
	}
}
