// Package tu reads collections in the text format of the TU Dortmund collection.
package tu

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

func init() {
	sources.Register(sources.Format{
		Name: "tu", Endings: []string{".zip", "/"},
		Graphs: func(_ context.Context, path string, o sources.Options) (flow.Source, error) {
			return Source{Path: path, Directed: o.Directed}, nil
		},
	})
}

// Source reads a collection of labelled graphs in the text format of the TU
// Dortmund collection (Morris et al. 2020, arXiv:2007.08663; the format is
// described at https://chrsmrrs.github.io/datasets/docs/format/). The files
// stand in a directory or zip, or in one folder of it:
//
//	NAME_A.txt                 an edge "u, v" per line; nodes are numbered from 1 through all graphs
//	NAME_graph_indicator.txt   the graph of each node, numbered from 1
//	NAME_graph_labels.txt      a class per graph: any integers; or real values
//	NAME_graph_attributes.txt  real values per graph, where there is no NAME_graph_labels.txt
//	NAME_node_labels.txt       discrete attributes per node     (optional; any integers)
//	NAME_node_attributes.txt   continuous attributes per node   (optional)
//	NAME_edge_labels.txt       discrete attributes per line of A   (optional)
//	NAME_edge_attributes.txt   continuous attributes per line of A (optional)
//
// Numbers on a line are separated by commas or blanks. Lines end in \n or
// \r\n; empty lines are allowed at the end of a file. One record row is one
// graph, in the order of graph numbers; graph_id and pos are that number,
// counted from 0. A number that no node has is a graph without nodes, but the
// last graph has one: a label line beyond it is an error.
//
// Of several values on a line of graph_labels or graph_attributes the first is the target. A place with several
// collections is an error.
//
// # Values
//
// Classes, node labels and edge labels become the indices 0, 1, … of the
// distinct values in ascending order. The names of the classes are in the
// schema. Real values are decimal
// numbers, and become the nearest float32: 0 below 7e-46, an error beyond 3.4e38.
//
// An edge may be listed in one direction or in both, and is undirected, unless
// Directed is set. Self-loops and repeated lines are dropped. If the lines
// of one edge have different attributes, the smallest holds for both directions, as [sources.EdgeCounts] documents. All of this is counted in the notes, and none of it is an error.
//
// # Cost
//
// Open reads every file once, so a defect of a collection is an error with file and line before the first
// graph flows. The reader holds the lines until it is closed: 4 bytes for each node, 4 for each line of A (8 where a
// graph has more than 65 536 nodes), and 4 for each label or attribute, beside about six times the CSR of the graph that
// it makes. Files that do not list nodes and edges graph by graph are sorted: 4 bytes for each line of A more, and as
// many again while Open reads.
type Source struct {
	// Path is a zip file or a directory.
	Path string
	// FS is read in place of Path if set, an embed.FS for example; Path is then
	// only its name in messages.
	FS fs.FS
	// Rows is the number of graphs per record. The default is 64.
	Rows int
	// Directed keeps each line of A as one arc.
	Directed bool
	// MaxBytes bounds the unpacked size of each file, which guards against
	// archives made to exhaust the machine. The default is 1 GiB; COLLAB, one of
	// the largest collections, unpacks to a third of that.
	MaxBytes int64
	// Memory bounds the bytes allocated for the data, including the record under construction: a
	// zip of some kilobytes can list millions of graphs. The default is 1 GiB.
	Memory int64
}

// String names the collection, for the plan of a pipeline.
func (t Source) String() string {
	s := t.Path
	if s == "" && t.FS != nil {
		s = "fs"
	}
	return "TU(" + s + ")"
}

// Open checks the settings and all files, and reads them. The reader stops with the error of
// ctx when that ends, and has the method Notes with lines about the graphs handed out.
func (t Source) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	switch {
	case t.Rows < 0:
		return nil, fmt.Errorf("sources: TU: Rows is %d, want at least 0", t.Rows)
	case t.MaxBytes < 0:
		return nil, fmt.Errorf("sources: TU: MaxBytes is %d, want at least 0", t.MaxBytes)
	case t.Path == "" && t.FS == nil:
		return nil, fmt.Errorf("sources: TU: no Path")
	}
	if t.Rows == 0 {
		t.Rows = 64
	}
	if t.MaxBytes == 0 {
		t.MaxBytes = 1 << 30
	}
	memory, err := reading.NewBudget("TU", t.Memory, 1<<30)
	if err != nil {
		return nil, err
	}
	files, err := openFiles(t, memory)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	r := &reader{tu: t, files: files}
	r.Ctx, r.Rows, r.Item, r.L = ctx, t.Rows, r.graph, &reading.Lines{File: files.Path(edgesFile), Budget: memory}
	files.Alive = func() error { return context.Cause(r.Ctx) }
	r.csr.Alive = files.Alive
	if err := r.open(mem); err != nil {
		return nil, err
	}
	return r, nil
}

const (
	edgesFile       = "A"
	indicatorFile   = "graph_indicator"
	graphLabels     = "graph_labels"
	graphAttributes = "graph_attributes"
	nodeLabels      = "node_labels"
	nodeAttributes  = "node_attributes"
	edgeLabels      = "edge_labels"
	edgeAttributes  = "edge_attributes"
)

func openFiles(t Source, memory *reading.Budget) (*reading.Folder, error) {
	f, err := reading.OpenPlace(t.Path, t.FS, t.MaxBytes, memory)
	if err != nil {
		return nil, err
	}
	err = f.FindOnly("*_", edgesFile+".txt", "collections", "NAME_A.txt, so no TU collection", func(prefix string) bool {
		return !strings.HasPrefix(path.Base(prefix), ".") // macOS adds a file ._NAME_A.txt to archives
	})
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
