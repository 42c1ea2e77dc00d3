package labeling_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/labeling"
)

// fuse is a context that ends at the n-th look at it.
type fuse struct {
	context.Context
	left atomic.Int64
}

func (f *fuse) Err() error {
	if f.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// Every labeling, and Rank, looks at its context again and again, unless it takes linear time, on graphs with edges and with
// arcs. It stops at whatever look finds the end: a look that is lost leaves a labeling of no looks, or a gap.
func TestLongLabelingsStop(t *testing.T) {
	race.Skip(t)
	const n = 1200
	linear := []string{"degree", "normalized-degree", "core", "attribute-0", "category-0"}
	edges := randomEdges(rand.New(rand.NewPCG(1, 1)), n, 3*n)
	for _, directed := range []bool{false, true} {
		g := build(t, n, directed, edges)
		labels := make([]float64, n)
		for _, l := range append(all(t), labeling.WeisfeilerLehman{Rounds: 3}, labeling.SampledBetweenness{Sources: 20}) {
			if l == labeling.Canonical { // is refused from 1025 nodes on
				continue
			}
			run := func(left int64) (looks int64, err error) {
				f := &fuse{Context: context.Background()}
				f.left.Store(left)
				err = labeling.Compute(l, labeling.Input{Graph: g, Context: f}, labels)
				return left - f.left.Load(), err
			}
			looks, err := run(math.MaxInt32)
			if err != nil {
				t.Fatalf("%s: %v", l, err)
			}
			if slices.Contains(linear, l.String()) != (looks == 0) {
				t.Errorf("%s, directed %v: %d looks", l, directed, looks)
			}
			for _, left := range []int64{0, 1, looks / 2, looks - 1} {
				if left < 0 || left >= looks {
					continue
				}
				after, err := run(left)
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%s, directed %v: cancelled after %d of %d looks: %v", l, directed, left, looks, err)
				}
				// Each worker, and the end, may look once more.
				if over := after - left; over > 8 {
					t.Errorf("%s: went on for %d steps", l, over)
				}
			}
		}
	}
}

// Betweenness of this graph takes tens of seconds. The bound is far above the
// milliseconds that the end takes, for machines that are busy.
func TestCancellationIsQuick(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	g := build(t, 30000, false, randomEdges(rng, 30000, 120000))
	ctx, cancel := context.WithCancel(context.Background())
	var cancelled time.Time
	time.AfterFunc(50*time.Millisecond, func() {
		cancelled = time.Now()
		cancel()
	})
	err := labeling.Compute(labeling.Betweenness, labeling.Input{Graph: g, Context: ctx}, make([]float64, g.N()))
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	took := time.Since(cancelled)
	t.Logf("ended %v after the cancellation", took)
	if took > leak.Patience {
		t.Errorf("ended %v after the cancellation", took)
	}
}

// Disjoint pairs of a six-cycle and two triangles, all of one colour to
// refinement: an order takes as many searches within searches as there are.
func TestRankStops(t *testing.T) {
	var edges []graph.Edge
	const parts = 300
	for i := range int32(parts) {
		edges = append(edges, cycle(12*i, 6)...)
		edges = append(edges, cycle(12*i+6, 3)...)
		edges = append(edges, cycle(12*i+9, 3)...)
	}
	g := build(t, 12*parts, false, edges)
	for _, left := range []int64{0, 1, 10, 100} {
		f := &fuse{Context: context.Background()}
		f.left.Store(left)
		_, _, err := labeling.Rank(f, g, make([]float64, g.N()))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled after %d looks: %v", left, err)
		}
		if over := -f.left.Load(); over > 8 {
			t.Errorf("went on for %d looks", over)
		}
	}
	// The memory that a cancelled call leaves does for the next one.
	small := build(t, 12, false, append(append(cycle(0, 6), cycle(6, 3)...), cycle(9, 3)...))
	if order, canonical, err := labeling.Rank(context.Background(), small, make([]float64, 12)); err != nil || !canonical || len(order) != 12 {
		t.Error(order, canonical, err)
	}
}

// Graphs whose canonical order takes seconds, as words and as a matrix, and
// without a context an error.
func TestCanonicalStops(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, n := range []int{60, 200} {
		var edges []graph.Edge
		for range 3 { // regular, so that refinement helps nothing
			p := permutation(rng, n)
			for i := range n {
				edges = append(edges, graph.Edge{U: p[i], V: p[(i+1)%n]})
			}
		}
		g := build(t, n, false, edges)
		for _, left := range []int64{0, 1, 5, 50} {
			f := &fuse{Context: context.Background()}
			f.left.Store(left)
			err := labeling.Compute(labeling.Canonical, labeling.Input{Graph: g, Context: f}, make([]float64, n))
			if !errors.Is(err, context.Canceled) {
				t.Errorf("n=%d: cancelled after %d looks: %v", n, left, err)
			}
			if over := -f.left.Load(); over > int64(n) {
				t.Errorf("n=%d: went on for %d looks", n, over)
			}
		}
	}
}

// Pooled memory is fit for use after a cancellation.
func TestLabelsAfterCancellation(t *testing.T) {
	g := build(t, 5, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 3}, {U: 3, V: 4}})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 4 {
		_ = labeling.Compute(labeling.Betweenness, labeling.Input{Graph: g, Context: ctx}, make([]float64, 5))
		if got := label(t, labeling.Betweenness, g); got[2] != 4 {
			t.Fatalf("the middle of a path of 5 has betweenness %v, want 4", got[2])
		}
	}
}

// A damaged graph that was not checked is an error, even if goroutines of the labeling
// meet the damage.
func TestDamagedGraphs(t *testing.T) {
	for _, directed := range []bool{true, false} {
		rng := rand.New(rand.NewPCG(5, 5))
		g := build(t, 400, directed, randomEdges(rng, 400, 1200))
		g.Neighbors[700] = 1 << 30
		for _, l := range []labeling.Labeling{labeling.Betweenness, labeling.Betweenness} {
			labels := make([]float64, g.N())
			err := func() (err error) {
				defer func() { // of this goroutine, as a pipeline does
					if p := recover(); p != nil {
						err = errors.New("recovered")
					}
				}()
				return labeling.Compute(l, labeling.Input{Graph: g}, labels)
			}()
			if err == nil {
				t.Errorf("directed %t: %s takes the graph", directed, l)
			}
		}
		g.Neighbors[700] = 0 // the memory that is left does for the next graph
		if err := labeling.Compute(labeling.Betweenness, labeling.Input{Graph: build(t, 5, directed, cycle(0, 5))}, make([]float64, 5)); err != nil {
			t.Error(err)
		}
	}
}
