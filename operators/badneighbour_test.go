package operators_test

import (
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// A neighbour that is no node of the graph is refused by Assemble, in a graph that is
// walked by sets too, where its number could pass for another's.
func TestBadNeighbour(t *testing.T) {
	for _, bad := range []int32{3, 64, 1 << 20, -64, -1} {
		b := record.NewBuilder(memory.DefaultAllocator, record.Layout{})
		g := &graph.Graph{Offsets: []int32{0, 1, 3, 4}, Neighbors: []int32{1, 0, bad, 1}}
		if err := b.Append(g, record.Row{}); err != nil {
			b.Release()
			continue
		}
		rec := b.Record()
		b.Release()
		var all sinks.Collect
		err := flow.From(sources.Records{Records: []arrow.Record{rec}}).Via(operators.Roots{Nodes: []int32{1}}).Via(operators.Assemble{K: 3}).To(&all).Run(t.Context())
		if err == nil {
			t.Errorf("neighbour %d of 3 nodes: %v", bad, all.Records())
		}
		all.Release()
		rec.Release()
	}
}
