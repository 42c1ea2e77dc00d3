package parquet

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sinks/internal/parts"
)

// Sink writes the stream as Parquet.
//
// A file appears under its name when the stream is complete and on disk, or not
// at all. A directory appears as a whole too, and what an earlier run has left
// in it is replaced only then; its manifest, which has rows, bytes and checksum
// of every part, comes last (package flow/manifest).
type Sink struct {
	// Path is the file to write; or Dir is a directory for parts
	// part-00000.parquet … and a manifest; or W takes the bytes, and is not
	// closed. Exactly one of the three is set.
	Path string
	Dir  string
	W    io.Writer
	// Compression of pages is "", none, or "zstd" or "snappy".
	Compression string
	// RowGroupBytes is the size of the Arrow records from which on a row group
	// is complete; a record is never cut. So much is held in memory. The default
	// is 16 MiB.
	RowGroupBytes int64
	// PartBytes is the size at which a part of Dir is complete, after a whole row
	// group. The default is 256 MiB.
	PartBytes int64
	// Done, if set, is called with the rows and bytes of all files when they have
	// their names.
	Done func(rows, bytes int64)
}

var _ flow.Sink = Sink{}

// pageBytes is the size at which a page is complete: the default of most
// writers.
const pageBytes = 1 << 20

func (s Sink) target() parts.Target {
	return parts.Target{Path: s.Path, Dir: s.Dir, W: s.W, PartBytes: s.PartBytes, Done: s.Done}
}

// String says where the records go, for the plan of a pipeline.
func (s Sink) String() string { return "Parquet(" + s.target().String() + ")" }

// Open checks the settings and the types of the columns, and begins the first
// file.
func (s Sink) Open(in *arrow.Schema) (flow.Writer, error) {
	if s.RowGroupBytes < 0 {
		return nil, fmt.Errorf("RowGroupBytes is %d, want 0 or more", s.RowGroupBytes)
	}
	if s.RowGroupBytes == 0 {
		s.RowGroupBytes = 16 << 20
	}
	codecs := map[string]compress.Compression{
		"": compress.Codecs.Uncompressed, "zstd": compress.Codecs.Zstd, "snappy": compress.Codecs.Snappy,
	}
	codec, ok := codecs[s.Compression]
	if !ok {
		return nil, fmt.Errorf("Compression is %q, want zstd, snappy or none", s.Compression)
	}
	root, columns, err := layout(in)
	if err != nil {
		return nil, err
	}
	note, err := arrowSchema(in)
	if err != nil {
		return nil, err
	}
	properties := []parquet.WriterProperty{
		parquet.WithDictionaryDefault(false), // a member or an attribute rarely repeats for long
		parquet.WithCompression(codec),
		parquet.WithDataPageVersion(parquet.DataPageV2), // with version 1 Arrow copies all levels of a page at each run of them
		parquet.WithDataPageSize(pageBytes),
		parquet.WithBatchSize(1 << 40), // the calls below are the batches
		parquet.WithCreatedBy("sanflow"),
		parquet.WithStats(false),
	}
	for _, f := range in.Fields() {
		if _, flat := f.Type.(arrow.FixedWidthDataType); flat { // readers skip row groups by these
			properties = append(properties, parquet.WithStatsFor(f.Name, true))
		}
	}
	format := parts.Format{Ext: ".parquet", New: func(w io.Writer, _ *arrow.Schema) (e parts.Encoder, err error) {
		err = guard(func() error {
			e = &encoder{
				file:    file.NewParquetWriter(w, root, file.WithWriterProps(parquet.NewWriterProperties(properties...)), file.WithWriteMetadata(note)),
				columns: columns,
				limit:   s.RowGroupBytes,
			}
			return nil
		})
		return e, err
	}}
	return s.target().Open(in, format)
}

// guard turns a panic of Arrow's writer, such as on the first bytes of a full
// disk, into an error.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("parquet: %v", r)
		}
	}()
	return f()
}
