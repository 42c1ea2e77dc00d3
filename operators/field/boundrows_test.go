package field_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/field"
)

// twice lists every third edge of a graph twice.
func twice(g *graph.Graph) *graph.Graph {
	h := &graph.Graph{Offsets: []int32{0}}
	for u := range int32(g.N()) {
		for _, v := range g.Adj(u) {
			h.Neighbors = append(h.Neighbors, v)
			if (u+v)%3 == 0 {
				h.Neighbors = append(h.Neighbors, v)
			}
		}
		h.Offsets = append(h.Offsets, int32(len(h.Neighbors)))
	}
	return h
}

// The edges among the nodes of a bounded neighbourhood
// are those that an index without a bound finds.
func TestBoundedFieldsHaveTheEdgesOfTheGraph(t *testing.T) {
	rng := rand.New(rand.NewPCG(95, 96))
	list := append(boundGraphs(), named{"dense", crowd(rng, 40, 90, 1200)}, named{"rmat, denser", rmat(8, 9000, 6)},
		named{"rmat, in no cache", rmat(16, 400_000, 7)})
	for _, c := range slices.Clone(list) {
		if !c.g.Directed && c.g.EdgeCats+c.g.EdgeAttrs == 0 {
			list = append(list, named{c.name + ", edges twice", twice(c.g)})
		}
	}
	for _, c := range list {
		cut, whole := field.NewIndex(c.g, field.Both), field.NewIndex(c.g, field.Both)
		for _, bound := range race.Some([]int{9, 3, 16, 40, 64, 70}) {
			cut.SetBound(bound)
			k := min((bound+1)/2, 10)
			var a field.Assembler
			x, y := field.Normalizer{K: k}, field.Normalizer{K: k}
			got, want := make([]int32, k), make([]int32, k)
			gotEdges, wantEdges := make([]float32, k*k), make([]float32, k*k)
			var roots []int32
			for v := 0; v < c.g.N(); v += 1 + c.g.N()/500 {
				roots = append(roots, int32(v))
			}
			for i, root := range roots {
				a.Prefetch(cut, roots[i:])
				hood, dist := a.Assemble(cut, root, k)
				if err := x.Normalize(cut, hood, dist, nil, got); err != nil {
					t.Fatal(err)
				}
				if err := y.Normalize(whole, hood, dist, nil, want); err != nil {
					t.Fatal(err)
				}
				if known := x.Adjacency(gotEdges); known != y.Adjacency(wantEdges) || !slices.Equal(got, want) || known && !slices.Equal(gotEdges, wantEdges) {
					t.Fatalf("%s, bound %d, root %d: %v with edges %v, want %v with %v", c.name, bound, root, got, gotEdges, want, wantEdges)
				}
			}
			if x.Stats != y.Stats {
				t.Errorf("%s, bound %d: counts %+v, want %+v", c.name, bound, x.Stats, y.Stats)
			}
		}
	}
}
