// Package field makes receptive fields: it gathers the nodes near a root and
// puts them into a normal order (Niepert et al. 2016, arXiv:1605.05273,
// Algorithms 2 and 4).
//
//	ix := field.NewIndex(g, field.Both)        // once per graph, shared by workers
//	var walk field.Assembler                   // one per worker
//	norm := field.Normalizer{K: 10}            // one per worker; labeling.WL
//	members := make([]int32, norm.K)
//	for _, root := range roots {
//		hood, dist := walk.Assemble(ix, root, norm.K)
//		if err := norm.Normalize(ix, hood, dist, nil, members); err != nil {
//			log.Fatal(err)
//		}
//		fmt.Println(root, members) // -1 is a dummy
//	}
//
// NodeCats, NodeAttrs, EdgeFinder, EdgeCats and EdgeAttrs copy the attributes of the members into
// the rows of the tensors.
//
// Assemblers and Normalizers own scratch memory: results are borrowed until the
// next call, nothing is allocated once the scratch has grown, and the work per
// field is bounded by the neighbourhood, not by the graph.
//
// # The order of the members
//
// G[U] is the graph induced on the neighbourhood U. Nodes are ranked by distance to the root, then by falling
// label; colour refinement, the default, starts from the distances, numbers colours as the textbook does (see
// labeling.WeisfeilerLehman) and ranks the smallest first. If U has more than k nodes, the first k of that
// ranking are N. If the cut would part nodes of equal rank, they are ordered first by node attributes (discrete
// ones, continuous ones, then the sparse one as an ascending list) and edge types (refinement that starts from
// the ranking and the attributes), then by individualising nodes of the divided class and refining: of all
// choices the one with the greatest trace, and of those the one whose finished field is greatest. Only choices
// that give the same field are decided by node number, smallest first. The nodes of N are then ranked again on
// G[N], equal ranks split by attributes in ascending order, and the remaining ties broken by package canon: the
// greatest adjacency matrix, whose entries are edge types, and among automorphic orders the smallest node
// numbers. If U has fewer than k nodes, dummies fill the end.
//
// Renumbering the nodes of a graph therefore leaves every tensor unchanged, byte by byte, as long
// as Stats counts no fallback and attributes are not ignored.
//
// # Hubs
//
// In a graph with hubs U holds thousands of nodes for nearly every root. The first
// round puts the nodes of the last level that have no neighbour in it in front. A
// field that these complete costs the rows of the members and a few of those, not
// the rows of all of U. An Index keeps which neighbours of a hub are seen to share a neighbour with it,
// a bit for each entry of a row: later fields beside the hub pass over them. Index.SetBound goes further: it
// keeps U itself small, which gives other fields beside hubs, at the cost of any other
// field.
//
// # How it is built
//
//	Assembler ── hood, dist ──► Normalizer.Normalize
//	                                 │
//	            more than 64 nodes? cut ──► the nodes that are kept
//	                                 │
//	                              gather ──► problem: levels, edges, types
//	                                 │
//	                               memo  ──► known: the order
//	                                 │
//	              words (up to 64 nodes, undirected, labeling.WL)
//	              lists (all others)
//	                                 │
//	                    crop ──► problem of N ──► memo ──► finish
//
// A problem is all that an order depends on, in numbers of its own. An engine has two
// functions of a problem alone: crop chooses the first k nodes, finish orders all. The
// lists are the plain way to all results; tests compare the words, the cut and the memo
// with them.
//
//	to change                                see
//	what is gathered around a root           assemble.go
//	the same with a bound                    bound.go, boundrank.go
//	what an order depends on                 problem.go; its key in memo.go
//	how edges among nodes are found          gather.go, rows.go, index.go
//	the ranking by a labeling                lists.go, and package labeling
//	which nodes a cut keeps                  lists.go; the same on words.go and cut.go
//	the order of equal nodes                 lists.go, and package canon
//	a statistic                              Stats in normalize.go
//	what is remembered, and for how long     memo.go, cache.go
//	the tensors of a field                   tensor.go, edges.go
package field
