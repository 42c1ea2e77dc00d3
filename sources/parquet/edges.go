package parquet

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/tabular"
	"github.com/sanflow/sanflow/sources"
)

// Edges reads one graph from a table with an edge per row, two columns of ids, as
// other programs have it:
//
//	COPY (SELECT src, dst FROM follows) TO 'follows.parquet';   -- DuckDB
//
// It is [sources.Tables] for a [Table] of edges alone: ids are integers or strings, ids with gaps
// are numbered anew, self-loops and repeated rows are dropped and counted, and the result is
// that of [sources.EdgeList] for the same rows, the same at any number of workers.
//
// The ends are the first two columns. With Weights the third is the weight of each edge, a number of any type, which
// becomes its attribute as that of [sources.EdgeList] does: channel weight of edge_attr,
// the float32 nearest to it, NaN where it is missing; of rows that repeat an edge the smallest holds. Tables reads columns by their names.
type Edges struct {
	// Path is a file, or a directory of files *.parquet, as for Source.
	Path string
	// Directed keeps each row as one arc.
	Directed bool
	// Weights keeps the third column as an attribute of the edge. The default is to
	// read no column but those of the ends.
	Weights bool
	// Workers is the number of goroutines. The default is one per processor.
	Workers int
	// Memory bounds the bytes for the edges and the graph. The default is 4 GiB.
	Memory int64
	// Progress, if set, is called with the rows that were read, and all there are.
	Progress func(read, rows int64)
}

var _ flow.Source = Edges{}

// String names the input, for the plan of a pipeline.
func (s Edges) String() string { return "ParquetEdges(" + s.Path + ")" }

// Open reads the table. The reader returns one record, as that of [sources.EdgeList] does.
func (s Edges) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	set, err := s.Read(ctx)
	if err != nil {
		return nil, err
	}
	return set.Reader(mem), nil
}

// Read reads the graph without making a record of it.
func (s Edges) Read(ctx context.Context) (*sources.TableSet, error) {
	t := sources.Tables{Directed: s.Directed, Memory: s.Memory, Workers: s.Workers}
	table := countedTable{Table: Table{Path: s.Path}, note: s.Progress}
	r, err := table.Table.OpenTable(ctx)
	if err != nil {
		return nil, err
	}
	columns := r.Columns()
	r.Close()
	switch {
	case len(columns) < 2:
		return nil, inFile(s.Path, fmt.Errorf("%d columns, want the two ends of an edge", len(columns)))
	case s.Weights && len(columns) < 3:
		return nil, inFile(s.Path, fmt.Errorf("%d columns, want the two ends of an edge and its weight", len(columns)))
	}
	t.Edges = sources.EdgeTable{Table: table, Source: columns[0].Name, Target: columns[1].Name, Spaces: sources.OneSpace, Attributes: []string{}, Offsets: map[string]float64{}}
	if s.Weights {
		t.Edges.Weight = columns[2].Name
	}
	set, err := t.Read(ctx)
	if err != nil {
		return nil, err
	}
	set.DropPlainIDs()
	return set, nil
}

// countedTable tells how many rows there are, and how many were read.
type countedTable struct {
	Table
	note func(read, rows int64)
}

type countedReader struct {
	sources.TableReader
	note       func(read, rows int64)
	read, rows int64
}

func (t countedTable) OpenTable(ctx context.Context) (sources.TableReader, error) {
	r, err := t.Table.OpenTable(ctx)
	if err != nil {
		return nil, err
	}
	c := &countedReader{TableReader: r, note: t.note}
	if c.rows, err = r.(*tableReader).count(); err != nil {
		r.Close()
	}
	return c, err
}

// count adds the rows of the files to come to those of the one that is open.
func (t *tableReader) count() (rows int64, err error) {
	rows = t.file.footer.rows
	for _, in := range t.inputs {
		d, err := open(in)
		if err != nil {
			return 0, inFile(in.Name, err)
		}
		rows += d.footer.rows
		d.file.Close()
	}
	return rows, nil
}

// Rows is what Tables refuses too many of, before it reads them.
func (r *countedReader) Rows() int64 { return r.rows }

func (r *countedReader) Next() (*sources.TableBatch, error) {
	b, err := r.TableReader.Next()
	if err == nil && r.note != nil {
		r.read += int64(b.Rows)
		r.note(r.read, r.rows)
	}
	return b, err
}

// isEdges reports whether Edges can read the table at path: its first two
// columns are integers, and no columns of records.
func isEdges(path string) bool {
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

func isInteger(c tabular.Column) bool { return c.Depth == 0 && arrow.IsInteger(c.Elem) }
