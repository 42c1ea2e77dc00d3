package field_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
)

// withSparse gives each node one of a few sets, so that some are equal, and one
// is a prefix of another.
func withSparse(rng *rand.Rand, g *graph.Graph) *graph.Graph {
	h := *g
	h.SparseCard, h.SparseOffsets = 50, []int32{0}
	for range g.N() {
		set := [][]int32{nil, {3}, {3, 8}, {2, 8, 49}}[rng.IntN(4)]
		h.NodeSparse = append(h.NodeSparse, set...)
		h.SparseOffsets = append(h.SparseOffsets, int32(len(h.NodeSparse)))
	}
	return &h
}

// sets returns the sparse attributes of the members, which is what a network
// gets to see of them.
func sets(g *graph.Graph, members []int32) (out []int32) {
	for _, v := range members {
		if v >= 0 {
			out = append(append(out, g.Sparse(v)...), -1)
		}
	}
	return out
}

// The promise holds for sparse attributes too, with a cache and without.
func TestRenumberingChangesNothingSparse(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	cache := field.NewCache(1 << 20)
	for _, c := range corpus() {
		g := withSparse(rng, c.g)
		perm := permutation(rng, g.N())
		h := g.Renumber(perm)
		for _, by := range []labeling.Labeling{nil, labeling.Degree} {
			for _, k := range []int{3, 5, 10} {
				z := field.Normalizer{K: k, By: by, Cache: cache}
				want := fields(t, g, field.Both, &z, nil)
				got := fields(t, h, field.Both, &z, nil)
				if z.Stats.CropFallback+z.Stats.Partial > 0 {
					t.Errorf("%s k=%d: fallbacks %+v", c.name, k, z.Stats)
				}
				for v := range want {
					if !slices.Equal(sets(g, want[v]), sets(h, got[perm[v]])) ||
						!tensorsOf(g, want[v]).equal(tensorsOf(h, got[perm[v]])) {
						t.Fatalf("%s, labeling %v, k=%d: root %d is %v, renumbered %v", c.name, by, k, v, want[v], got[perm[v]])
					}
				}
			}
		}
	}
}

// A sparse attribute orders nodes as a column of discrete ones does whose values
// are in the order of the sets.
func TestSparseOrdersLikeColours(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	for _, c := range corpus() {
		g := withSparse(rng, c.g)
		plain := *c.g
		plain.NodeCats, plain.NodeCat = 1, nil
		for v := range int32(g.N()) {
			// nil < {2, 8, 49} < {3} < {3, 8}
			set := g.Sparse(v)
			plain.NodeCat = append(plain.NodeCat, map[int]int32{0: 0, 3: 1, 1: 2, 2: 3}[len(set)])
		}
		for _, k := range []int{4, 9} {
			a, b := field.Normalizer{K: k}, field.Normalizer{K: k}
			want, got := fields(t, &plain, field.Both, &a, nil), fields(t, g, field.Both, &b, nil)
			if !slices.EqualFunc(got, want, slices.Equal) {
				t.Errorf("%s, k=%d: the fields differ", c.name, k)
			}
		}
	}
}

// The labeling of a neighbourhood is shown its sparse attributes.
func TestSparseReachesLabelings(t *testing.T) {
	g := withSparse(rand.New(rand.NewPCG(25, 26)), petersen())
	z := field.Normalizer{K: 6, By: words{}}
	for _, m := range fields(t, g, field.Both, &z, nil) {
		// All neighbours of the root are at distance 1: more words come first.
		for i := 2; i < 4; i++ {
			if len(g.Sparse(m[i])) > len(g.Sparse(m[i-1])) {
				t.Errorf("field %v is not in the order of the words", m)
			}
		}
	}
}

// words is the number of words of a node.
type words struct{}

func (words) String() string { return "words" }

func (words) Label(in labeling.Input, labels []float64) error {
	for v := range labels {
		labels[v] = float64(len(in.Graph.Sparse(int32(v))))
	}
	return nil
}
