// Package labeling scores the nodes of a graph, so that they can be ordered:
// the graph labelings ℓ of PATCHY-SAN (Niepert et al. 2016, arXiv:1605.05273).
//
//	g, err := graph.New(4, false, []graph.Edge{{0, 1}, {0, 2}, {1, 2}, {2, 3}})
//	if err != nil {
//		log.Fatal(err)
//	}
//	labels := make([]float64, g.N())
//	if err := labeling.Betweenness.Label(labeling.Input{Graph: g}, labels); err != nil {
//		log.Fatal(err)
//	}
//	order, _, err := labeling.Rank(ctx, g, labels)
//	fmt.Println(labels, order) // [0 0 2 0] [2 0 1 3]
//
// A larger label means an earlier place. Labels are a function of structure
// alone, to the last bit: renumbering the nodes renumbers the labels. Since
// floating-point sums depend on their order, every labeling here adds whole
// numbers, or adds in an order that does not depend on node numbers. There are
// two exceptions: SampledBetweenness draws sources by number, and Canonical has to
// tell apart even nodes that are images of each other.
//
// # Which costs what
//
// n nodes, m edges, S sources, R rounds:
//
//	degree, normalized-degree, attribute-I   O(n)
//	core                                     O(n + m)
//	wl, wl-H                                 O((n + m) log n)
//	pagerank, eigenvector                    O(R m)
//	clustering                               O(Σ over edges of both degrees)
//	betweenness-S                            O(S m)
//	betweenness                              O(n m), of what its reduction leaves
//	closeness, harmonic                      O(n m)
//	canonical                                O(n³) and more; at most 1024 nodes
//
// Each names its source. On one core of a shared machine, in turn with igraph
// 0.10 and graph-tool 2.45 (BenchmarkBetweenness, BenchmarkPageRank,
// BenchmarkEigenvector), processor time over theirs:
//
//	                              power   astro-ph   email-Enron
//	betweenness / igraph          0.31    0.16       0.16
//	pagerank / graph-tool         1.46    0.76       0.72
//	eigenvector / graph-tool      1.23    0.48       0.90
//
// On a graph of 1.9 million nodes and 29 million edges (RMAT, scale 22), on two
// cores that others share, in seconds of processor time, and memory beside the
// graph, measured in bytes an edge:
//
//	pagerank                            14 s         2.2
//	wl                                  9 to 14 s    18
//	wl, if edges are arcs               12 s         20
//	betweenness-16                      24 to 37 s   14
//
// The tests compare with PageRank and betweenness of Gonum's network package. Gonum is not used
// here: its sums depend on the order of a map, so labels of symmetric nodes would differ in the last
// digit and decide ties.
//
// # An own labeling
//
// Any type with a name and a Label method is a Labeling, for selection, normalization and command
// lines:
//
//	type Triangles struct{}
//
//	func (Triangles) String() string { return "triangles" }
//	func (Triangles) Label(in labeling.Input, labels []float64) error { … }
//
// If it is to be named on a command line, or in the file of a model, Register
// it; its exported fields are then settings, as in "triangles(least=2)".
//
// One that may take seconds returns in.Err() when that is not nil, so that a
// cancelled run ends at once; all of those here do, and Rank.
package labeling
