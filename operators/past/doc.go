// Package past cuts the past of a row out of a graph of rows and keys: what was known when the row
// came. A row is one that happened, such as a payment; a key is a value that rows share, such as an
// account.
//
//	rows := past.Rows{Graph: whole, N: 1000, Timed: 990, Time: times}
//	var c past.Cutter
//	g, nodes, err := c.Cut(&rows, 17) // node 0 of g is row 17, nodes[i] is node i of g in whole
//
// # The graph of rows
//
// Nodes 0 … N-1 of the graph are rows in the order of their times, equal times in the order of the
// table, and rows of unknown time behind all others. The other nodes are keys. An edge joins a row
// and a key. So the rows before row r at a key are those neighbours of the key that are less than r.
//
// # The past
//
// The past of a row has the row, its keys, behind each key the latest Bound rows before the row,
// the keys of these, behind each of those keys the latest Bound rows before the row, and so on for
// Hops steps, until it has Nodes nodes, and all edges between these nodes. Later rows and rows of
// unknown time are never in it. A row of unknown time has its keys alone. Equal times: the number of
// the row decides. The past of a row is therefore that of the table that ends with the row.
//
// # Order and attributes
//
// Node 0 is the row. The keys of a row follow in the order of the attributes of their edges, then of
// their discrete attributes; the rows behind keys latest first, the latest of each key before the
// second latest of any. The order does not depend on the numbers of the keys, as long as no two keys
// of a row are equal in both. All attributes are those of the graph. Three channels are added (Settings.Layout):
//
//	known class  (node_cat, if Classes is set) the class of an earlier row, by the rule of labels;
//	             the last value for other nodes, as for the row itself
//	log(1 + time before)
//	             (node_attr) log(1 + t), where t is the time of the row minus that of an earlier row,
//	             NaN for keys
//	turn         (edge_cat) of an edge between a key of the row and another row: 2 if that is the latest one before
//	             the row at the key, 1 if it is later than the row, else 0; 3 for other edges
//
// # The rule of labels
//
// A class is known where Rows.Class has it, and where the time of its row plus Delay is less than that of the
// row that is asked about; without a Delay where its row is earlier. The class of the row itself is never known.
package past
