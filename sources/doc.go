// Package sources brings graphs into a pipeline, as the records that package
// record describes.
//
//	reader, err := tu.Source{Path: "MUTAG.zip"}.Open(ctx, memory.DefaultAllocator)
//	if err != nil {
//		return err
//	}
//	defer reader.Close()
//	rec, err := reader.Next(ctx)
//	for ; err == nil; rec, err = reader.Next(ctx) {
//		fmt.Println(rec.NumRows(), "graphs")
//		rec.Release()
//	}
//	if err != io.EOF {
//		return err
//	}
//
// A pipeline does that for you: flow.From(tu.Source{Path: "MUTAG.zip"}).
//
//	             graph_id  offsets    node_cat     node_attr        edge_cat     edge_attr        target
//	             pos       neighbors
//	tu           number    always     node_labels  node_attributes  edge_labels  edge_attributes  graph_labels, graph_attributes
//	EdgeList     0         always     –            –                –            weights, if asked –
//	Nodes        0         always     –            node_sparse      –            –                node_target from labels
//	NodeSet      0         always     as the graph has them                                       node_target
//	graph6       index     always     –            –                –            –                –
//	dot          index     always     –            –                –            –                –
//	Graphs       index *   always     as the graphs have them                                     Class or Value; node_target too
//	Seq          index *   always     as Layout says
//	Families     index     always     –            –                –            –                family
//	Tables       integer *  always    words        numbers          words        numbers, weight  class or value; node_target
//	Rows         0         always     words        numbers          the key      –                node_target: RowSet
//	nodelink     index       always     words        numbers          words        numbers          class of the graph; node_target
//	molecules    row       always     words        –                words        –                class or value
//	IPC, Mapped  what the file has
//	Records      whatever the records have
//
//	index *:    or Item.ID
//	integer *:  the name of the graph where that is an integer, else its place
//
// A graph of an edge list whose ids have gaps has the ids of its nodes in node_ids, also in the
// files that the graph is written to. Columns that name nodes, such as roots and members of fields,
// hold numbers from 0. The id of node v is the value at v of node_ids, if a row has that column.
//
// A source is a value: it prints, it can be opened many times and by several
// goroutines at once, and it never prints or exits. Each Open gives a reader of
// its own, which one goroutine uses. Every Next returns a record that the
// caller owns and releases, and io.EOF after the last; graphs come in order.
// Errors of files are [FileError] and name file and line.
//
// Sources of text obey two bounds: MaxBytes of unpacked text, and Memory, the bytes allocated for
// the parsed data, which are charged before their allocation. Both are errors that name the place.
// Every source stops within a second when its context ends, in the middle of a line too.
//
// Tables of a Reader: [Text] of values returns rows as they come. [CSV], [JSONLines],
// and Text of objects, read 256 KiB or to the end of the Reader before the first row, and return
// later rows as they come.
//
// [Seq] is for graphs that a program has by other ways, from a channel or an
// iterator, and [Builder] makes such graphs.
//
// Package generate makes single graphs; package download finds a TU collection
// by name. Packages dot, graph6, molecules, nodelink, parquet and tu read files of these formats, and a program
// that imports them reads them by [Open] too.
package sources
