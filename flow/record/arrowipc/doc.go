// Package arrowipc decodes the Arrow IPC formats, files and streams, and trusts
// nothing in them. It is the one decoder of this module: package mapped opens
// files in place with it, and sources.IPC reads files and streams.
//
// Arrow's own reader takes lengths in a file at their word: a few changed bits
// make it allocate without bound, walk a schema for hours, or panic. This one
// compares each length with the bytes that there are, and asks before it
// allocates. It never panics, whatever the bytes are; errors say in one line
// what is wrong, and the caller adds the file and the number of the record.
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
// Neither format has checksums. A file that sinks.IPC wrote has one all the same,
// in a place where other readers do not look, and Verify compares the file with
// it: then damage anywhere is seen. Without one too a file says many things twice,
// and all that it says has to agree: the schema at its beginning and that of its footer; the
// footer's blocks, which cover the file from its beginning to its end; the
// buffers, which cover the body of their block in order; the rows of a batch and
// of each of its columns; the nulls and the bits that tell them. So a file that
// opens has all of its records, in their order. Values are not checked: only
// a reader that knows their rules sees damage there.
//
// A stream has no footer. It ends at its mark of the end, or where its bytes do,
// between two messages: one that was cut off there cannot be told from one that
// ended.
//
// # What is read
//
// Whole and real numbers, lists, large lists and fixed-size lists of them, of
// any depth up to 64. Columns of other types are named in the schema, and can be
// left out of a batch.
package arrowipc
