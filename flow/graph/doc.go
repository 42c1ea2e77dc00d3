// Package graph is a graph as plain slices: what a row of a record looks like
// to an algorithm.
//
//	g, err := graph.New(4, false, []graph.Edge{{0, 1}, {0, 2}, {1, 2}, {2, 3}})
//	if err != nil {
//		log.Fatal(err)
//	}
//	for v := range int32(g.N()) {
//		fmt.Println(v, "has degree", g.Degree(v), "and neighbours", g.Adj(v))
//	}
//
// Nothing here knows Arrow, streams or learning, so that every operator's core
// can be called, tested and fuzzed with a graph in hand. Package record turns
// rows into graphs and back without copying.
package graph
