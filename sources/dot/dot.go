// Package dot reads graphs in the language of Graphviz.
package dot

import (
	"context"
	"io"

	"github.com/apache/arrow/go/v15/arrow/memory"

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
// undirected edge becomes two arcs. -> in a graph, -- in a digraph, a file without a graph, and
// subgraphs more than 1000 deep are errors.
//
// graph_id and pos are the number of the graph, from 0. The text and all graphs are in memory
// when Open returns, some thirty bytes per edge.
type Source struct {
	// Path is the file.
	Path string
	// Reader, if set, is read in place of Path, which is then only its name in
	// messages. It can be read, and hence the source opened, once.
	Reader io.Reader
	// Rows is the number of graphs per record. The default is 64.
	Rows int
	// MaxBytes bounds the unpacked size of the file. The default is 64 MiB.
	MaxBytes int64
	// Memory bounds the bytes that are taken for the text and its graphs: {a b c}
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
		s.MaxBytes = 64 << 20
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
	p := parser{scanner: scanner{l: l, text: l.Buf[:l.End]}, pulse: reading.Pulse{Alive: reading.Ending(ctx)}}
	p.csr.Alive = reading.Ending(ctx)
	directed := false
	for err = p.advance(); err == nil && p.kind != tokenEnd; {
		var g Graph
		if g, err = p.graph(); err == nil {
			graphs = append(graphs, g)
			directed = directed || g.Graph.Directed
		}
	}
	switch {
	case err != nil:
		return nil, err
	case len(graphs) == 0:
		return nil, l.Errorf("no graph")
	}
	for _, g := range graphs {
		g.Graph.Directed = directed // Undirected rows already hold an arc in each direction.
	}
	return graphs, nil
}
