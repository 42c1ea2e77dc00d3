package field_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
)

// tensors holds all that is computed for one root, without node numbers.
type tensors struct {
	real      []bool
	nodeCats  []int32
	nodeAttrs []float32
	adjacency []float32
	edgeCats  []int32
	edgeAttrs []float32
}

func tensorsOf(g *graph.Graph, members []int32) tensors {
	k := len(members)
	t := tensors{
		nodeCats: make([]int32, k*g.NodeCats), nodeAttrs: make([]float32, k*g.NodeAttrs),
		adjacency: make([]float32, k*k),
		edgeCats:  make([]int32, k*k*g.EdgeCats), edgeAttrs: make([]float32, k*k*g.EdgeAttrs),
	}
	for _, v := range members {
		t.real = append(t.real, v >= 0)
	}
	entry := make([]int32, k*k)
	field.NodeCats(g, members, t.nodeCats)
	field.NodeAttrs(g, members, t.nodeAttrs)
	field.Edges(g, members, entry)
	field.Adjacency(entry, t.adjacency)
	field.EdgeCats(g, entry, t.edgeCats)
	field.EdgeAttrs(g, entry, t.edgeAttrs)
	return t
}

func (t tensors) equal(u tensors) bool {
	return slices.Equal(t.real, u.real) && slices.Equal(t.nodeCats, u.nodeCats) &&
		slices.Equal(t.nodeAttrs, u.nodeAttrs) && slices.Equal(t.adjacency, u.adjacency) &&
		slices.Equal(t.edgeCats, u.edgeCats) && slices.Equal(t.edgeAttrs, u.edgeAttrs)
}

// fields returns the members of the field of every node.
func fields(tb testing.TB, g *graph.Graph, dir field.Direction, z *field.Normalizer, global labeling.Labeling) [][]int32 {
	tb.Helper()
	var labels []float64
	if global != nil {
		labels = make([]float64, g.N())
		if err := labeling.Compute(global, labeling.Input{Graph: g}, labels); err != nil {
			tb.Fatal(err)
		}
	}
	ix := field.NewIndex(g, dir)
	var a field.Assembler
	out := make([][]int32, g.N())
	for v := range int32(g.N()) {
		hood, dist := a.Assemble(ix, v, z.K)
		out[v] = make([]int32, z.K)
		if err := z.Normalize(ix, hood, dist, labels, out[v]); err != nil {
			tb.Fatal(err)
		}
		if out[v][0] != v {
			tb.Fatalf("the field of %d starts with %d", v, out[v][0])
		}
	}
	return out
}

// The promise: renumbering the nodes leaves every tensor as it is.
func TestRenumberingChangesNothing(t *testing.T) {
	race.Skip(t)
	settings := []field.Normalizer{
		{},
		{By: labeling.Degree},
		{By: labeling.Betweenness},
		{By: labeling.WeisfeilerLehman{Rounds: 1}},
		{Uniform: true},
	}
	for _, c := range variants() {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(11, 12))
			for i, s := range settings {
				for _, k := range race.Some([]int{5, 1, 2, 10, 17}) {
					for _, dir := range []field.Direction{field.Both, field.Out, field.In} {
						if dir != field.Both && !c.g.Directed {
							continue
						}
						var global labeling.Labeling
						if i == 1 && k == 5 {
							global = labeling.Betweenness
						}
						z := s
						z.K = k
						want := fields(t, c.g, dir, &z, global)
						perm := permutation(rng, c.g.N())
						h := c.g.Renumber(perm)
						got := fields(t, h, dir, &z, global)
						if z.Stats.CropFallback+z.Stats.Partial > 0 {
							t.Errorf("%v k=%d: fallbacks %+v", s.By, k, z.Stats)
						}
						for v := range want {
							if !tensorsOf(c.g, want[v]).equal(tensorsOf(h, got[perm[v]])) {
								t.Fatalf("labeling %v, k=%d, %v: root %d is %v, renumbered %v\nperm %v",
									s.By, k, dir, v, want[v], got[perm[v]], perm)
							}
						}
					}
				}
			}
		})
	}
}

func TestRenumberingChangesNothingOnRealGraphs(t *testing.T) {
	for _, name := range []string{"polbooks", "power", "polblogs"} {
		g := dataGraph(t, name)
		if name == "polblogs" { // its lines are arcs
			g = build(g.N(), true, dataEdges(t, name))
		}
		rng := rand.New(rand.NewPCG(13, 14))
		perm := permutation(rng, g.N())
		h := g.Renumber(perm)
		for _, k := range []int{5, 10, 25} {
			t.Run(fmt.Sprintf("%s/k=%d", name, k), func(t *testing.T) {
				z := field.Normalizer{K: k}
				want := fields(t, g, field.Both, &z, nil)
				got := fields(t, h, field.Both, &z, nil)
				t.Logf("%+v", z.Stats)
				if z.Stats.CropFallback+z.Stats.Partial > 0 {
					t.Errorf("fallbacks: %+v", z.Stats)
				}
				for v := range want {
					if !tensorsOf(g, want[v]).equal(tensorsOf(h, got[perm[v]])) {
						t.Fatalf("root %d is %v, renumbered %v", v, want[v], got[perm[v]])
					}
				}
			})
		}
	}
}
