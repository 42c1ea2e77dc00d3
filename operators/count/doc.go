// Package count counts the substructures of a graph. The counts are the input of kernels
// between graphs and of linear models.
//
//	ids, counts, err := count.Of(count.Input{Graph: g}, count.WL{Height: 2}, count.Size{})
//
// In a stream the operator Count of package operators does the same, graph by
// graph. The counters are
//
//	WL         colours of the nodes after each round of colour refinement
//	Fields     receptive fields of nodes, as words
//	Paths      pairs of nodes by the length of a shortest path
//	Labels     labels of the nodes
//	Size       nodes and edges
//	Profiles   nodes by the degrees around them
//	Statistics numbers of the whole graph, by how near they are
//	Attributes continuous attributes of nodes and edges, by how near they are
//	Around     attributes of the nodes around a root
//	Pair       what is around and between two roots
//
// and any [Counter] of your own. A counted substructure is called a word.
//
// # Ids
//
// The id of a word is a 64-bit hash of its content. There is no vocabulary, so an id means the
// same in another stream, on another machine and in an unseen graph. Two of a million words have
// the same id with a probability of 3·10⁻⁸. [Hash] defines the function; it does not change
// between versions. For fewer dimensions, take ids modulo a width or build a vocabulary from the
// counts.
//
// Discrete attributes enter as the indices in the graph, so two streams agree if their layouts do.
// Two counters share no ids, except two of one kind with equal words.
//
// [Find] finds the occurrences of words in a graph and names the words.
//
// # Labels
//
// The label of a node is all its discrete attributes and the sparse one. Without such attributes it
// is the degree, as usual for the Weisfeiler–Lehman kernel; in a directed graph both degrees. Fields
// then use no labels, since their structure shows degrees. The label of an edge is its
// discrete attributes. Continuous attributes are ignored, since nearly every value is unique, except
// by Attributes and by Around, which round them.
//
// # Memory
//
// A Bag takes up to 32 bytes for each different word of one graph; each worker of a stream has a
// Bag. Counts are added as float64 and stored in records as float32, exact up to 2²⁴.
package count
