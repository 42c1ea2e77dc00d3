package field_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/field"
)

func boundGraphs() []named {
	rng := rand.New(rand.NewPCG(91, 92))
	return append(variants(),
		named{"crowd", crowd(rng, 4, 300, 200)},
		named{"rmat", rmat(9, 3000, 5)},
		named{"directed hubs", build(60, true, arcs(crowd(rng, 3, 57, 80)))},
	)
}

// A bounded neighbourhood is the whole one where that fits, and else its levels,
// the last of them cut to nodes of no greater degree than those left out.
func TestBoundCutsTheLastLevel(t *testing.T) {
	for _, c := range boundGraphs() {
		for _, dir := range []field.Direction{field.Both, field.Out, field.In} {
			whole, cut := field.NewIndex(c.g, dir), field.NewIndex(c.g, dir)
			for _, bound := range race.Some([]int{7, 1, 4, 20, c.g.N() + 1}) {
				cut.SetBound(bound)
				k := (bound + 1) / 2
				var a, b field.Assembler
				for root := range int32(c.g.N()) {
					hood, dist := a.Assemble(whole, root, min(k, field.MaxK))
					got, gotDist := b.Assemble(cut, root, min(k, field.MaxK))
					checkBounded(t, fmt.Sprint(c.name, dir, bound), c.g, bound, hood, got, dist, gotDist)
				}
			}
		}
	}
}

func checkBounded(t *testing.T, name string, g *graph.Graph, bound int, hood, got []int32, dist, gotDist []uint8) {
	t.Helper()
	if n := min(len(hood), bound); len(got) != n || len(gotDist) != n || !slices.Equal(gotDist, dist[:n]) {
		t.Fatalf("%s: %v at %v, want the first of %v at %v", name, got, gotDist, hood, dist)
	}
	degree := func(v int32) int {
		d := g.Degree(v)
		if g.Directed {
			for u := range int32(g.N()) {
				d += min(1, 1+g.Entry(u, v))
			}
		}
		return d
	}
	last := dist[len(dist)-1]
	worst, best := 0, 1<<30
	for i, v := range hood {
		at := slices.Index(got, v)
		switch {
		case dist[i] < last && (at < 0 || got[i] != v):
			t.Fatalf("%s: node %d at %d is missing from %v", name, v, dist[i], got)
		case at >= 0 && dist[i] == last:
			worst = max(worst, degree(v))
		case at < 0:
			best = min(best, degree(v))
		}
	}
	if worst > best {
		t.Fatalf("%s: %v of %v: degree %d is taken, %d is not", name, got, hood, worst, best)
	}
	for i := 1; i < len(got); i++ {
		if gotDist[i] == gotDist[i-1] && got[i] <= got[i-1] || slices.Contains(got[:i], got[i]) {
			t.Fatalf("%s: %v at %v does not ascend", name, got, gotDist)
		}
	}
}

// If attributes make the rank one without ties, no byte depends on the
// numbering; without attributes none does around hubs with leaves.
func TestBoundedFieldsDoNotDependOnNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(93, 94))
	var leaves []graph.Edge
	for v := int32(3); v < 90; v++ {
		leaves = append(leaves, graph.Edge{U: v % 3, V: v})
	}
	leaves = append(leaves, graph.Edge{U: 0, V: 1}, graph.Edge{U: 1, V: 2})
	list := []named{{"leaves", build(90, false, leaves)}}
	for _, c := range boundGraphs() {
		g := *c.g
		g.NodeAttrs, g.NodeAttr = 1, nil
		for _, p := range rng.Perm(g.N()) {
			g.NodeAttr = append(g.NodeAttr, float32(p))
		}
		list = append(list, named{c.name, &g})
	}
	for _, c := range list {
		perm := permutation(rng, c.g.N())
		h := c.g.Renumber(perm)
		for _, bound := range []int{5, 9} {
			want, got := boundedFields(t, c.g, bound), boundedFields(t, h, bound)
			for v := range want {
				if !bytes.Equal(bytesOf(c.g, want[v]), bytesOf(h, got[perm[v]])) {
					t.Fatalf("%s, bound %d: root %d has %v, renumbered %v", c.name, bound, v, want[v], got[perm[v]])
				}
			}
		}
	}
}

func boundedFields(t *testing.T, g *graph.Graph, bound int) [][]int32 {
	t.Helper()
	ix := field.NewIndex(g, field.Both)
	ix.SetBound(bound)
	var a field.Assembler
	z := field.Normalizer{K: 5}
	out := make([][]int32, g.N())
	for v := range out {
		hood, dist := a.Assemble(ix, int32(v), z.K)
		out[v] = make([]int32, z.K)
		if err := z.Normalize(ix, hood, dist, nil, out[v]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestBoundedSteadyStateAllocatesNothing(t *testing.T) {
	g := rmat(9, 3000, 5)
	ix := field.NewIndex(g, field.Both)
	ix.SetBound(16)
	var a field.Assembler
	z := field.Normalizer{K: 10}
	members := make([]int32, 10)
	run := func() {
		for v := range int32(g.N()) {
			hood, dist := a.Assemble(ix, v, 10)
			if err := z.Normalize(ix, hood, dist, nil, members); err != nil {
				t.Fatal(err)
			}
		}
	}
	run()
	if n := testing.AllocsPerRun(3, run); n > 0 {
		t.Errorf("%v allocations for %d fields, want 0", n, g.N())
	}
	// An index is bounded anew for every graph of a stream.
	if n := testing.AllocsPerRun(3, func() { ix.Reset(g, field.Both); ix.SetBound(16) }); n > 0 {
		t.Errorf("%v allocations to bound a graph again, want 0", n)
	}
}
