package sources

import (
	"context"
	"fmt"
	"io"
	"io/fs"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// EdgeList reads one graph from a text file with an edge per line, plain or packed by gzip or
// zstd:
//
//	# power: 4941 nodes, 6594 edges
//	8 6
//	8, 7
//	9	8	0.25
//
// The first two fields of a line are the ids of the ends, separated by blanks, tabs or commas.
// Further fields are ignored, unless Weights is set. Lines that begin with # or % are comments;
// those behind the first edge are counted in the notes. Empty lines are skipped. Lines end in \n or
// \r\n. An edge is undirected unless Directed is set. Self-loops and repeated lines are dropped and
// counted in [EdgeCounts]. A line with one field, an id that is no 64-bit integer, and a file without
// a node are errors.
//
// With Weights the third field of each line is the weight of the edge, a finite decimal number.
// It becomes the continuous attribute weight of edge_attr, as the nearest float32: 0 below
// 7e-46, an error beyond 3.4e38. If an edge has several lines, the smallest weight holds for both
// directions, and lines with another weight are counted as Conflicts.
//
// # Nodes
//
// The nodes are the ids of the edges, in ascending order. Ids 0 … n-1 become the numbers of the
// nodes; ids with gaps are renumbered, so a gap costs nothing. A comment before the first
// edge may state the number of nodes N, isolated ones among them, as "# 4941 nodes" or
// "# Nodes: 4941"; the first such comment counts. If all ids lie in 0 … N-1, or else in 1 … N, these are the nodes. Otherwise the comment is
// ignored. If ids differ from the numbers, [Item].NodeID has them, and so has the column
// node_ids, and files of the record keep them. Roots and members of fields are
// numbers, not ids: see operators.Normalize.
//
// # Cost
//
// O(m) time for m lines, on all processors without Weights; the result does not depend on their number. The
// whole graph is in memory when Open returns. It becomes one record of one row with graph_id
// and pos 0, which shares its memory with what [EdgeList.Read] returns. At the peak it takes, in
// bytes,
//
//	8 m                            the lines as edges
//	4 n + 8 m, or 4 m if Directed  the graph; less where lines repeat
//	8                              for each line of a hub with more than 262 144
//	16 / 64 per id up to the largest, and 8 / 64 per worker; 8 n
//	16 to 32 n for ids larger than 16 times the lines and a million
//	16 MB per worker
//	40 m, and 12 n, for Weights, which one processor sorts
//
// The graph stays in memory. Several processors read a file of Path without Weights whose ids lie in
// 0 … 2 147 483 647. One processor reads any other list, in up to three times the processor time. A
// file whose later lines have larger ids, or an error, is read again from its beginning. More than
// 2³⁰ lines are an error, since rows have 32-bit offsets, and so are more bytes than Memory.
//
// EdgeList is a preset of [Tables]. A METIS file (.graph, .metis) has a line of sizes, and is an error.
type EdgeList struct {
	// Path is the file.
	Path string
	// FS, if set, is the file system of Path.
	FS fs.FS
	// Reader, if set, is read in place of Path, which is then only its name in
	// messages. It can be read, and hence the source opened, once.
	Reader io.Reader
	// Table, if set, is read in place of Path, which is then only its name in messages: its first two columns
	// are the ends, integers or strings, and the third is the weight, NaN where it is missing. It is opened
	// twice. FS, Reader, MaxBytes and Progress are not used.
	Table Table
	// Directed keeps each line as one arc, from the first node to the second.
	Directed bool
	// Weights keeps the third field of each line as an attribute of the edge; a line
	// without one is an error. The default is to ignore it.
	Weights bool
	// MaxBytes bounds the unpacked size of the file. The default is 1 GiB, or 64
	// times the size of the file if that is more.
	MaxBytes int64
	// Memory bounds the bytes allocated for the data. The default is 4 GiB.
	Memory int64
	// Workers is the number of goroutines. The default is one per processor; the
	// result does not depend on it.
	Workers int
	// Progress, if set, is called some times a second while the file is read, by one goroutine,
	// with the bytes read and the size of the file, as packed; 0 if unknown.
	Progress func(read, size int64)
}

// String names the file, for the plan of a pipeline.
func (s EdgeList) String() string { return s.table().String() }

func (s EdgeList) table() edgeTable {
	return edgeTable{Input: reading.Input{Kind: "EdgeList", Path: s.Path, Fsys: s.FS, Reader: s.Reader, MaxBytes: s.MaxBytes, PerByte: 64}, weights: s.Weights, note: s.Progress}
}

// Open reads the file. The reader returns one record, which shares the memory of the graph, and has the
// method Notes, as [TableSet] has the field.
func (s EdgeList) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	set, err := s.Read(ctx)
	if err != nil {
		return nil, err
	}
	return set.Reader(mem), nil
}

// Read reads the graph without making a record of it: the only item, which has no ids where node v
// has the id v.
func (s EdgeList) Read(ctx context.Context) (*TableSet, error) {
	t := Tables{Directed: s.Directed, Memory: s.Memory, Workers: s.Workers}
	names, err := []string{"1", "2", "3"}, error(nil)
	table := Table(s.table())
	if s.Table != nil {
		table = s.Table
		if names, err = s.columns(ctx); err != nil {
			return nil, err
		}
	}
	t.Edges = EdgeTable{Table: table, Source: names[0], Target: names[1], Spaces: OneSpace, Attributes: []string{}, Offsets: map[string]float64{}}
	if s.Weights {
		t.Edges.Weight = names[2]
	}
	set, err := t.Read(ctx)
	if err != nil {
		return nil, err
	}
	set.DropPlainIDs()
	return set, nil
}

// columns returns the column names of Table.
func (s EdgeList) columns(ctx context.Context) (names []string, err error) {
	r, err := s.Table.OpenTable(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for _, c := range r.Columns() {
		names = append(names, c.Name)
	}
	switch {
	case len(names) < 2:
		return nil, &FileError{File: r.Name(), Err: fmt.Errorf("%d columns, want the two ends of an edge", len(names))}
	case s.Weights && len(names) < 3:
		return nil, &FileError{File: r.Name(), Err: fmt.Errorf("%d columns, want the two ends of an edge and its weight", len(names))}
	}
	return names, nil
}
