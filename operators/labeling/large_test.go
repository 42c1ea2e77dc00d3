package labeling_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/labeling"
)

// large returns graphs of n nodes, which take no time to make: a path, a star,
// and a torus of about so many.
func large(n int32) map[string]*graph.Graph {
	path := &graph.Graph{Offsets: make([]int32, 1, n+1), Neighbors: make([]int32, 0, 2*n)}
	for v := range n {
		if v > 0 {
			path.Neighbors = append(path.Neighbors, v-1)
		}
		if v < n-1 {
			path.Neighbors = append(path.Neighbors, v+1)
		}
		path.Offsets = append(path.Offsets, int32(len(path.Neighbors)))
	}
	star := &graph.Graph{Offsets: make([]int32, 1, n+1), Neighbors: make([]int32, 0, 2*n)}
	for v := range n - 1 {
		star.Neighbors = append(star.Neighbors, v+1)
	}
	for v := range n {
		star.Offsets = append(star.Offsets, n-1+v)
	}
	star.Neighbors = append(star.Neighbors, make([]int32, n-1)...)
	side := int32(1)
	for (side+1)*(side+1) <= n {
		side++
	}
	torus := &graph.Graph{Offsets: make([]int32, 1, n+1), Neighbors: make([]int32, 0, 4*n)}
	for v := range side * side {
		x, y := v%side, v/side
		row := [4]int32{y*side + (x+1)%side, y*side + (x+side-1)%side, (y+1)%side*side + x, (y+side-1)%side*side + x}
		for i := range row { // sorted
			for ; i > 0 && row[i-1] > row[i]; i-- {
				row[i-1], row[i] = row[i], row[i-1]
			}
		}
		torus.Neighbors = append(torus.Neighbors, row[:]...)
		torus.Offsets = append(torus.Offsets, int32(len(torus.Neighbors)))
	}
	return map[string]*graph.Graph{"path": path, "star": star, "torus": torus}
}

func TestLargeGraphs(t *testing.T) {
	for name, g := range large(50) {
		if err := g.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Every labeling, and Rank behind it, ends within a second of the cancellation on
// graphs of 600 000 nodes, or two million if SANFLOW_LONG is set.
func TestLargeLabelingsStop(t *testing.T) {
	if testing.Short() || race.Enabled {
		t.Skip("takes seconds, and without the race detector")
	}
	n := int32(600_000)
	if os.Getenv("SANFLOW_LONG") != "" {
		n = 2_000_000
	}
	graphs := large(n)
	for name, g := range graphs {
		labels := make([]float64, g.N())
		arcs := *g // both ways
		arcs.Directed = true
		list := all(t)
		for i := range len(list) + 1 {
			l, g := labeling.Labeling(labeling.WL), &arcs
			if i < len(list) {
				l, g = list[i], graphs[name]
			}
			ctx, cancel := context.WithCancel(context.Background())
			end := make(chan time.Time, 1)
			timer := time.AfterFunc(50*time.Millisecond, func() { end <- time.Now(); cancel() })
			err := labeling.Compute(l, labeling.Input{Graph: g, Context: ctx}, labels)
			if err == nil {
				_, _, err = labeling.Rank(ctx, g, labels)
			}
			if !timer.Stop() && errors.Is(err, context.Canceled) {
				if took := time.Since(<-end); took > leak.Patience { // for machines with much else to do
					t.Errorf("%s of a %s ended %v after the cancellation", l, name, took)
				}
			}
			cancel()
		}
	}
}
