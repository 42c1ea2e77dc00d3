package sources

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// Graph6 reads graphs in the formats graph6, digraph6 and sparse6 of McKay
// (https://users.cecs.anu.edu.au/~bdm/data/formats.txt), one a line, as plain text or packed by
// gzip. nauty's geng and the House of Graphs write it. A header, as >>graph6<<, may
// stand before the first graph; empty lines are skipped. Self-loops, and edges that sparse6 has
// twice, are dropped.
//
// All graphs of a stream have one direction. A stream is directed if Directed is set or its first
// line is digraph6, which starts with &; a graph6 or sparse6 line then means an arc each way. A digraph6 line
// in an undirected stream is an error, and so are a line of the wrong length for its number of
// nodes, a byte outside 63 … 126, incremental sparse6, and more than 64 MiB on a line, which is 28 000 nodes.
// Each names its line.
//
// graph_id and pos are the number of the graph, from 0. Lines are read as they
// are asked for; O(n² + m) per graph, and memory for one line and a record. A graph of
// 16 MiB goes out alone, and is not copied.
type Graph6 struct {
	// Path is the file.
	Path string
	// FS, if set, is the file system of Path.
	FS fs.FS
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

const widestGraph6 = 64 << 20

// String names the file, for the plan of a pipeline.
func (s Graph6) String() string { return s.input().String() }

func (s Graph6) input() input {
	return input{"Graph6", s.Path, s.FS, s.Reader, s.MaxBytes, s.Memory, 0}
}

// Open checks the settings and reads the first graph.
func (s Graph6) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	if s.Rows < 0 {
		return nil, fmt.Errorf("sources: Graph6: Rows is %d, want at least 0", s.Rows)
	}
	r := &graph6Reader{ctx: ctx, rows: cmp.Or(s.Rows, 64)}
	l, err := s.input().lines(func() error { return context.Cause(r.ctx) })
	if err != nil {
		return nil, err
	}
	r.l, l.widest = l, widestGraph6
	line, err := r.next()
	if err != nil && err != io.EOF {
		l.close()
		return nil, err
	}
	r.directed = s.Directed || len(line) > 0 && line[0] == '&'
	r.ahead, r.err = line, err
	r.build = record.NewBuilder(mem, record.Layout{Directed: r.directed})
	return r, nil
}

type graph6Reader struct {
	l        *lines
	ctx      context.Context // of the call under way
	rows     int
	directed bool
	begun    bool   // a line was read, which may have had the header
	ahead    []byte // line read last, not a graph yet; nil: there is none
	build    *record.Builder
	size     recordSize
	decoded  matrix6
	count    int64
	err      error // what ended the stream
}

func (r *graph6Reader) Schema() *arrow.Schema { return r.build.Schema() }

// next returns the next line with a graph.
func (r *graph6Reader) next() ([]byte, error) {
	for {
		line, err := r.l.raw()
		if err != nil {
			return nil, err
		}
		r.l.line++
		line = bytes.TrimSpace(line)
		if !r.begun && len(line) > 0 {
			r.begun = true
			for _, header := range []string{">>graph6<<", ">>digraph6<<", ">>sparse6<<"} {
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

func (r *graph6Reader) Next(ctx context.Context) (arrow.Record, error) {
	before := r.ctx
	r.ctx = ctx
	defer func() { r.ctx = before }()
	for r.err == nil && r.build.Rows() < r.rows {
		if r.err = context.Cause(ctx); r.err != nil {
			break
		}
		if r.ahead == nil {
			if r.ahead, r.err = r.next(); r.err != nil {
				break
			}
		}
		g, err := r.graph(r.ahead)
		if err != nil {
			r.err = err
			break
		}
		if r.build.Rows() > 0 && (!r.build.Fits(g, record.Row{}) || r.size.full(r.l, g)) {
			break
		}
		if r.build.Rows() == 0 && g.Bytes() >= lentBytes {
			return r.lend(g)
		}
		if r.err = r.size.add(r.l, g); r.err != nil {
			break
		}
		r.ahead = nil
		if r.err = r.build.Append(g, record.Row{ID: r.count, Pos: r.count}); r.err == nil {
			r.count++
		}
	}
	if r.err != nil && r.err != io.EOF || r.build.Rows() == 0 {
		return nil, r.err
	}
	r.size.rows = 0
	return r.build.Record(), nil
}

// lentBytes is the size of a graph that goes out alone and without a copy: a line of 7 MB
// stands for 300 MB.
const lentBytes = 16 << 20

// lend hands out the memory of g, which is not used again.
func (r *graph6Reader) lend(g *graph.Graph) (arrow.Record, error) {
	rec, err := r.build.Lend(g, record.Row{ID: r.count, Pos: r.count})
	if r.err = err; err != nil {
		return nil, err
	}
	r.ahead, r.decoded.g = nil, graph.Graph{}
	r.count++
	return rec, nil
}

// graph decodes a line. The graph is valid until the next call.
func (r *graph6Reader) graph(line []byte) (*graph.Graph, error) {
	switch {
	case line[0] == '&' && !r.directed:
		return nil, r.l.errorf("digraph6 in a stream that began with graph6: set Directed")
	case r.decoded.read(line) != nil:
		return nil, r.l.errorf("%v", r.decoded.err)
	}
	return r.decoded.graph(r.l, r.directed)
}

func (r *graph6Reader) Close() error {
	r.build.Release()
	r.err, r.ahead = errClosed, nil
	return r.l.close()
}
