// Package flowtest checks that an operator, source or sink keeps the rules of
// package flow.
//
//	func TestCount(t *testing.T) {
//		flowtest.Run(t, flowtest.Case{Op: Count{}})
//	}
//
//	func TestRank(t *testing.T) { // reads a column that Select makes
//		flowtest.Run(t, flowtest.Case{
//			Op:     Rank{By: "degree"},
//			Before: []flow.Operator{operators.Select{W: 3}},
//		})
//	}
//
// What goes through is a small stream of graphs with attributes of every kind,
// or records of the caller. The checks, a subtest each:
//
//	open       an unknown schema is an error or not, but no panic
//	workers    2 and 5 workers emit the records of 1
//	order      a stage that forks emits rows in the order they came in
//	cuts       rows are the same however the stream is cut into records
//	empty      records without rows, and a stream without records, pass
//	input      the records that come in are not written to
//	reuse      the operator opens again, also while it runs, to the same result
//	refused    rows around one that is refused are as if it had never been there
//	watermark  a position is acknowledged when its rows are out, and at last all
//	cancel     the run ends soon after its context, in the middle and at the end
//	emit       the error of Emit is returned
//	sink       an error downstream ends the run
//	source     an error upstream ends the run
//
// The first run also counts the calls of Retain and Release of each record and reports a missing
// one.
//
// Each run allocates from a checked allocator over record.Poison, so that a read of
// released memory is an error that names the stage and the line, and must leave
// neither a buffer nor a goroutine behind. Rows that come out are read at the end of
// the run.
//
// If a row is wrong, the error contains the graph of the row as an edge list; see EdgeList.
//
// RunSource and RunIdle check a source, RunSink a sink. Package brokertest checks a connector of
// messages.
package flowtest
