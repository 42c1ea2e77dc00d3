package sources

import (
	"context"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/internal/tabular"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// IPC reads records of graphs, or of fields, from Arrow IPC: files (the format
// also called Feather 2) and streams, plain or compressed by lz4 or zstd.
//
// What sinks.IPC wrote comes back with the same schema, metadata included. Of
// other programs, columns of the same names are taken, where their numbers fit
// those of package record: wider integers and floats, and large lists, are
// converted; graph_id and pos are filled in if they are missing.
//
// Every value that a stage would follow is checked: offsets, neighbours,
// indices, shapes. A damaged file is an error, whatever is in it, and never
// takes more memory than MaxBytes; if sinks.IPC wrote it, it has a checksum, and
// damage anywhere is an error before the first record. O(bytes), for graphs O(n + m log m).
type IPC struct {
	// Path is a file, or a directory of files *.arrow, *.arrows, *.feather,
	// *.ipc. If the directory has a manifest (package flow/manifest), each
	// file is compared with that before it is parsed.
	Path string
	// Bucket is read instead of Path: its manifest, or all its files of these kinds.
	Bucket file.Bucket
	// Reader is read instead of Path, which then only names it in errors. For an
	// IPC file, unlike a stream, it has the methods ReadAt and Size too, as a
	// *bytes.Reader has.
	Reader io.Reader
	// Columns are the columns to read. The default is all.
	Columns []string
	// Like gives columns the types, shapes and metadata that columns of the same names have in this
	// schema, for files that went through another program: it keeps the values of fields as plain
	// lists, which have no shape and no metadata, and cannot be trained on. It is the schema of the
	// records as they were: of the Reader of the source that the other program read. For graphs that
	// another program made, it is that of a layout (record.Layout.Schema). The number of values of
	// each row must match its shape. Other columns are read as they are.
	Like *arrow.Schema
	// Rows is the largest number of rows per record; larger batches of a file
	// are cut. The default is 256.
	Rows int
	// MaxBytes bounds the memory for one batch of the file, beside the record
	// that is made of it. The default is 1 GiB.
	MaxBytes int64
}

var _ flow.Source = IPC{}

// String names the input, for the plan of a pipeline.
func (s IPC) String() string { return "IPC(" + s.files().Name() + ")" }

// Open reads the schema. Errors of files are [FileError].
func (s IPC) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	return s.files().Open(ctx, mem)
}

func (s IPC) files() tabular.Files {
	files := tabular.Files{
		Source: "IPC", Path: s.Path, Bucket: s.Bucket, Exts: []string{".arrow", ".arrows", ".feather", ".ipc"},
		Rows: s.Rows, MaxBytes: s.MaxBytes,
		Options: tabular.Options{Columns: s.Columns, Like: s.Like},
		Decode: func(in tabular.Bytes, b *tabular.Budget) (tabular.Decoder, error) {
			return tabular.NewIPC(in, in.At, in.Size, true, b)
		},
		Wrap: reading.InFile,
	}
	if s.Reader == nil {
		return files
	}
	files.Given = &tabular.Bytes{Reader: s.Reader, Size: -1}
	if at, ok := s.Reader.(interface {
		io.ReaderAt
		Size() int64
	}); ok {
		files.Given.At, files.Given.Size = at, at.Size()
	}
	return files
}
