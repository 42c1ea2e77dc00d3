// Package ipc writes records as Arrow IPC, for readers of Arrow and Feather.
// sources.IPC and sources.Mapped read the same records back.
//
//	err := flow.From(src).
//		Via(operators.Select{W: 18}).
//		Via(operators.Assemble{K: 10}).
//		Via(operators.Normalize{}).
//		To(ipc.Sink{Dir: "fields"}).
//		Run(ctx)
//
// Package sinks has it as sinks.IPC. A program that imports package ipc instead does not link
// package nn.
package ipc

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/internal/arrowipc"
	"github.com/sanflow/sanflow/sinks/internal/parts"
)

// Sink writes records as Arrow IPC: a file (the format also called Feather 2), or a stream. Each
// record becomes a record batch, with its schema, metadata included, so that sources.IPC returns
// the same records.
//
// A file appears under its name when the stream is complete and on disk, or not at all. The manifest of
// a directory or a bucket (package flow/manifest) replaces that of an earlier run in the same way. It has
// the rows, the bytes and the checksum of every part. One run at a time writes a file or a directory:
// others fail with file.ErrHeld. Nothing excludes a second run from a bucket: the last manifest counts.
//
// The manifest alone defines the parts of a directory or a bucket. Each part appears when it is
// whole, with a number that the replaced parts do not have, and the manifest at the end, in one step.
// While a run writes, and after a kill until the next run, there is the file _unfinished.json, and
// DIR/*.arrow can match more than the manifest names.
//
// A file, unlike a stream, has a checksum, which sources.IPC compares. Package arrowipc documents
// its place; other readers skip it. A stream has no checksum, since the next stream may begin
// behind its end.
//
// Rows count as having left the pipeline when they are in a file that has its
// name and is on disk; those of W when a stream has them, or at the end of a file.
type Sink struct {
	// Path is the file to write; or Dir is a directory for parts
	// part-00000.arrow … and a manifest; or Bucket takes them; or W takes the bytes,
	// and is not closed. Exactly one of the four is set.
	Path   string
	Dir    string
	Bucket file.Bucket
	W      io.Writer
	// Stream selects the stream format, which can be read while it is written.
	// Parts are then called .arrows.
	Stream bool
	// Compression of buffers is "", none, or "lz4" or "zstd". Other readers take
	// it, except the one for JavaScript. Floats hardly shrink.
	Compression string
	// PartBytes is the size at which a part of Dir is complete; a record is
	// never cut. The default is 256 MiB.
	PartBytes int64
	// Done, if set, is called at the end with the rows and bytes of all files of
	// the run.
	Done func(rows, bytes int64)
	// FS takes the place of the file system of this machine, for Path and Dir:
	// tests fail and kill it. The default is that.
	FS file.FS
}

var _ flow.Sink = Sink{}

func (s Sink) target() parts.Target {
	return parts.Target{Path: s.Path, Dir: s.Dir, Bucket: s.Bucket, W: s.W, PartBytes: s.PartBytes, Done: s.Done, FS: s.FS}
}

// Name is the name of the sink in plans and errors.
func (Sink) Name() string { return "ipc" }

// String returns the destination, for the plan of a pipeline.
func (s Sink) String() string { return "IPC(" + s.target().String() + ")" }

// Open checks the settings and begins the first file.
func (s Sink) Open(in *arrow.Schema) (flow.Writer, error) {
	options := []ipc.Option{ipc.WithSchema(in)}
	switch s.Compression {
	case "":
	case "lz4":
		options = append(options, ipc.WithLZ4())
	case "zstd":
		options = append(options, ipc.WithZstd())
	default:
		return nil, fmt.Errorf("Compression is %q, want lz4, zstd or none", s.Compression)
	}
	format := parts.Format{Ext: ".arrow", Live: s.Stream}
	if s.Stream {
		format.Ext = ".arrows"
	}
	format.New = func(w io.Writer, _ *arrow.Schema) (parts.Encoder, error) {
		if s.Stream {
			return encoder{ipc.NewWriter(w, options...)}, nil
		}
		sum := arrowipc.NewSumWriter(w)
		f, err := ipc.NewFileWriter(sum, options...)
		return encoder{summed{f, sum}}, err
	}
	return s.target().Open(in, format)
}

// encoder is Arrow's writer of files or streams.
type encoder struct{ writer }

type writer interface {
	Write(arrow.Record) error
	Close() error
}

func (encoder) Abandon() {}

// summed writes a file with a checksum.
type summed struct {
	*ipc.FileWriter
	sum *arrowipc.SumWriter
}

func (s summed) Close() error {
	s.sum.End()
	if err := s.FileWriter.Close(); err != nil {
		return err
	}
	return s.sum.Close()
}
