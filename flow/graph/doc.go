// Package graph is a graph as plain slices, the form in which an algorithm reads a row of a record.
//
//	g, err := graph.New(4, false, []graph.Edge{{0, 1}, {0, 2}, {1, 2}, {2, 3}})
//	if err != nil {
//		log.Fatal(err)
//	}
//	for v := range int32(g.N()) {
//		fmt.Println(v, "has degree", g.Degree(v), "and neighbours", g.Adj(v))
//	}
//
// The package depends on neither Arrow, streams nor learning, so the core of an operator can be
// called, tested and fuzzed with a graph alone. Package record turns rows into graphs and back
// without copying.
package graph
