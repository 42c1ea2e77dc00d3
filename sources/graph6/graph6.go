// Package graph6 reads graphs in the formats graph6 and digraph6.
package graph6

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
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
		Name: "graph6", Endings: []string{".g6", ".d6", ".graph6", ".digraph6"},
		Graphs: func(_ context.Context, path string, o sources.Options) (flow.Source, error) {
			return Source{Path: path, Reader: o.Reader, Directed: o.Directed, Rows: 256}, nil
		},
	})
}

// Source reads graphs in the formats graph6 and digraph6 of McKay
// (https://users.cecs.anu.edu.au/~bdm/data/formats.txt), one a line, as plain text or packed by
// gzip. nauty's geng and the House of Graphs write it. A header, as >>graph6<<, may
// stand before the first graph; empty lines are skipped. Self-loops are dropped.
//
// All graphs of a stream have one direction. A stream is directed if Directed is set or its first
// line is digraph6, which starts with &; a graph6 line then means an arc each way. A digraph6 line
// in an undirected stream is an error, and so are a line of the wrong length for its number of
// nodes, a byte outside 63 … 126, sparse6, and more than 64 MiB on a line, which is 28 000 nodes.
// Each names its line.
//
// graph_id and pos are the number of the graph, from 0. Lines are read as they
// are asked for; O(n² + m) per graph, and memory for one line and a record. A graph of
// 16 MiB goes out alone, and is not copied.
type Source struct {
	// Path is the file.
	Path string
	// Reader, if set, is read in place of Path, which is then only its name in
	// messages. It can be read, and hence the source opened, once.
	Reader io.Reader
	// Directed makes all graphs directed.
	Directed bool
	// Rows is the number of graphs per record. The default is 64.
	Rows int
	// MaxBytes bounds the unpacked size of the file. The default is 1 GiB.
	MaxBytes int64
	// Memory bounds the bytes that are taken for a line and the record under
	// construction: a line can stand for a hundred times as much. The default is 1 GiB.
	Memory int64
}

const widest = 64 << 20

// String names the file, for the plan of a pipeline.
func (s Source) String() string { return s.input().String() }

func (s Source) input() reading.Input {
	return reading.Input{Kind: "Graph6", Path: s.Path, Reader: s.Reader, MaxBytes: s.MaxBytes, Memory: s.Memory}
}

// Open checks the settings and reads the first graph.
func (s Source) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	if s.Rows < 0 {
		return nil, fmt.Errorf("graph6: Rows is %d, want at least 0", s.Rows)
	}
	r := &lineReader{}
	items := &reading.ItemsReader{Item: r.item, Rows: cmp.Or(s.Rows, 64), Ctx: ctx, Lend: lentBytes, Lent: func() { r.decoded.g = graph.Graph{} }}
	l, err := s.input().Lines(func() error { return context.Cause(items.Ctx) })
	if err != nil {
		return nil, err
	}
	r.l, l.Widest = l, widest
	items.L, items.Closer = l, l.Close
	if r.ahead, err = r.next(); err != nil && err != io.EOF {
		l.Close()
		return nil, err
	}
	r.directed = s.Directed || len(r.ahead) > 0 && r.ahead[0] == '&'
	items.Build = record.NewBuilder(mem, record.Layout{Directed: r.directed})
	return items, nil
}

// lentBytes is the size from which a graph is lent to its record instead of copied: a line of 7 MB expands to
// 300 MB.
const lentBytes = 16 << 20

type lineReader struct {
	l        *reading.Lines
	directed bool
	begun    bool   // the header can no longer follow
	ahead    []byte // the first line, before its graph is decoded, or nil
	decoded  matrix6
}

// next returns the next line that is not empty, without a header.
func (r *lineReader) next() ([]byte, error) {
	for {
		line, err := r.l.Raw()
		if err != nil {
			return nil, err
		}
		r.l.Line++
		line = bytes.TrimSpace(line)
		if !r.begun && len(line) > 0 {
			r.begun = true
			for _, header := range []string{">>graph6<<", ">>digraph6<<"} {
				if rest, ok := bytes.CutPrefix(line, []byte(header)); ok {
					line = rest
					break
				}
			}
		}
		if len(line) > 0 {
			return line, nil
		}
	}
}

func (r *lineReader) item() (*graph.Graph, record.Row, error) {
	line := r.ahead
	if r.ahead = nil; line == nil {
		var err error
		if line, err = r.next(); err != nil {
			return nil, record.Row{}, err
		}
	}
	g, err := r.graph(line)
	return g, record.Row{}, err
}

// graph decodes a line. The graph is valid until the next call.
func (r *lineReader) graph(line []byte) (*graph.Graph, error) {
	if line[0] == '&' && !r.directed {
		return nil, r.l.Errorf("digraph6 in a stream that began with graph6: set Directed")
	}
	if err := r.decoded.read(line); err != nil {
		return nil, r.l.Errorf("%v", err)
	}
	return r.decoded.graph(r.l, r.directed)
}
