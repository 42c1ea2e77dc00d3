// Package dot reads graphs in the language of Graphviz.
package dot

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"gonum.org/v1/gonum/graph/formats/dot"
	"gonum.org/v1/gonum/graph/formats/dot/ast"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

func init() {
	sources.Register(sources.Format{
		Name: "dot", Endings: []string{".dot", ".gv"},
		Graphs: func(_ context.Context, path string, o sources.Options) (flow.Source, error) {
			return Source{Path: path, Reader: o.Reader}, nil
		},
	})
}

// Source reads the graphs of a file in the language of Graphviz
// (https://graphviz.org/doc/info/lang.html), plain or packed by gzip:
//
//	graph { a -- b -- c; b -- {c d}; e }
//
// Nodes are numbered from 0 in the order of their first occurrence in a graph; Read returns
// their names. Attributes, ports and the names of graphs are ignored. Self-loops and repeated
// edges are dropped. If any graph is a digraph, all graphs of the stream are directed, and an
// undirected edge becomes two arcs. -> in a graph, -- in a digraph, a file without a graph,
// subgraphs more than 1000 deep and more than 2²¹ edge operators are errors.
//
// The parser is that of gonum/graph/formats/dot. What it does not read is an error, where Graphviz
// reads it: lists of nodes (a, b -- c), texts joined by +, text that is no UTF-8, attributes of a
// subgraph, HTML text of more than two levels, keywords such as sUBGRAPH, and a text with two
// backslashes at a line end.
//
// graph_id and pos are the number of the graph, from 0. The text, its tree of some 200 bytes per
// edge and all graphs are in memory when Open returns.
type Source struct {
	// Path is the file.
	Path string
	// Reader, if set, is read in place of Path, which is then only its name in
	// messages. It can be read, and hence the source opened, once.
	Reader io.Reader
	// Rows is the number of graphs per record. The default is 64.
	Rows int
	// MaxBytes bounds the unpacked size of the file. The default is 16 MiB, which takes
	// seconds: once it parses, Open does not see the end of its context.
	MaxBytes int64
	// Memory bounds the bytes that are taken for the text, its tree and its graphs: {a b c}
	// -- {d e f} is an edge for every pair. The default is 1 GiB.
	Memory int64
}

// Graph is a graph of a file.
type Graph struct {
	Graph *graph.Graph
	Names []string // node names without quotes; a name that begins with < keeps its quotes
}

// String names the file, for the plan of a pipeline.
func (s Source) String() string { return s.input().String() }

func (s Source) input() reading.Input {
	if s.MaxBytes == 0 {
		s.MaxBytes = maxBytes
	}
	return reading.Input{Kind: "DOT", Path: s.Path, Reader: s.Reader, MaxBytes: s.MaxBytes, Memory: s.Memory}
}

// Open reads the file.
func (s Source) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	graphs, err := s.Read(ctx)
	if err != nil {
		return nil, err
	}
	items := make([]sources.Item, len(graphs))
	for i, g := range graphs {
		items[i].Graph = g.Graph
	}
	return sources.Graphs{Items: items, Layout: record.Layout{Directed: graphs[0].Graph.Directed}, Rows: s.Rows}.Open(ctx, mem)
}

// Read reads the graphs without making records of them. There is at least one.
func (s Source) Read(ctx context.Context) (graphs []Graph, err error) {
	l, err := s.input().Lines(reading.Ending(ctx))
	if err != nil {
		return nil, err
	}
	defer l.Close()
	for l.Last == nil {
		l.Fill()
	}
	if l.Last != io.EOF {
		return nil, l.Last
	}
	l.Line = 1
	if err := check(l, l.Buf[:l.End]); err != nil {
		return nil, err
	}
	file, err := parse(l, l.Buf[:l.End])
	if err != nil {
		return nil, err
	}
	b := builder{l: l, pulse: reading.Pulse{Alive: l.Alive}}
	b.csr.Alive = l.Alive
	directed := false
	for _, tree := range file.Graphs {
		g, err := b.graph(tree)
		if err != nil {
			return nil, err
		}
		graphs, directed = append(graphs, g), directed || tree.Directed
	}
	for _, g := range graphs {
		g.Graph.Directed = directed // Undirected rows already hold an arc in each direction.
	}
	return graphs, nil
}

// parse returns the syntax tree of a text that check has accepted.
func parse(l *reading.Lines, text []byte) (file *ast.File, err error) {
	if err := l.Alive(); err != nil {
		return nil, err
	}
	last := l.Line
	l.Line = 0 // the syntax tree has no line numbers
	defer func() {
		if bad := recover(); bad != nil { // gonum reports some mistakes by a panic
			err = l.Errorf("%v", bad)
		}
	}()
	if file, err = dot.ParseBytes(append(text, '\n')); err == nil { // a comment needs its line end
		return file, l.Alive()
	}
	place, what, ok := strings.Cut(err.Error(), ": error: ") // place is LINE:COLUMN
	if !ok {
		what = err.Error()
	}
	place, _, _ = strings.Cut(place, ":")
	line, _ := strconv.Atoi(place)
	l.Line = min(line, last)
	return nil, l.Errorf("%.300s", what)
}
