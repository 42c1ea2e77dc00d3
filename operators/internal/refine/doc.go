// Package refine splits the nodes of a graph into ordered cells until nodes of
// one cell have the same number of neighbours in every cell: colour
// refinement, the one-dimensional Weisfeiler–Lehman algorithm.
//
//	var r refine.Refiner
//	r.Reset(len(dist))
//	r.SplitLevels(dist)            // initial colours: hop distances, ascending
//	r.Number(refine.Rows{Off: g.Offsets, Nbr: g.Neighbors}, 0, 0)
//	for i, v := range r.Elems {    // nodes cell by cell, first cell first
//		fmt.Println(v, "has colour", r.Start(v), "and stands at", i)
//	}
//
// # The order of the cells
//
// The order is a function of structure alone, so it can be compared across
// graphs, and renumbering the nodes changes nothing. There are two, for the same
// cells.
//
// Number gives the order that decides fields and labels: the textbook numbering,
// which renumbers in rounds by the sorted signature (old colour, ascending list
// of the neighbours' old colours). Each implementation of that definition
// gives the same order.
//
// Refine is for what needs some invariant order only: ties between whole-graph
// labels, and the searches. A first-in first-out worklist holds cells that still
// have to act as splitters. A splitter S counts, relation by relation in
// ascending code, the neighbours that every node has in S. The cells with
// different counts are split in the order in which they stand; inside a cell the
// fragment with MORE neighbours in S comes first. The largest fragment (the
// first of the largest) keeps the cell's name and, if it has one, its place in
// the worklist; the others enter the worklist in the order in which they stand.
//
// Both leave out the largest fragment, which is Hopcroft's trick, and so take
// O((n + m) log n) (Berkholz, Bonsma and Grohe 2013).
//
// The order of nodes inside one cell means nothing and may depend on numbers.
package refine
