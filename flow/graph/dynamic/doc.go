// Package dynamic keeps a graph that changes.
//
//	g, err := dynamic.New(dynamic.Settings{Last: 10_000}) // a window of the last 10 000 edges
//	if err != nil {
//		log.Fatal(err)
//	}
//	for e := range events {
//		if err := g.Apply(&e, nil); err != nil {
//			log.Fatal(err)
//		}
//	}
//	s := g.Snapshot() // stays as it is while g changes
//	fmt.Println(s.N(), "nodes,", s.M(), "edges;", s.Adj(0))
//
// Nodes keep their numbers. Rows are kept in blocks of 64 nodes, each of which is compact in
// itself. A change costs O(size of the blocks of its nodes), independent of the size of the graph.
// A removal costs as much as an addition. A snapshot shares all blocks with the graph; a block is
// copied when it changes for the first time after that.
package dynamic
