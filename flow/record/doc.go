// Package record is the contract between stages: which columns a record of
// graphs has after each of them, and how to read and build those columns.
//
//	gs, err := record.GraphsOf(rec) // a view: nothing is copied
//	if err != nil {
//		return err
//	}
//	var g graph.Graph
//	for row := range gs.Len() {
//		gs.At(row, &g)
//		fmt.Println("graph", gs.ID(row), "has", g.N(), "nodes")
//	}
//
// One arrow.Record is a batch of rows, and one row is one graph, or one chunk
// of the root nodes of a large graph. Each stage adds columns and shares those
// before it:
//
//	source     graph_id    int64            number of the graph in its source
//	           pos         int64            position of the row in its source
//	           offsets     list<int32>      CSR, n+1 per graph
//	           neighbors   list<int32>      CSR, ascending per node; metadata: directed, and the columns of tables
//	           node_cat    list<int32>      (n, d_v) discrete attributes, as indices; metadata: channels
//	           node_attr   list<float32>    (n, c_v) continuous attributes
//	           node_sparse list<list<int32>>  one set of indices per node, ascending; metadata: cardinality
//	           edge_cat    list<int32>      (CSR entries, d_e)
//	           edge_attr   list<float32>    (CSR entries, c_e)
//	           target      int32 | float32  class, -1 = unknown, or real value; metadata: classes
//	           targets     list<float32>    several targets: a class by its index or a number of each, NaN = unknown; metadata: names and classes
//	           node_target list<int32>      class of each node, -1 = unknown
//	           degrees     list<int32>      degree of each node in the graph that this one is a part of; of parts alone
//	           node_ids    list<int64> | list<utf8>  id of each node in the source, where that is not its number; all different
//	Select     roots       list<int32>      w nodes in rank order, -1 = zero field
//	Assemble   hood        list<list<int32>>  nodes around each root, by distance
//	           dist        list<list<uint8>>  their hop distances
//	Normalize  members     fixed_size_list<int32>[w·k]         node of each cell, -1 = dummy
//	           mask        fixed_size_list<uint8>[w·k]         1 = node, 0 = dummy; where asked for
//	           nodes_cat   fixed_size_list<int32>[w·k·d_v]     -1 = dummy
//	           nodes       fixed_size_list<float32>[w·k·c_v]   0 = dummy
//	           nodes_sparse list<list<int32>>                  w·k sets, empty = dummy
//	           edges_cat   fixed_size_list<int32>[w·k·k·d_e]   -1 = no edge
//	           edges       fixed_size_list<float32>[w·k·k·c_e] 0 = no edge
//	           root_target list<int32>                         w classes of the roots, -1 = unknown or zero field
//	           root_ids    list<int64> | list<utf8>            w ids of the roots, 0 or "" = zero field, which roots tells
//	exports    member_ids  list<int64> | list<utf8>            w·k ids of the members, 0 or "" = dummy, which members tells
//	Count      words_ids   list<uint64>     what stands in the graph, strictly ascending; other names by its Name
//	           words_counts list<float32>   how often each does
//	any of them columns    fixed_size_list<float32>[c]         c numbers of the row, NaN = missing; metadata: their names
//
// graph_id, pos, offsets and neighbors are always there; an attribute or target
// column is there when the graphs have it. No column holds nulls; a missing number
// of node_attr, edge_attr, nodes, edges or columns is NaN. Shapes, channel names and class names travel
// in the metadata of the fields.
//
// Letters: n nodes, w fields per graph, k nodes per field, d_v and d_e discrete
// and c_v and c_e continuous attributes of nodes and edges.
//
// # Names
//
// Ids of nodes are any 64-bit integers or any UTF-8 text, in the order of the nodes; no order of
// the values is asked for, and no two nodes of a graph have the same one. A record has at most
// 2³¹-1 bytes of them. All chunks of a graph share the buffers. The id 0 and the empty string are
// ids like others; the column roots marks zero fields.
//
// The values of a discrete attribute may be words: Channel.Words, ascending, in the metadata of the
// column. The words are fixed when the source opens. The last value, Card-1, represents all other
// words. Class names stand in the metadata likewise.
//
// # A new column
//
// Two tables hold the columns of graphs: kinds in this package, attributes in package
// graph. Builders, views, files, checks and sizes go by the tables. A trial column,
// node_time with some float32 for each node, took 20 lines in eight files to go from
// sources.Graphs through files and checks to a tensor of Normalize:
//
//	flow/record/layout.go          its name, and its channels in Layout
//	flow/record/kinds.go           its row: where a record finds the values
//	flow/record/doc.go             the table above
//	flow/graph/graph.go            the slice of a Graph
//	flow/graph/attribute.go        its row: copies, sizes and checks of a Graph
//	flow/flowtest/sample.go        values, so that every operator is checked with it
//	sources/graphs.go              its channels, where a program gives no Layout
//	operators/normalizecolumns.go  its tensor of fields
//
// The order of nodes in a field does not ask such a column; operators/field decides that.
//
// # Ownership
//
// A record that arrives on a channel, or is returned by a function, belongs to the receiver, which
// releases it. A function borrows a record argument for the call and retains it if it keeps it. The
// slices of a view are valid as long as the record is.
package record
