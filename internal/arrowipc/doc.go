// Package arrowipc decodes Arrow IPC files and streams from untrusted input. Package mapped opens files
// in place with it, and sources.IPC reads files and streams.
//
// Arrow's own reader trusts the lengths in a file: a few changed bits make it allocate without bound,
// read a schema for hours, or panic. This package compares each length with the
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
// # Redundancy
//
// The formats have no checksums. sinks.IPC adds a checksum that other readers skip, and Verify compares
// the file with it, which detects any damage. A file without a checksum is redundant too. These parts
// must agree: the schemas at its beginning and in its footer; the blocks of the footer, which cover the
// file; the buffers, which cover the body of their block in order; the rows of a batch and of each of
// its columns; the number of nulls and the validity bits. A file that opens therefore has all records in
// order. Values are not checked: a reader of a specific column must validate them.
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
