// Package arrowipc decodes the Arrow IPC formats, files and streams, and trusts
// nothing in them. It is the one decoder of this module: package mapped opens
// files in place with it, and sources.IPC reads files and streams.
//
// Arrow's own reader takes lengths in a file at their word: a few changed bits make it allocate
// without bound, walk a schema for hours, or panic. This package compares each length with the
// available bytes and checks the budget before it allocates. It never panics, for any bytes. An
// error is one line, to which the caller adds the file and the number of the record.
//
//	f, err := arrowipc.OpenFile(r, size, nil)
//	…
//	for i := range f.Len() {
//		meta, body, err := f.Read(i, nil)
//		cols, rows, err := f.Schema.Batch(meta, body, arrowipc.Options{})
//		…
//	}
//
// # What a file says twice
//
// Neither format has checksums. A file that sinks.IPC wrote has one all the same, in a place where
// other readers do not look, and Verify compares the file with it: then damage anywhere is seen. A
// file without a checksum is redundant too, and its parts must agree: the schema at its beginning
// and that of its footer; the footer's blocks, which cover the file from its beginning to its end;
// the buffers, which cover the body of their block in order; the rows of a batch and of each of its
// columns; the number of nulls and the validity bits. So a file that opens has all of its records,
// in their order. Values are not checked: a reader of a specific column must validate them.
//
// A stream has no footer. It ends at its end marker or between two messages at the end of its
// bytes; a stream truncated there is indistinguishable from a complete one.
//
// # What is read
//
// Whole and real numbers, lists, large lists and fixed-size lists of them, of
// any depth up to 64. Columns of other types are named in the schema, and can be
// left out of a batch.
package arrowipc
