package labeling_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/labeling"
)

// The same bytes at any number of processors.
func TestWorkersChangeNoLabel(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	rng := rand.New(rand.NewPCG(31, 2))
	for _, directed := range []bool{false, true} {
		g := build(t, 40_000, directed, randomEdges(rng, 40_000, 90_000))
		for _, l := range []labeling.Labeling{labeling.SampledBetweenness{Sources: 7, Seed: 3}, labeling.PageRank} {
			runtime.GOMAXPROCS(1)
			want := label(t, l, g)
			for _, workers := range race.Some([]int{5, 2}) {
				runtime.GOMAXPROCS(workers)
				if got := label(t, l, g); !slices.Equal(got, want) {
					t.Errorf("%s, directed %v: other labels on %d processors", l, directed, workers)
				}
			}
		}
	}
	g := build(t, 600, false, randomEdges(rng, 600, 1500))
	var told [2]bytes.Buffer
	for i := range told {
		runtime.GOMAXPROCS(1 + i)
		fmt.Fprint(&told[i], label(t, labeling.Betweenness, g))
		_, se, err := labeling.SampledBetweenness{Seed: 4}.Estimate(labeling.Input{Graph: g})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(&told[i], se)
	}
	if !bytes.Equal(told[0].Bytes(), told[1].Bytes()) {
		t.Errorf("errors %s and %s", &told[0], &told[1])
	}
}

func TestSampledSettings(t *testing.T) {
	g := build(t, 4, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}})
	for _, c := range []struct {
		l    labeling.SampledBetweenness
		want string
	}{
		{labeling.SampledBetweenness{Sources: -1}, "-1 sources"},
	} {
		if _, _, err := c.l.Estimate(labeling.Input{Graph: g}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want one with %q", c.l, err, c.want)
		}
	}
	if _, err := labeling.Parse("sampled-betweenness(epsilon=0.02)"); err == nil || !strings.Contains(err.Error(), "epsilon") {
		t.Errorf("a setting that has gone: %v", err)
	}
	l, err := labeling.Parse("sampled-betweenness(sources=5, seed=3)")
	if want := (labeling.SampledBetweenness{Sources: 5, Seed: 3}); err != nil || l != labeling.Labeling(want) {
		t.Errorf("%v, %v, want %v", l, err, want)
	}
}
