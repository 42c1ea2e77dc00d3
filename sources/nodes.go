package sources

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
)

// Nodes reads one graph whose nodes have classes, and maybe sets of features and a
// split. It is a zip or a directory, whose files stand there or in one folder
// of it:
//
//	edges.txt     an edge "u v" per line; nodes are numbered from 0
//	labels.txt    the class of each node, a line per node: any text; -1 = unknown
//	features.txt  "index:1 …" or "index …", a line per node, which may be empty (optional)
//	split.txt     train, valid, val, test or none, a line per node       (optional)
//
// The number of nodes is the number of lines of labels.txt. Edges are undirected. Comments,
// self-loops and repeats are as in [EdgeList]. The classes are the distinct labels, ascending as
// numbers if all are numbers, else as text, and become the column node_target. The features of a node are a set
// of indices, column node_sparse, such as the words of a text. A value other than 0 and 1 is an error: [Tables] reads
// attributes that are numbers.
//
// # Cost
//
// O(bytes read + m log m); the whole graph is in memory when Open returns, and
// becomes one record of one row, whose graph_id and pos are 0.
type Nodes struct {
	// Path is a zip file or a directory.
	Path string
	// FS is read in place of Path if set, which is then only its name in messages.
	FS fs.FS
	// MaxBytes bounds the unpacked size of each file. The default is 1 GiB.
	MaxBytes int64
	// Memory bounds the bytes allocated for the data. The default is 4 GiB.
	Memory int64
}

// String names the file, for the plan of a pipeline.
func (s Nodes) String() string { return "Nodes(" + s.Path + ")" }

// Read reads the set without making a record of it.
func (s Nodes) Read(ctx context.Context) (*NodeSet, error) {
	switch {
	case s.MaxBytes < 0:
		return nil, fmt.Errorf("sources: Nodes: MaxBytes is %d, want at least 0", s.MaxBytes)
	case s.Path == "" && s.FS == nil:
		return nil, fmt.Errorf("sources: Nodes: no Path")
	case s.MaxBytes == 0:
		s.MaxBytes = 1 << 30
	}
	return s.readFolder(ctx)
}

// Open reads the set.
func (s Nodes) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	n, err := s.Read(ctx)
	if err != nil {
		return nil, err
	}
	return n.Open(ctx, mem)
}
