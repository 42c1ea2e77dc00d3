// Package parts is where the sinks that write files put their bytes: one file,
// a directory of numbered parts with a manifest, or a writer of the caller's.
// What has its final name is complete; what fails leaves nothing behind.
package parts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
)

// Encoder turns records into the bytes of one file.
type Encoder interface {
	// Write borrows rec.
	Write(rec arrow.Record) error
	// Close writes what is left, and the end of the file.
	Close() error
	// Abandon gives up a file, and releases what is held. It may follow Close.
	Abandon()
}

// Format is a kind of file.
type Format struct {
	Ext string // of parts, with its dot
	New func(w io.Writer, s *arrow.Schema) (Encoder, error)
}

// Target says where the bytes go. Exactly one of the first three is set.
type Target struct {
	Path string
	Dir  string
	W    io.Writer
	// PartBytes is the size from which on a part of Dir is complete.
	PartBytes int64
	// Done, if set, is called with the rows and bytes of all files at the end.
	Done func(rows, bytes int64)
}

// String is for the plan of a pipeline.
func (t Target) String() string {
	switch {
	case t.Path != "":
		return t.Path
	case t.Dir != "":
		return strings.TrimSuffix(t.Dir, "/") + "/"
	}
	return "writer"
}

// place is where files come into being.
type place interface {
	// create begins the next file.
	create() (io.Writer, error)
	// end completes that file, which holds so many rows.
	end(rows, bytes int64, sum string) error
	// publish gives all files their names.
	publish() error
	// discard removes what was not published. It may follow publish.
	discard() error
}

// Open begins the first file, so that a place that cannot be written to is
// found before any work.
func (t Target) Open(s *arrow.Schema, f Format) (flow.Writer, error) {
	set := 0
	for _, is := range []bool{t.Path != "", t.Dir != "", t.W != nil} {
		if is {
			set++
		}
	}
	switch {
	case set != 1:
		return nil, fmt.Errorf("%d of Path, Dir and W are set, want one", set)
	case t.PartBytes < 0:
		return nil, fmt.Errorf("PartBytes is %d, want 0 or more", t.PartBytes)
	}
	w := &writer{Target: t, schema: s, format: f}
	var err error
	switch {
	case t.Path != "":
		w.place, err = newSingle(nil, t.Path)
	case t.Dir != "":
		if w.PartBytes == 0 {
			w.PartBytes = 256 << 20
		}
		w.place, err = newDirectory(t.Dir, f.Ext, s)
	default:
		w.PartBytes, w.place = 0, plain{t.W}
	}
	if err == nil {
		if err = w.begin(); err != nil {
			err = errors.Join(err, w.place.discard())
		}
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// writer is an open target.
type writer struct {
	Target
	schema *arrow.Schema
	format Format
	place  place

	enc         Encoder
	out         *output
	rows        int64 // of the file in hand
	files       int
	total, size int64
}

func (w *writer) begin() error {
	to, err := w.place.create()
	if err != nil {
		return err
	}
	w.out, w.rows = newOutput(to, w.Dir != ""), 0
	w.files++
	w.enc, err = w.format.New(w.out, w.schema)
	return w.out.first(err)
}

// Write encodes rec. Rows without columns are an error of the sink before.
func (w *writer) Write(ctx context.Context, rec arrow.Record) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if rec.NumRows() == 0 {
		return nil
	}
	if w.enc == nil {
		if err := w.begin(); err != nil {
			return err
		}
	}
	if err := w.out.first(w.enc.Write(rec)); err != nil {
		return err
	}
	w.rows += rec.NumRows()
	if w.W != nil { // somebody may read while we write
		return w.out.flush()
	}
	if w.PartBytes > 0 && w.Dir != "" && w.out.n >= w.PartBytes {
		return w.end()
	}
	return nil
}

// end completes the file in hand.
func (w *writer) end() error {
	err := w.enc.Close()
	if err == nil {
		err = w.out.flush()
	}
	if err = w.out.first(err); err != nil {
		return err
	}
	w.enc.Abandon()
	w.enc = nil
	w.total += w.rows
	w.size += w.out.n
	return w.place.end(w.rows, w.out.n, w.out.sum())
}

// Close completes and names the files, or removes them all.
func (w *writer) Close(failed error) error {
	err := failed
	if err == nil && w.enc != nil {
		err = w.end()
	}
	if w.enc != nil {
		w.enc.Abandon()
	}
	if err == nil {
		err = w.place.publish()
	}
	if err == nil {
		if w.Done != nil {
			w.Done(w.total, w.size)
		}
		return w.place.discard()
	}
	left := w.place.discard()
	if failed != nil {
		return left // the run has failed already, and says why
	}
	return errors.Join(err, left)
}
