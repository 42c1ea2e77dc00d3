package parquet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks/internal/parts"
)

// Sink writes the stream as Parquet.
//
// A file appears under its name when the stream is complete and on disk, or not at all. The manifest of
// a directory or a bucket (package flow/manifest) replaces that of an earlier run in the same way. It has
// the rows, the bytes and the checksum of every part. One run at a time writes a file or a directory:
// others fail with file.ErrHeld. Nothing excludes a second run from a bucket: the last manifest counts.
//
// The manifest alone defines the parts of a directory or a bucket. Each part appears when it is
// whole, with a number that the replaced parts do not have, and the manifest at the end, in one step.
// While a run writes, and after a kill until the next run, there is the file _unfinished.json, and
// DIR/*.parquet can match more than the manifest names.
//
// Rows count as having left the pipeline when they are in a file that has its
// name and is on disk; those of W at the end.
type Sink struct {
	// Path is the file to write; or Dir is a directory for parts
	// part-00000.parquet … and a manifest; or Bucket takes them; or W takes the bytes,
	// and is not closed. Exactly one of the four is set.
	Path   string
	Dir    string
	Bucket file.Bucket
	W      io.Writer
	// Compression of pages is "zstd", "snappy" or "", none. The default is DefaultCompression.
	Compression string
	// RowGroupBytes is the size of the Arrow records from which on a row group
	// is complete; a record is never cut. So much is held in memory. The default
	// is 16 MiB.
	RowGroupBytes int64
	// PartBytes is the size at which a part of Dir is complete, after a whole row
	// group. The default is 256 MiB.
	PartBytes int64
	// Done, if set, is called at the end with the rows and bytes of all files of
	// the run.
	Done func(rows, bytes int64)
	// FS takes the place of the file system of this machine, for Path and Dir:
	// tests fail and kill it. The default is that.
	FS file.FS
}

// DefaultCompression of pages is none: every reader takes it, and writing takes the least time.
const DefaultCompression = ""

var _ flow.Sink = Sink{}

func (s Sink) target() parts.Target {
	return parts.Target{Path: s.Path, Dir: s.Dir, Bucket: s.Bucket, W: s.W, PartBytes: s.PartBytes, Done: s.Done, FS: s.FS}
}

// Name is the name of the sink in plans and errors.
func (Sink) Name() string { return "parquet" }

// String returns the destination, for the plan of a pipeline.
func (s Sink) String() string { return "Parquet(" + s.target().String() + ")" }

// Open checks the settings and the types of the columns, and begins the first
// file.
func (s Sink) Open(in *arrow.Schema) (flow.Writer, error) {
	if s.RowGroupBytes < 0 {
		return nil, fmt.Errorf("RowGroupBytes is %d, want 0 or more", s.RowGroupBytes)
	}
	set := &settings{limit: cmp.Or(s.RowGroupBytes, 16<<20)}
	var ok bool
	if set.codec, set.compress, ok = codecOf(s.Compression); !ok {
		return nil, fmt.Errorf("Compression is %q, want zstd, snappy or none", s.Compression)
	}
	for _, f := range in.Fields() {
		l, err := leafOf(f)
		if err != nil {
			return nil, err
		}
		set.leaves, set.columns = append(set.leaves, l), append(set.columns, l.column(l.depth))
	}
	schema, err := arrowSchema(in)
	if err != nil {
		return nil, err
	}
	set.notes = [][2]string{{"ARROW:schema", schema}}
	if shapes := record.Shapes(in); len(shapes) > 0 {
		text, err := json.Marshal(shapes)
		if err != nil {
			return nil, err
		}
		set.notes = append(set.notes, [2]string{"shapes", string(text)})
	}
	format := parts.Format{Ext: ".parquet", New: func(w io.Writer, _ *arrow.Schema) (parts.Encoder, error) {
		return newEncoder(w, set)
	}}
	return s.target().Open(in, format)
}
