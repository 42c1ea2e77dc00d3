package parquet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/tabular"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

func init() {
	sources.Register(sources.Format{
		Name: "parquet", Endings: []string{".parquet"},
		Is: func(path string, _ sources.Options) bool { return sources.Holds(path, ".parquet") },
		Graphs: func(_ context.Context, path string, o sources.Options) (flow.Source, error) {
			if isEdges(path) {
				return sources.EdgeList{Path: path, Table: Table{Path: path}, Directed: o.Directed, Weights: o.Weights, Workers: o.Workers}, nil
			}
			if _, err := os.Stat(path); err == nil && o.Weights {
				return nil, fmt.Errorf("parquet: %s: weights are those of a table of edges, and the file has records", path)
			}
			return Source{Path: path}, nil
		},
		Table: func(path string, _ sources.Options) (sources.Table, error) { return Table{Path: path}, nil },
	})
}

// isEdges reports whether the file is an edge table: its first two columns are integers, and it has no
// graph_id column.
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

// Source reads Parquet. sources.IPC documents the conversion of columns of other programs and the
// checks; a row group here is a batch there.
type Source struct {
	// Path is a file, or a directory of files *.parquet. If the directory has
	// a manifest (package flow/manifest), each file is compared with that before
	// it is parsed.
	Path string
	// Bucket is read instead of Path: its manifest, or all its files of these kinds.
	Bucket file.Bucket
	// ReaderAt is read instead of Path, which then only names it in errors. Size
	// is the number of its bytes.
	ReaderAt io.ReaderAt
	Size     int64
	// Columns are the columns to read. The default is all.
	Columns []string
	// Like gives types, shapes and metadata to columns of another program; see sources.IPC.
	Like *arrow.Schema
	// Rows is the largest number of rows per record; larger row groups are cut.
	// The default is 256.
	Rows int
	// MaxBytes bounds the memory for one row group, beside the record that is
	// made of it. The default is 1 GiB.
	MaxBytes int64
}

var _ flow.Source = Source{}

// String names the input, for the plan of a pipeline.
func (s Source) String() string { return "Parquet(" + s.files().Name() + ")" }

// Open reads the schema. Errors of files are *sources.FileError.
func (s Source) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	return s.files().Open(ctx, mem)
}

func (s Source) files() tabular.Files {
	files := tabular.Files{
		Source: "Parquet", Path: s.Path, Bucket: s.Bucket, Exts: []string{".parquet", ".parq", ".pq"},
		Rows: s.Rows, MaxBytes: s.MaxBytes,
		Options: tabular.Options{Columns: s.Columns, Like: s.Like},
		Decode: func(in tabular.Bytes, b *tabular.Budget) (tabular.Decoder, error) {
			if in.Size < 0 {
				return nil, errors.New("it is no regular file, which Parquet has to be")
			}
			return newReader(in.At, in.Size, b)
		},
		Wrap: reading.InFile,
	}
	if s.ReaderAt != nil {
		files.Given = &tabular.Bytes{At: s.ReaderAt, Size: s.Size}
	}
	return files
}
