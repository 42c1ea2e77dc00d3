// Package canon puts the nodes of a graph into a canonical order: isomorphic
// graphs get the same adjacency matrix.
//
//	g, err := graph.New(4, false, []graph.Edge{{0, 1}, {1, 2}, {2, 3}})
//	if err != nil {
//		log.Fatal(err)
//	}
//	order, quality, err := canon.Form(g, nil)
//	if err != nil {
//		log.Fatal(err)
//	}
//	fmt.Println(order, quality) // [1 2 0 3] exact
//
// # Which order
//
// The caller may colour the nodes; a smaller colour comes first. Among all
// orders that respect the colours, the canonical one gives the lexicographically
// greatest adjacency matrix, read row by row; of the orders that give the same
// matrix, which are images of each other under automorphisms, it is the
// lexicographically smallest sequence of node numbers. Entries of the matrix
// may be any small numbers, so directed and edge-coloured graphs are covered,
// and roots and node attributes are colours. This is the tie break of
// PATCHY-SAN (Niepert et al. 2016), which leaves it to nauty.
//
// # How
//
// Position by position, the search places a node of the first cell of unplaced
// nodes. The row of a candidate, as far as it can still be chosen, has its
// entries sorted within each cell, and splits the cells accordingly; the
// candidates with the greatest row survive. Ties branch, depth first, against
// the best matrix so far. Candidates that are twins of an earlier one, or its
// image under an automorphism found at an equal leaf that fixes all nodes placed
// so far, are left out. Undirected graphs of at most 64 nodes without edge
// colours are kept as one word per row.
//
// # Cost
//
// O(n²) words if colours leave few ties. The worst case is exponential, as for every known
// method, so a Solver has a budget of visited branches. If it is used up, a search that
// individualises nodes and refines colours takes over, with a fresh budget: the result is then
// still the same for isomorphic graphs, but no longer the greatest matrix. If that is not enough
// either, the best order so far is returned, and it may depend on the numbering. Quality is the one
// of the three that applied.
package canon
