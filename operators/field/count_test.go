package field_test

import (
	"fmt"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/canon"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
)

// graphsOfSeven returns one graph of each of the 1044 isomorphism classes on
// seven nodes.
func graphsOfSeven() []*graph.Graph {
	var s canon.Solver
	graphs := [][]uint64{{}}
	for n := 1; n <= 7; n++ {
		seen := map[string]bool{}
		var next [][]uint64
		for _, g := range graphs {
			for mask := uint64(0); mask < 1<<(n-1); mask++ {
				rows := append(append([]uint64(nil), g...), mask)
				for v := range n - 1 {
					rows[v] |= mask >> v & 1 << (n - 1)
				}
				order, _ := s.Bits(rows, nil)
				var form []byte
				for _, u := range order {
					for _, v := range order {
						form = append(form, byte(rows[u]>>v&1))
					}
				}
				if !seen[string(form)] {
					seen[string(form)] = true
					next = append(next, rows)
				}
			}
		}
		graphs = next
	}
	var out []*graph.Graph
	for _, rows := range graphs {
		var edges []graph.Edge
		for u := range int32(7) {
			for v := range u {
				if rows[u]>>v&1 == 1 {
					edges = append(edges, graph.Edge{U: u, V: v})
				}
			}
		}
		out = append(out, build(7, false, edges))
	}
	return out
}

// The connected graphs on seven nodes have 4306 different roots (OEIS A126100),
// so there must be as many different fields of full size, by any labeling.
func TestNumberOfFieldsOnSevenNodes(t *testing.T) {
	graphs := graphsOfSeven()
	for _, by := range race.Some([]labeling.Labeling{labeling.WL, labeling.Degree, labeling.Betweenness}) {
		seen := map[string]bool{}
		z := field.Normalizer{K: 7, By: by}
		for _, g := range graphs {
			for _, members := range fields(t, g, field.Both, &z, nil) {
				if members[6] >= 0 {
					seen[fmt.Sprint(tensorsOf(g, members).adjacency)] = true
				}
			}
		}
		if len(seen) != 4306 {
			t.Errorf("%v: %d different fields, want 4306", by, len(seen))
		}
	}
}
