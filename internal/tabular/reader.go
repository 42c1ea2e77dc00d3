package tabular

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/manifest"
)

// Decoder reads the batches of one file.
type Decoder interface {
	// Columns returns the columns of the file and the metadata of its schema.
	Columns() ([]Column, arrow.Metadata)
	// Choose selects the columns. It is called before Next.
	Choose(use []bool)
	// Next returns the next batch, or io.EOF. It is valid until the next call.
	Next(ctx context.Context) (Batch, error)
}

// Input is one file.
type Input struct {
	Name string // for messages
	// Verify, if set, compares the file with its manifest.
	Verify func(context.Context) error
	// Schema is the fingerprint in the manifest, or empty.
	Schema string
	// Rows is the number of rows in the manifest, or -1.
	Rows int64
	Open func() (Decoder, io.Closer, error)
}

// Reader reads files one after the other. It is a flow.Reader.
type Reader struct {
	mem     memory.Allocator
	inputs  []Input
	options Options
	rows    int
	wrap    func(file string, err error) error // wraps errors of a file

	plan  *Plan
	dec   Decoder
	file  io.Closer
	at    int          // index of the current file
	first int64        // number of the next row
	read  int64        // rows of the current file so far
	held  arrow.Record // the rest of a batch
	err   error
}

// ErrClosed is the error of reading after Close.
var ErrClosed = errors.New("the reader is closed")

// newReader opens the first file. Records have at most rows rows.
func newReader(ctx context.Context, mem memory.Allocator, inputs []Input, rows int, o Options, wrap func(string, error) error) (flow.Reader, error) {
	r := &Reader{mem: mem, inputs: inputs, options: o, rows: rows, wrap: wrap}
	if err := r.open(ctx); err != nil {
		return nil, wrap(inputs[0].Name, errors.Join(err, r.Close()))
	}
	return r, nil
}

// Schema returns the schema of all files.
func (r *Reader) Schema() *arrow.Schema { return r.plan.Schema }

// open opens the current file. All files must have the columns of the first.
func (r *Reader) open(ctx context.Context) (err error) {
	in := r.inputs[r.at]
	if in.Verify != nil {
		if err := in.Verify(ctx); err != nil {
			return err
		}
	}
	if r.dec, r.file, err = in.Open(); err != nil {
		return err
	}
	r.read = 0
	cols, meta := r.dec.Columns()
	plan, err := NewPlan(cols, meta, r.options)
	if err != nil {
		return err
	}
	if in.Schema != "" && r.options.Columns == nil && r.options.Like == nil && manifest.Fingerprint(plan.Schema) != in.Schema {
		return errors.New("its columns differ from the manifest")
	}
	if r.plan == nil {
		r.plan = plan
	} else if manifest.Fingerprint(plan.Schema) != manifest.Fingerprint(r.plan.Schema) {
		return fmt.Errorf("its columns are not those of %s", r.inputs[0].Name)
	} else {
		r.plan.Use, r.plan.from = plan.Use, plan.from
	}
	r.dec.Choose(r.plan.Use)
	return nil
}

// Next returns the next record, which the caller owns, or io.EOF.
func (r *Reader) Next(ctx context.Context) (arrow.Record, error) {
	for r.err == nil {
		if r.err = context.Cause(ctx); r.err != nil {
			break
		}
		if r.held != nil {
			return r.cut(), nil
		}
		if r.at == len(r.inputs) {
			r.err = io.EOF
			break
		}
		if r.err = r.load(ctx); r.err != nil && ctx.Err() == nil {
			r.err = r.wrap(r.inputs[r.at].Name, r.err)
		}
	}
	return nil, r.err
}

// load reads the next batch, or opens the next file. Decoders do not panic by design. If one does, the panic
// becomes an error of the file.
func (r *Reader) load(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it cannot be read: %v", p)
		}
	}()
	if r.dec == nil {
		return r.open(ctx)
	}
	b, err := r.dec.Next(ctx)
	if err == io.EOF {
		if want := r.inputs[r.at].Rows; want >= 0 && r.read != want {
			return fmt.Errorf("there are %d rows, want %d, as the manifest says", r.read, want)
		}
		if err := r.shut(); err != nil {
			return err
		}
		r.at++
		return nil
	}
	if err != nil {
		return err
	}
	if b.Rows == 0 {
		return nil
	}
	rec, err := r.plan.Record(ctx, r.mem, b, r.first)
	if err != nil {
		return fmt.Errorf("rows %d to %d: %w", r.read, r.read+int64(b.Rows)-1, err)
	}
	r.held = rec
	r.first += int64(b.Rows)
	r.read += int64(b.Rows)
	return nil
}

// cut returns the next rows of held.
func (r *Reader) cut() arrow.Record {
	rec := r.held
	if rec.NumRows() <= int64(r.rows) {
		r.held = nil
		return rec
	}
	defer rec.Release()
	r.held = rec.NewSlice(int64(r.rows), rec.NumRows())
	return rec.NewSlice(0, int64(r.rows))
}

func (r *Reader) shut() error {
	f := r.file
	r.dec, r.file = nil, nil
	if f == nil {
		return nil
	}
	return f.Close()
}

// Close ends reading.
func (r *Reader) Close() error {
	if r.held != nil {
		r.held.Release()
		r.held = nil
	}
	r.err = ErrClosed
	return r.shut()
}
