package sources

import (
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

func values[T record.Value](t testing.TB, rec arrow.Record, name string) []T {
	t.Helper()
	v, err := record.Values[T](rec, name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func pos(t testing.TB, rec arrow.Record, row int) int64 {
	t.Helper()
	return values[int64](t, rec, record.Pos)[row]
}

// cloneGraph copies a graph out of the record that it borrows from.
func cloneGraph(g graph.Graph) graph.Graph {
	g.Offsets, g.Neighbors = slices.Clone(g.Offsets), slices.Clone(g.Neighbors)
	g.NodeCat, g.NodeAttr = slices.Clone(g.NodeCat), slices.Clone(g.NodeAttr)
	g.EdgeCat, g.EdgeAttr = slices.Clone(g.EdgeCat), slices.Clone(g.EdgeAttr)
	return g
}

// sameGraph compares two graphs; nil and empty slices are the same.
func sameGraph(a, b *graph.Graph) bool {
	return a.Directed == b.Directed && a.N() == b.N() &&
		a.NodeCats == b.NodeCats && a.NodeAttrs == b.NodeAttrs && a.EdgeCats == b.EdgeCats && a.EdgeAttrs == b.EdgeAttrs &&
		slices.Equal(a.Offsets, b.Offsets) && slices.Equal(a.Neighbors, b.Neighbors) &&
		slices.Equal(a.NodeCat, b.NodeCat) && slices.Equal(a.NodeAttr, b.NodeAttr) &&
		slices.Equal(a.EdgeCat, b.EdgeCat) && slices.Equal(a.EdgeAttr, b.EdgeAttr)
}
