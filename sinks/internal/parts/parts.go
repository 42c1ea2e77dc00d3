// Package parts is the output of the sinks that write files: one file, a directory of numbered parts
// with a manifest, or a writer of the caller. A file with its final name is complete. A failure leaves
// no file behind.
package parts

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
)

// Encoder converts records to the bytes of one file.
type Encoder interface {
	// Write borrows rec.
	Write(rec arrow.Record) error
	// Close writes the rest and the end of the file.
	Close() error
	// Abandon releases what is retained. It may follow Close.
	Abandon()
}

// Format is a file format.
type Format struct {
	Ext string // of parts, with its dot
	// Live means that the bytes contain a record when Write has returned.
	Live bool
	New  func(w io.Writer, s *arrow.Schema) (Encoder, error)
}

// Target is the destination of the bytes. Exactly one of the first four fields is set.
type Target struct {
	Path   string
	Dir    string
	Bucket file.Bucket
	W      io.Writer
	// PartBytes is the size at which a part is complete.
	PartBytes int64
	// FS replaces the file system of this machine.
	FS file.FS
	// Done, if set, is called at the end with the rows and bytes of all files.
	Done func(rows, bytes int64)
}

// String is for the plan of a pipeline.
func (t Target) String() string {
	switch {
	case t.Path != "":
		return t.Path
	case t.Dir != "":
		return strings.TrimSuffix(t.Dir, "/") + "/"
	case t.Bucket != nil:
		return t.Bucket.String()
	}
	return "writer"
}

// place creates and publishes files.
type place interface {
	// create begins the next file.
	create() (io.Writer, error)
	// end completes the file, which has these rows and bytes, and this checksum.
	end(rows, bytes int64, sum string) error
	// publish gives the complete files their names.
	publish() error
	// discard removes unpublished files. It may follow publish.
	discard() error
}

// Open begins the first file, so that an unwritable destination is an error before any work.
func (t Target) Open(s *arrow.Schema, f Format) (flow.Writer, error) {
	set := 0
	for _, is := range []bool{t.Path != "", t.Dir != "", t.Bucket != nil, t.W != nil} {
		if is {
			set++
		}
	}
	switch {
	case set != 1:
		return nil, fmt.Errorf("%d of Path, Dir, Bucket and W are set, want one", set)
	case t.PartBytes < 0:
		return nil, fmt.Errorf("PartBytes is %d, want 0 or more", t.PartBytes)
	}
	t.PartBytes = cmp.Or(t.PartBytes, 256<<20)
	w := &writer{Target: t, schema: s, format: f}
	var err error
	switch {
	case t.Path != "":
		w.place, err = newSingle(t.FS, t.Path)
	case t.W == nil:
		w.place, err = newNumbered(t, f.Ext, s)
	default:
		w.place = plain{t.W}
	}
	if err != nil {
		return nil, err
	}
	if err := w.begin(); err != nil {
		w.place.discard() // the first error is returned
		return nil, err
	}
	return w, nil
}

// writer is an open Target.
type writer struct {
	Target
	schema *arrow.Schema
	format Format
	place  place

	enc         Encoder // encoder of the current file; nil if none is open
	out         *output
	rows        int64 // rows of the current file
	total, size int64 // rows and bytes of complete files

	records, durable int64
}

var _ flow.DurableWriter = (*writer)(nil)

func (w *writer) begin() error {
	to, err := w.place.create()
	if err != nil {
		return err
	}
	w.out, w.rows = newOutput(to, w.parts()), 0
	w.enc, err = w.format.New(w.out, w.schema)
	return w.out.first(err)
}

// Write encodes rec. The sinks refuse rows without columns.
func (w *writer) Write(ctx context.Context, rec arrow.Record) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if rec.NumRows() > 0 {
		if err := w.write(rec); err != nil {
			return err
		}
	}
	w.records++
	switch {
	case w.W != nil:
		if err := w.out.flush(); err != nil { // another process may read the bytes
			return err
		}
		if w.format.Live {
			w.durable = w.records
		}
	case w.parts() && w.enc != nil && w.out.n >= w.PartBytes:
		return w.end()
	case w.rows == 0 && w.durable == w.records-1: // no row is pending
		w.durable = w.records
	}
	return nil
}

func (w *writer) write(rec arrow.Record) error {
	if w.enc == nil {
		if err := w.begin(); err != nil {
			return err
		}
	}
	w.rows += rec.NumRows()
	return w.out.first(w.enc.Write(rec))
}

// parts reports whether the output is several files.
func (w *writer) parts() bool { return w.Dir != "" || w.Bucket != nil }

// Durable counts the records in published files.
func (w *writer) Durable() int64 { return w.durable }

// end completes the current file, and tells place its rows, bytes and checksum.
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
	err = w.place.end(w.rows, w.out.n, w.out.sum())
	w.rows = 0
	return err
}

// Close completes and names the files, or removes those that are not published.
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
		w.durable = w.records
		if w.Done != nil {
			w.Done(w.total, w.size)
		}
	}
	left := w.place.discard()
	switch {
	case failed != nil:
		return left // the run has failed already, with its own error
	case err != nil:
		return err
	}
	return left
}
