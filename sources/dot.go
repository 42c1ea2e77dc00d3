package sources

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"gonum.org/v1/gonum/graph/formats/dot"
	"gonum.org/v1/gonum/graph/formats/dot/ast"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// DOT reads the graphs of a file in the language of Graphviz
// (https://graphviz.org/doc/info/lang.html), as plain text or packed by gzip:
//
//	graph { a -- b -- c; b -- {c d}; e }
//
// Nodes are numbered from 0 in the order in which a graph first names them;
// Read tells the names. Attributes, ports and the names of graphs are ignored,
// self-loops and repeated edges dropped. If any graph is a digraph all graphs of
// the stream are directed, and an edge of the others is an arc each way. -> in
// a graph, and -- in a digraph, is an error, and so is a file without a graph.
//
// graph_id and pos are the number of the graph, from 0. The file is in memory
// when Open returns, some hundred bytes per edge.
type DOT struct {
	// Path is the file.
	Path string
	// FS, if set, is where Path is opened.
	FS fs.FS
	// Reader, if set, is read in place of Path, which is then only its name in
	// messages. It can be read, and hence the source opened, once.
	Reader io.Reader
	// Rows is the number of graphs per record. The default is 64.
	Rows int
	// MaxBytes bounds the unpacked size of the file. The default is 64 MiB.
	MaxBytes int64
}

// NamedGraph is a graph of a [DOT] file.
type NamedGraph struct {
	Graph *graph.Graph
	Names []string // of the nodes, as they stand in the file, quotes included
}

// String names the file, for the plan of a pipeline.
func (s DOT) String() string { return s.input().String() }

func (s DOT) input() input {
	if s.MaxBytes == 0 {
		s.MaxBytes = 64 << 20
	}
	return input{"DOT", s.Path, s.FS, s.Reader, s.MaxBytes}
}

// Open reads the file.
func (s DOT) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	graphs, err := s.Read(ctx)
	if err != nil {
		return nil, err
	}
	items := make([]Item, len(graphs))
	for i, g := range graphs {
		items[i].Graph = g.Graph
	}
	return Graphs{Items: items, Layout: record.Layout{Directed: graphs[0].Graph.Directed}, Rows: s.Rows}.Open(ctx, mem)
}

// Read reads the graphs without making records of them. There is at least one.
func (s DOT) Read(ctx context.Context) (graphs []NamedGraph, err error) {
	l, err := s.input().lines(ctx.Err)
	if err != nil {
		return nil, err
	}
	defer l.close()
	for l.last == nil {
		l.fill()
	}
	if l.last != io.EOF {
		return nil, l.last
	}
	file, err := parseDOT(l.buf[:l.end])
	if err != nil {
		return nil, dotError(l.file, err)
	}
	directed := false
	for _, g := range file.Graphs {
		directed = directed || g.Directed
	}
	for i, src := range file.Graphs {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		g, err := buildDOT(src, directed)
		if err != nil {
			return nil, &FileError{l.file, 0, fmt.Errorf("graph %d: %w", i, err)}
		}
		graphs = append(graphs, g)
	}
	return graphs, nil
}

// parseDOT is gonum's parser, which reports some mistakes by a panic.
func parseDOT(text []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	file, err = dot.ParseBytes(text)
	if err == nil && len(file.Graphs) == 0 {
		err = errors.New("no graph")
	}
	return file, err
}

var dotPlace = regexp.MustCompile(`^(\d+):(\d+): (?:error: )?|line[ =](\d+)`)

// dotError takes the line out of a message of the parser.
func dotError(file string, err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	line := 0
	if m := dotPlace.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1] + m[3]) // one of them is empty
		if m[1] != "" {
			text = text[len(m[0]):]
		}
	}
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	return &FileError{file, line, errors.New(text)}
}
