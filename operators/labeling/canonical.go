package labeling

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/sanflow/sanflow/operators/canon"
	"github.com/sanflow/sanflow/operators/internal/refine"
)

// Canonical labels nodes by their place in the canonical order of the graph:
// the first node gets n, the last 1, and no two the same. In a neighbourhood the
// order respects the distances to the root, then node attributes in ascending
// order; edge types and the direction of arcs take part too; see package canon.
// Nodes that are images of each other under an automorphism of the attributed
// graph have different labels, the smaller number the greater, so renumbering may
// exchange the labels of such nodes.
//
// O(n²) memory and O(n³) time at worst, so graphs of more than 1024 nodes
// are an error; so is one that is too hard for the budget of canon.Solver, since its order
// might depend on the numbering.
var Canonical Labeling = canonical{}

// maxCanonical is the largest number of nodes that Canonical accepts.
const maxCanonical = 1024

// errHard is the error of Canonical if the canonical order exceeds the budget.
var errHard = errors.New("the canonical order is too hard to find")

type canonical struct{}

func (canonical) String() string { return "canonical" }

func (canonical) Label(in Input, labels []float64) error {
	n := len(labels)
	if n > maxCanonical {
		return fmt.Errorf("%d nodes, want at most %d", n, maxCanonical)
	}
	if err := in.Err(); err != nil {
		return err
	}
	solver := canon.Solver{Stop: func() bool { return in.Err() != nil }}
	order, quality, err := solver.Graph(in.Graph, colorsOf(in))
	switch {
	case err != nil:
		return err
	case in.Err() != nil:
		return in.Err()
	case quality == canon.Partial:
		return errHard
	}
	for i, v := range order {
		labels[v] = float64(n - i)
	}
	return nil
}

// colorsOf returns the rank of every node by distance, then attributes.
func colorsOf(in Input) []int32 {
	colors := make([]int32, in.Graph.N())
	nodes := make([]int32, len(colors))
	for v := range nodes {
		nodes[v] = int32(v)
	}
	compare := func(u, v int32) int {
		if in.Dist != nil && in.Dist[u] != in.Dist[v] {
			return cmp.Compare(in.Dist[u], in.Dist[v])
		}
		return refine.CompareNodes(in.Graph, u, v)
	}
	slices.SortFunc(nodes, compare)
	for i, v := range nodes {
		if i > 0 {
			colors[v] = colors[nodes[i-1]]
			if compare(nodes[i-1], v) != 0 {
				colors[v]++
			}
		}
	}
	return colors
}
