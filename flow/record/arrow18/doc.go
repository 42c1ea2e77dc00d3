// Package arrow18 hands records to and from programs that use arrow-go v18,
// while sanflow itself stays with Arrow v15: buffers are shared, never copied.
//
//	err := flow.From(arrow18.Source{Reader: reader}). // a v18 array.RecordReader
//		Via(operators.Select{W: 18}).
//		…
//		To(arrow18.Sink{Write: func(ctx context.Context, rec arrow.RecordBatch) error {
//			return writer.Write(rec)
//		}}).
//		Run(ctx)
//
// [Export] and [Import] do the same for single records, and [Records] runs a
// pipeline as an iterator.
//
// # Tables
//
// [Rows] adapts a reader of rows: sources.Tables makes a graph of the answer of any query.
// That of a Flight SQL server, for which c is a *flightsql.Client of arrow-go:
//
//	info, err := c.Execute(ctx, "SELECT payer, payee, kind, amount FROM payments")
//	…
//	answer, err := c.DoGet(ctx, info.Endpoint[0].Ticket) // each endpoint has a part of the rows
//	…
//	defer answer.Release()
//	rows, err := arrow18.Rows(answer)
//	…
//	defer rows.Release()
//	src := sources.Tables{Edges: sources.EdgeTable{
//		Table: sources.RecordTable{Reader: rows, Title: "payments"},
//		Source: "payer", Target: "payee", Type: "kind", Weight: "amount",
//	}}
//
// The module flightsql beside this one runs that against arrow-go's own server. DuckDB needs no
// adapter: parquet.Table of package sources/parquet reads its Parquet exports.
//
// # Ownership
//
// A record that was exported or imported has buffers that hold on to those of
// the other library: each of them is released there when the last user here
// has released it. So both sides keep to the rules that they know, either record
// may be released first, and the allocators of both libraries count right. Records
// are not to be written to, on either side.
//
// # Types
//
// Schemas go through the IPC format, on which both libraries agree: all types of v15, with all
// metadata. An extension type that is not registered in both libraries keeps its storage type, with
// the metadata that names it.
//
// Values are not looked at. For records of unknown origin, sources.IPC checks
// every one.
//
// # Why a module of its own
//
// It is beside package record, since it converts records in both directions. It is a nested module,
// so other builds do not depend on v18. A program that uses it adds both modules: go get
// github.com/sanflow/sanflow/flow/record/arrow18.
package arrow18
