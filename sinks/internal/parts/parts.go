// Package parts is where the sinks that write files put their bytes: one file,
// a directory of numbered parts with a manifest, or a writer of the caller's.
// What has its final name is complete; what fails leaves nothing behind.
package parts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
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
	// Live tells that a record is in the bytes when Write has returned.
	Live bool
	New  func(w io.Writer, s *arrow.Schema) (Encoder, error)
}

// Target says where the bytes go. Exactly one of the first four is set.
type Target struct {
	Path   string
	Dir    string
	Bucket file.Bucket
	W      io.Writer
	// PartBytes is the size from which on a part of Dir is complete.
	PartBytes int64
	// Append publishes each part as it is complete, beside those that are there.
	Append bool
	// PartTime is the age at which a part is complete then.
	PartTime time.Duration
	// FS takes the place of the file system of this machine.
	FS file.FS
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
	case t.Bucket != nil:
		return t.Bucket.String()
	}
	return "writer"
}

// place is where files come into being.
type place interface {
	// create begins the next file.
	create() (io.Writer, error)
	// end completes that file, which holds so many rows.
	end(rows, bytes int64, sum string) error
	// publish gives the files that are complete their names.
	publish() error
	// discard removes what was not published. It may follow publish.
	discard() error
}

// Open begins the first file, so that a place that cannot be written to is
// found before any work.
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
	case t.Append && t.Dir == "" && t.Bucket == nil:
		return nil, errors.New("the field Append is set, Dir and Bucket are not")
	case t.PartTime != 0 && !t.Append:
		return nil, errors.New("the field PartTime is set, Append is not")
	}
	t.PartBytes = cmp.Or(t.PartBytes, 256<<20)
	t.PartTime = cmp.Or(t.PartTime, time.Minute)
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
	if n, ok := w.place.(*numbered); ok && len(n.now.Files) > 0 {
		return w, nil // an Append may add nothing to what is there
	}
	if err := w.begin(); err != nil {
		w.place.discard() // the first error is the one to tell
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

	enc         Encoder // of the file in hand, or nil
	out         *output
	rows        int64     // of the file in hand
	due         time.Time // when it is complete; zero without rows
	total, size int64     // of the files before

	records, durable int64
}

var (
	_ flow.DurableWriter = (*writer)(nil)
	_ flow.TimedWriter   = (*writer)(nil)
)

func (w *writer) begin() error {
	to, err := w.place.create()
	if err != nil {
		return err
	}
	w.out, w.rows = newOutput(to, w.parts()), 0
	w.enc, err = w.format.New(w.out, w.schema)
	return w.out.first(err)
}

// Write encodes rec. Rows without columns are an error of the sink before.
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
		if err := w.out.flush(); err != nil { // another process may read meanwhile
			return err
		}
		if w.format.Live {
			w.durable = w.records
		}
	case w.parts() && w.enc != nil && w.out.n >= w.PartBytes:
		return w.end()
	case w.rows == 0 && w.durable == w.records-1: // nothing to lose
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
	if w.Append && w.rows == 0 && w.PartTime > 0 {
		w.due = time.Now().Add(w.PartTime)
	}
	w.rows += rec.NumRows()
	return w.out.first(w.enc.Write(rec))
}

// parts tells that the output is many files.
func (w *writer) parts() bool { return w.Dir != "" || w.Bucket != nil }

// Deadline is when the part in hand is old enough.
func (w *writer) Deadline() time.Time { return w.due }

// Expire publishes the part in hand.
func (w *writer) Expire(context.Context) error { return w.end() }

// Durable counts the records in published files.
func (w *writer) Durable() int64 { return w.durable }

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
	if err := w.place.end(w.rows, w.out.n, w.out.sum()); err != nil {
		return err
	}
	w.rows, w.due = 0, time.Time{}
	if w.Append {
		return w.publish()
	}
	return nil
}

func (w *writer) publish() error {
	if err := w.place.publish(); err != nil {
		return err
	}
	w.durable = w.records
	return nil
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
	if err == nil && !w.Append {
		err = w.publish()
	}
	if err == nil && w.Done != nil {
		w.Done(w.total, w.size)
	}
	left := w.place.discard()
	switch {
	case failed != nil:
		return left // the run has failed already, and says why
	case err != nil:
		return err
	}
	return left
}
