package parquet

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/pool"
	"github.com/sanflow/sanflow/internal/tabular"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/internal/rows"
)

// Edges reads one graph from a table with an edge per row, two columns of ids, as
// other programs have it:
//
//	COPY (SELECT src, dst FROM follows) TO 'follows.parquet';   -- DuckDB
//
// It is [sources.EdgeList] for tables: ids are integers of any width from 0 to
// 2 147 483 647, ids with gaps are numbered anew, self-loops and repeated rows are
// dropped and counted, and the result is an edge list's, for the same cost and the
// same at any number of workers. Row groups are read side by side, each worker in the
// memory that its first took, so that the peak is an edge list's and a row group.
//
// With Weights one more column is the weight of each edge, a number of any type, which
// becomes its attribute as that of [sources.EdgeList] does: channel weight of edge_attr,
// the float32 nearest to it, finite; of rows that repeat an edge the smallest holds. DuckDB
// takes 0.5 for a DECIMAL, which is none of these types: CAST(w AS DOUBLE) is.
type Edges struct {
	// Path is a file, or a directory of files *.parquet, as for Source.
	Path string
	// From and To are the columns of the ends. The default is the first two that
	// the table has.
	From, To string
	// Directed keeps each row as one arc.
	Directed bool
	// Weights keeps a column of numbers as an attribute of the edge. The default is to
	// read no column but those of the ends.
	Weights bool
	// Weight is that column. The default is the first that is neither end; a name is as
	// good as Weights.
	Weight string
	// Workers is the number of goroutines. The default is one per processor.
	Workers int
	// MaxBytes bounds the memory of a worker for one row group. The default is
	// 1 GiB.
	MaxBytes int64
	// Memory bounds the bytes for the edges and the graph. The default is 4 GiB.
	Memory int64
	// Progress, if set, is called with the rows that were read, and all there are.
	Progress func(read, rows int64)
	// Unverified leaves out the comparison with the manifest of a directory.
	Unverified bool
}

var _ flow.Source = Edges{}

// String names the input, for the plan of a pipeline.
func (s Edges) String() string { return "ParquetEdges(" + s.Path + ")" }

// Open reads the table and returns an *[sources.EdgeListReader].
func (s Edges) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	n, err := s.Read(ctx)
	if err != nil {
		return nil, err
	}
	return n.Reader(mem), nil
}

// Read reads the graph without making a record of it.
func (s Edges) Read(ctx context.Context) (*sources.Network, error) {
	if s.Workers < 0 || s.Memory < 0 || (s.From == "") != (s.To == "") {
		return nil, fmt.Errorf("sources: ParquetEdges: Workers %d, Memory %d, From %q, To %q: want at least 0, and both columns or none", s.Workers, s.Memory, s.From, s.To)
	}
	s.Weights = s.Weights || s.Weight != ""
	files := Source{Path: s.Path, MaxBytes: s.MaxBytes, Unverified: s.Unverified}.files()
	files.Source = "ParquetEdges"
	inputs, err := files.Inputs()
	if err != nil {
		return nil, err
	}
	t := &edgeTable{Edges: s, left: cmp.Or(s.Memory, 4<<30)}
	if err := t.count(inputs); err != nil {
		return nil, err
	}
	for i, in := range inputs {
		if err := t.file(ctx, i, in); err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, inFile(in.Name, err)
		}
	}
	n, err := t.network(ctx)
	if err != nil && ctx.Err() == nil {
		err = inFile(s.Path, err)
	}
	return n, err
}

// IsEdges reports whether Edges can read the table at path without column names: its first two
// columns are integers, and no columns of records.
func IsEdges(path string) bool {
	inputs, err := Source{Path: path}.files().Inputs()
	if err != nil {
		return false
	}
	d, err := open(inputs[0])
	if err != nil {
		return false
	}
	defer d.file.Close()
	isRecord := slices.ContainsFunc(d.columns, func(c tabular.Column) bool { return c.Name == record.GraphID })
	return !isRecord && len(d.columns) >= 2 && isInteger(d.columns[0]) && isInteger(d.columns[1])
}

// edgeTable is a table that is being read.
type edgeTable struct {
	Edges
	rows int64 // of all files
	most []int // row groups, of each file

	mu    sync.Mutex
	parts []part // as they come
	marks []*rows.Marks
	read  int64
	left  int64 // of Memory
}

// part is the edges of a row group, and their weights if they are kept.
type part struct {
	file, group int
	edges       []graph.Edge
	weights     []float32
}

// each is the bytes of a row until it is in the graph.
func (t *edgeTable) each() int64 {
	if t.Weights {
		return 12
	}
	return 8
}

// count refuses a table that cannot fit before any of it is read.
func (t *edgeTable) count(inputs []tabular.Input) error {
	for _, in := range inputs {
		d, err := open(in)
		if err != nil {
			return inFile(in.Name, err)
		}
		t.rows += d.footer.rows
		t.most = append(t.most, len(d.footer.groups))
		d.file.Close()
	}
	switch most := int64(math.MaxInt32 / 2); {
	case t.rows > most:
		return inFile(t.Path, fmt.Errorf("%d edges, want at most %d: rows have 32-bit offsets", t.rows, most))
	case t.rows > t.left/t.each():
		return inFile(t.Path, t.tooMuch())
	}
	return nil
}

func (t *edgeTable) tooMuch() error {
	return fmt.Errorf("%d edges take more than %d bytes of memory; raise Memory if that is right", t.rows, cmp.Or(t.Memory, 4<<30))
}

// take charges memory.
func (t *edgeTable) take(bytes int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left -= bytes; t.left < 0 {
		return t.tooMuch()
	}
	return nil
}

func (t *edgeTable) give(bytes int64) {
	t.mu.Lock()
	t.left += bytes
	t.mu.Unlock()
}

// opened is a file that is open.
type opened struct {
	*reader
	file io.Closer
}

func open(in tabular.Input) (opened, error) {
	d, file, err := in.Open()
	if err != nil {
		return opened{}, err
	}
	return opened{d.(*reader), file}, nil
}

// file reads the row groups of a file side by side.
func (t *edgeTable) file(ctx context.Context, number int, in tabular.Input) error {
	if in.Verify != nil {
		if err := in.Verify(ctx); err != nil {
			return err
		}
	}
	var next atomic.Int64
	errs := map[int]error{} // by row group
	panicked := pool.Together(pool.Workers(t.Workers, t.most[number]), func(int) {
		at, err := t.groups(ctx, number, in, &next)
		if err != nil {
			next.Store(math.MaxInt32) // those before this one were taken, and are read
			t.mu.Lock()
			errs[at] = err
			t.mu.Unlock()
		}
	})
	first := math.MaxInt
	for at := range errs {
		first = min(first, at)
	}
	return cmp.Or(errs[first], panicked)
}

// groups reads row groups as long as there are any, and returns that of an error.
// The decoders are made so that no file makes them panic; should one do so, it is an
// error of the file.
func (t *edgeTable) groups(ctx context.Context, number int, in tabular.Input, next *atomic.Int64) (at int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it cannot be read: %v", p)
		}
	}()
	d, err := open(in)
	if err != nil {
		return -1, err
	}
	defer d.file.Close()
	cols, use, err := t.choose(d.columns)
	if err != nil {
		return -1, err
	}
	d.Choose(use)
	d.again = make([]scratch, len(d.columns))
	marks := &rows.Marks{Take: t.take}
	for {
		if at = int(next.Add(1) - 1); at >= len(d.footer.groups) {
			t.mu.Lock()
			t.marks = append(t.marks, marks)
			t.mu.Unlock()
			return at, nil
		}
		d.group = at
		b, err := d.Next(ctx)
		if err != nil {
			return at, err
		}
		if err := t.take(t.each() * int64(b.Rows)); err != nil {
			return at, err
		}
		p := part{file: number, group: at, edges: make([]graph.Edge, b.Rows)}
		before := int64(0)
		for _, g := range d.footer.groups[:at] {
			before += g.rows
		}
		for i, c := range cols[:2] {
			if row, v, ok := ends(p.edges, b.Data[c].Values, i == 0); !ok {
				return at, fmt.Errorf("row %d: column %q: node %v, want 0 to %d", before+int64(row), d.columns[c].Name, v, math.MaxInt32)
			}
		}
		if err := marks.Add(p.edges); err != nil {
			return at, err
		}
		if t.Weights {
			p.weights = make([]float32, b.Rows)
			if row, v, ok := weights(p.weights, b.Data[cols[2]].Values); !ok {
				return at, fmt.Errorf("row %d: column %q: %v is no weight, want a number up to %g", before+int64(row), d.columns[cols[2]].Name, v, float32(math.MaxFloat32))
			}
		}
		t.mu.Lock()
		t.parts = append(t.parts, p)
		t.read += int64(b.Rows)
		if t.Progress != nil {
			t.Progress(t.read, t.rows)
		}
		t.mu.Unlock()
	}
}

// network makes the graph.
func (t *edgeTable) network(ctx context.Context) (*sources.Network, error) {
	if t.Weights { // the smallest of an edge holds
		slices.SortFunc(t.parts, func(a, b part) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.group, b.group)) })
	}
	var lists [][]graph.Edge
	var values [][]float32
	for _, p := range t.parts {
		lists, values = append(lists, p.edges), append(values, p.weights)
	}
	t.parts = nil
	e := &rows.Edges{Lists: lists, Keep: t.Weights, Marks: t.marks, Workers: t.Workers, Alive: func() error { return context.Cause(ctx) }, Take: t.take, Give: t.give}
	ids, err := e.IDs(nil)
	if err != nil {
		return nil, err
	}
	if ids.Len() == 0 {
		return nil, fmt.Errorf("no edge")
	}
	n := &sources.Network{}
	if int(ids.Last()) >= ids.Len() { // not 0 … n-1
		if err := t.take(8 * int64(ids.Len())); err != nil {
			return nil, err
		}
		n.IDs = graph.IDsOf(ids.List())
		e.Renumber(ids)
	}
	offsets, neighbors, c, err := e.Rows(ids.Len(), t.Directed)
	if err != nil {
		return nil, err
	}
	n.Graph = &graph.Graph{Offsets: offsets, Neighbors: neighbors, Directed: t.Directed}
	conflicts := int64(0)
	if t.Weights {
		n.Graph.EdgeAttrs = 1
		if n.Graph.EdgeAttr, conflicts, err = e.Values(offsets, neighbors, t.Directed, values); err != nil {
			return nil, err
		}
	}
	n.Stats = sources.EdgeListStats{
		EdgeCounts: sources.EdgeCounts{Edges: c.Edges, SelfLoops: c.SelfLoops, Duplicates: c.Duplicates, OneWay: c.OneWay, Conflicts: conflicts},
		Lines:      t.rows, Isolated: rows.Isolated(n.Graph),
	}
	return n, nil
}
