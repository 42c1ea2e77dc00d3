// Package dynamic keeps a graph that changes.
//
//	g, err := dynamic.New(dynamic.Settings{Last: 10_000}) // a window of the last 10 000 edges
//	if err != nil {
//		log.Fatal(err)
//	}
//	for e := range events {
//		if err := g.Apply(&e, nil, nil); err != nil {
//			log.Fatal(err)
//		}
//	}
//	fmt.Println(g.N(), "nodes,", g.M(), "edges;", g.Adj(0))
//
// Nodes keep their numbers. Each row has room for some more entries, and moves where it needs more. A change costs
// O(d) in the degrees d of its nodes, independent of the size of the graph. A removal costs as much as an addition.
// Fields and other readers read the same rows: nothing is copied.
package dynamic
