package sinks

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sinks/internal/parts"
)

// IPC writes records as Arrow IPC: a file (the format also called Feather 2),
// or a stream. Each record becomes a record batch, with its schema, metadata
// included, so that sources.IPC gives back what came in.
//
// A file appears under its name when the stream is complete and on disk, or not
// at all. A directory appears as a whole too, and what an earlier run has left
// in it is replaced only then; its manifest, which has rows, bytes and checksum
// of every part, comes last (package manifest).
type IPC struct {
	// Path is the file to write; or Dir is a directory for parts
	// part-00000.arrow … and a manifest; or W takes the bytes, and is not
	// closed. Exactly one of the three is set.
	Path string
	Dir  string
	W    io.Writer
	// Stream selects the stream format, which can be read while it is written.
	// Parts are then called .arrows.
	Stream bool
	// Compression of buffers is "", none, or "lz4" or "zstd". Other readers take
	// it, except the one for JavaScript. Floats hardly shrink.
	Compression string
	// PartBytes is the size at which a part of Dir is complete; a record is
	// never cut. The default is 256 MiB.
	PartBytes int64
	// Done, if set, is called with the rows and bytes of all files when they have
	// their names.
	Done func(rows, bytes int64)
}

var _ flow.Sink = IPC{}

func (s IPC) target() parts.Target {
	return parts.Target{Path: s.Path, Dir: s.Dir, W: s.W, PartBytes: s.PartBytes, Done: s.Done}
}

// String says where the records go, for the plan of a pipeline.
func (s IPC) String() string { return "IPC(" + s.target().String() + ")" }

// Open checks the settings and begins the first file.
func (s IPC) Open(in *arrow.Schema) (flow.Writer, error) {
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
	format := parts.Format{Ext: ".arrow"}
	if s.Stream {
		format.Ext = ".arrows"
	}
	format.New = func(w io.Writer, _ *arrow.Schema) (parts.Encoder, error) {
		if s.Stream {
			return ipcEncoder{ipc.NewWriter(w, options...)}, nil
		}
		f, err := ipc.NewFileWriter(&teller{w: w}, options...)
		return ipcEncoder{f}, err
	}
	return s.target().Open(in, format)
}

// ipcEncoder is Arrow's writer of either format.
type ipcEncoder struct{ ipcWriter }

type ipcWriter interface {
	Write(arrow.Record) error
	Close() error
}

func (ipcEncoder) Abandon() {}

// teller knows where it is, which is all that Arrow's file writer seeks for.
type teller struct {
	w  io.Writer
	at int64
}

func (t *teller) Write(p []byte) (int, error) {
	n, err := t.w.Write(p)
	t.at += int64(n)
	return n, err
}

func (t *teller) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return t.at, errors.New("a stream cannot seek")
	}
	return t.at, nil
}
