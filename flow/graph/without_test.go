package graph_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
)

// What is left is what graph.New makes of the edges that are left, with the attributes.
func TestWithout(t *testing.T) {
	for _, directed := range []bool{false, true} {
		edges := []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 0}, {U: 2, V: 3}, {U: 3, V: 4}}
		g, err := graph.New(5, directed, edges)
		if err != nil {
			t.Fatal(err)
		}
		g.NodeCat, g.NodeCats = []int32{10, 11, 12, 13, 14}, 1
		g.SparseCard, g.SparseOffsets, g.NodeSparse = 9, []int32{0, 1, 2, 2, 4, 4}, []int32{3, 5, 1, 7}
		g.EdgeCats = 1
		for v := range int32(5) {
			for _, u := range g.Adj(v) {
				g.EdgeCat = append(g.EdgeCat, min(u, v)*10+max(u, v))
			}
		}
		h, err := g.Without([]int32{1, 1}, []graph.Edge{{U: 4, V: 3}})
		if err != nil {
			t.Fatal(err)
		}
		want, err := graph.New(4, directed, []graph.Edge{{U: 1, V: 0}, {U: 1, V: 2}})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Check(); err != nil || !slices.Equal(h.Offsets, want.Offsets) || !slices.Equal(h.Neighbors, want.Neighbors) {
			t.Errorf("directed %t: %v %v, want %v %v: %v", directed, h.Offsets, h.Neighbors, want.Offsets, want.Neighbors, err)
		}
		cats := []int32{2, 2, 23, 23}
		if directed {
			cats = []int32{2, 23}
		}
		if !slices.Equal(h.NodeCat, []int32{10, 12, 13, 14}) || !slices.Equal(h.EdgeCat, cats) || !slices.Equal(h.Sparse(2), []int32{1, 7}) {
			t.Errorf("directed %t: attributes %v %v %v", directed, h.NodeCat, h.EdgeCat, h.NodeSparse)
		}
		only, err := g.Only([]int32{0, 2, 4})
		rest, failed := g.Without([]int32{1, 3}, nil)
		if err != nil || failed != nil || !reflect.DeepEqual(only, rest) {
			t.Errorf("directed %t: %+v without the others, %+v of these nodes, %v, %v", directed, rest, only, failed, err)
		}
		for _, bad := range []func() (*graph.Graph, error){
			func() (*graph.Graph, error) { return g.Only([]int32{-1}) },
			func() (*graph.Graph, error) { return g.Only([]int32{2, 1}) },
			func() (*graph.Graph, error) { return g.Only([]int32{2, 2}) },
			func() (*graph.Graph, error) { return g.Only([]int32{5}) },
			func() (*graph.Graph, error) { return g.Without([]int32{5}, nil) },
			func() (*graph.Graph, error) { return g.Without(nil, []graph.Edge{{U: 0, V: 4}}) },
			func() (*graph.Graph, error) { return g.Without(nil, []graph.Edge{{U: -1, V: 4}}) },
		} {
			if _, err := bad(); err == nil {
				t.Error("want an error")
			}
		}
	}
}
