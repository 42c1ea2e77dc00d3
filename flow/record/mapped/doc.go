// Package mapped opens Arrow IPC files in place: the columns of a record lie in
// the file, mapped into memory, and nothing is read before it is used.
//
//	f, err := mapped.Open("cnr-2000.arrow")
//	if err != nil {
//		return err
//	}
//	defer f.Close()
//	rec, err := f.Record(0) // a graph of millions of edges, in microseconds
//	if err != nil {
//		return err
//	}
//	defer rec.Release()
//
// A record may outlive its File: the mapping is undone when the file is closed
// and the last buffer is released. The reader of the Arrow library copies every
// buffer twice.
//
// Columns of records of graphs can be mapped: whole and real numbers, lists and fixed-size lists of
// them, nested up to 8 times, in batches that are neither compressed nor of another byte order.
//
// # Trust
//
// Open and Record check that all buffers lie inside the file and that columns have the lengths in
// their batch. The cost does not depend on the number of values. A damaged or truncated file is an
// error, not a panic, and allocates no more than some multiple of its footer. Values are not looked
// at: offsets of lists are checked by the views of package record, and graphs by graph.Graph.Check;
// Verify reads all of a file that has a checksum.
//
// A file that another process truncates while it is mapped faults the program,
// as it does with every mapping; write a new file and rename it instead. On
// systems without mmap the file is read as a whole.
package mapped
