// Package count counts the substructures of a graph, so that graphs can be
// compared by what stands in them: what kernels between graphs, and linear models,
// are made of.
//
//	ids, counts, err := count.Of(count.Input{Graph: g}, count.WL{Height: 2}, count.Size{})
//
// In a stream the operator Count of package operators does the same, graph by
// graph. The counters are
//
//	WL         colours of the nodes after each round of colour refinement
//	Fields     receptive fields of nodes, as words
//	Graphlets  induced subgraphs of 3 to 7 nodes
//	Paths      pairs of nodes by the length of a shortest path
//	Labels     labels of the nodes
//	Size       nodes and edges
//	Profiles   nodes by the degrees around them
//	Statistics numbers of the whole graph, by how near they are
//	Attributes continuous attributes of nodes and edges, by how near they are
//	Around     attributes and known classes of the nodes around a root
//	Pair       what is around and between two roots
//
// and anything with a Count method and a name.
//
// # Ids
//
// What is counted is known by an id of 64 bits, a hash of its content: no
// vocabulary is kept, so that an id means the same in another stream, on another
// machine, and for an unseen graph. Of a million different
// things two have the same id with a probability of 3·10⁻⁸. [Hash] gives the
// function in full; it does not change from one version to the next. For
// fewer dimensions take ids modulo a width, or make a vocabulary, behind the
// counters.
//
// Discrete attributes take part as the indices that graphs carry, so two streams
// agree where their layouts do. Of two counters none have ids in common, but for
// two of the same kind and of settings that do not show in what is counted.
//
// [Find] goes the other way: it finds the occurrences of what a counter counts in a graph,
// and names it by a text.
//
// # Labels
//
// Nodes that are told apart from the start have a label, all their discrete
// attributes with the sparse one. Where the graphs have no such attributes the
// label is the degree, as is common for the Weisfeiler–Lehman kernel on graphs
// without labels; in a directed graph both degrees, of leaving and of arriving
// arcs. Fields and Graphlets tell degrees by themselves and go without. Edges have
// their discrete attributes as labels. Continuous attributes take no part,
// since every node would be a thing of its own, but in Attributes, and where Bins tells
// how they are rounded. A counter that is Plain leaves out all attributes and the
// direction of arcs.
//
// # Memory
//
// A Bag holds 16 bytes and a place in a table, up to 16 more, for each different
// thing in one graph; each worker of a stream has one. Counts are added as float64
// and come out in records as float32, exact up to 2²⁴.
package count
