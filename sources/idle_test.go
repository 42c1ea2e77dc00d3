package sources_test

import (
	"testing"

	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources"
)

// TestSeqIdle waits on a channel to which nothing comes, or nothing more.
func TestSeqIdle(t *testing.T) {
	flowtest.RunIdle(t, sources.Seq{Chan: make(chan sources.Item)})
	some := make(chan sources.Item, 3)
	for range cap(some) {
		some <- sources.Item{Graph: &graph.Graph{Offsets: []int32{0}}}
	}
	flowtest.RunIdle(t, sources.Seq{Chan: some, Rows: 2})
}
