package sources_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/sanflow/sanflow/sources"
)

// Ids with gaps are numbered anew; the comment does not fit them.
func ExampleEdgeList() {
	ctx := context.Background()
	for _, text := range []string{"# 4 nodes\n0 1\n1,2\n", "# 4 nodes\n10 1000000000\n10 10\n7 10\n", "0 1\n1 x\n"} {
		set, err := sources.EdgeList{Path: "mine.edges", Reader: strings.NewReader(text)}.Read(ctx)
		if err != nil {
			fmt.Println(err)
			continue
		}
		it := set.Items[0]
		fmt.Println(it.Graph.N(), "nodes,", it.Graph.M(), "edges,", set.Stats.SelfLoops, "self-loop, ids", it.NodeID.Ints())
	}
	// Output:
	// 4 nodes, 2 edges, 0 self-loop, ids []
	// 3 nodes, 2 edges, 1 self-loop, ids [7 10 1000000000]
	// sources: mine.edges:2: "x", want the id of a node: an integer; sources.Tables reads strings
}
