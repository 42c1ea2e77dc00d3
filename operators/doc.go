// Package operators holds the steps of PATCHY-SAN (Niepert et al. 2016, arXiv:1605.05273) and
// operators for streams around them.
//
//	fields := flow.From(src).
//		Via(operators.Select{W: 18, By: labeling.Betweenness}). // w roots per graph, in rank order
//		Via(operators.Assemble{K: 10}).                         // at least k nearest nodes around each
//		Via(operators.Normalize{By: labeling.WL}).              // ranked, exactly k: (w, k, a_v)
//		Via(operators.Batch{Size: 32})                          // 32 graphs: (32, w, k, a_v)
//	fmt.Println(fields) // the plan
//	err := fields.To(sink).Run(ctx)
//
// # Operators and the columns they read and add
//
//	Check         reads the graph          refuses graphs that break the rules
//	Expect        reads the schema         refuses graphs of another layout
//	Channel       reads the graph          adds to node_attr
//	Propagate     reads the graph          changes node_attr; drops node_sparse, on request
//	Select        reads the graph          adds roots
//	Roots         reads the graph          adds roots, given ones
//	Chunk         reads roots              rows of some of the roots each, which share the graph
//	Assemble      reads the graph, roots   adds hood, dist
//	Normalize     reads all of these       adds members, nodes_cat, nodes, nodes_sparse, edges_cat, edges,
//	                                       mask, root_target; drops the graph, hood, dist
//	Count         reads the graph          adds words_ids, words_counts
//	PerRoot       what Normalize adds      a row for each root
//	Standardize   reads nodes              scales it, channel by channel, and fills missing numbers
//	Batch         any                      exactly B rows per record
//	Shuffle       any                      rows in random order
//	Replay        any                      the stream again, every epoch in a new order
//
// Package record describes the columns. Check, Channel, Propagate, Select, Roots, Assemble,
// Normalize and Count handle each row by itself, so a pipeline runs them in several workers; they
// refuse an invalid row, which the policy of the pipeline then handles. Their cores are functions
// over slices, in packages labeling, field, canon and count.
//
// Evolve is a source: it makes the fields that events of a changing graph change.
//
// # One large graph
//
// The nodes of one graph become a stream by Chunk, whose rows share the graph:
//
//	flow.From(sources.EdgeList{Path: "email-Enron.edges.gz"}).
//		Via(operators.Select{}).          // all nodes; or a labeling and a W; or Roots
//		Via(operators.Chunk{Size: 1024}). // 36 rows of 1024 roots
//		Via(operators.Normalize{K: 10}).  // (1024, 10, a_v) each
//		Via(operators.PerRoot{})          // 36 692 rows, (1, 10, a_v)
//
// Normalize gathers the neighbourhoods itself if there is no Assemble, which
// spares their columns: those of a thousand roots near a hub are large.
//
// A Recipe is a list of operators that is kept with a model as JSON, every setting of
// them, and put on a pipeline again; Register makes operators of your own part of it.
//
// # Glossary
//
// These letters mean the same in all packages:
//
//	B        graphs in a batch
//	n, m     nodes and edges of a graph
//	w        receptive fields per graph
//	k        nodes per field
//	s        stride of the selection
//	a_v, a_e attributes of nodes and edges: d_v + c_v and d_e + c_e
//	d_v, d_e discrete attributes, which travel as indices
//	c_v, c_e continuous attributes
//	c        channels of a layer
//	ℓ        a labeling: a larger label is an earlier place
package operators
