// Package refine splits the nodes of a graph into ordered cells until nodes of
// one cell have the same number of neighbours in every cell: colour
// refinement, the one-dimensional Weisfeiler–Lehman algorithm.
//
//	var r refine.Refiner
//	r.Reset(len(dist))
//	r.SplitLevels(dist)            // initial colours: hop distances, ascending
//	r.QueueAll()
//	r.Refine(refine.Rows{Off: g.Offsets, Nbr: g.Neighbors})
//	for i, v := range r.Elems {    // nodes cell by cell, first cell first
//		fmt.Println(v, "has colour", r.Start(v), "and stands at", i)
//	}
//
// # The order of the cells
//
// The order is a function of structure alone, so it can be compared across
// graphs, and renumbering the nodes changes nothing. A first-in first-out
// worklist holds cells that still have to act as splitters. A splitter S
// counts, relation by relation in ascending code, the neighbours that every
// node has in S. The cells with different counts are split in the order in
// which they stand; inside a cell the fragment with MORE neighbours in S comes
// first. The largest fragment (the first of the largest) keeps the cell's name
// and, if it has one, its place in the worklist; the others enter the worklist
// in the order in which they stand. Leaving out the largest is Hopcroft's
// trick, and makes the whole O((n + m) log n) (Berkholz, Bonsma and Grohe
// 2013).
//
// The order of nodes inside one cell means nothing and may depend on numbers.
package refine
