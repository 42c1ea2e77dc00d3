package tabular

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/internal/arrowipc"
)

// ipcReader decodes the batches of one file, by its footer, or of one stream.
type ipcReader struct {
	schema *arrowipc.Schema
	next   func(i int) (meta, body []byte, err error)
	verify func(context.Context) error // called before the first batch; then nil
	budget *Budget
	use    []bool
	batch  int // number of the next batch
}

// NewIPC returns a decoder of an Arrow IPC file or stream. at reads the same bytes as r, for files. size is
// that of the whole input, or -1.
func NewIPC(r io.Reader, at io.ReaderAt, size int64, verify bool, budget *Budget) (Decoder, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	begin, err := in.Peek(8)
	switch {
	case len(begin) < 8 && (err == io.EOF || err == nil):
		return nil, fmt.Errorf("%d bytes are no Arrow IPC", len(begin))
	case err != nil:
		return nil, err
	case !arrowipc.IsFile(begin):
		s, err := arrowipc.NewStream(in, size, budget.Take)
		if err != nil {
			return nil, err
		}
		return &ipcReader{schema: s.Schema, budget: budget, next: func(int) ([]byte, []byte, error) { return s.Next() }}, nil
	case size < 0:
		return nil, errors.New("this is an IPC file, not a stream: it has to be read from its end too")
	}
	f, err := arrowipc.OpenFile(at, size, budget.Take)
	if err != nil {
		return nil, err
	}
	d := &ipcReader{schema: f.Schema, budget: budget, next: func(i int) ([]byte, []byte, error) {
		if i == f.Len() {
			return nil, nil, io.EOF
		}
		return f.Read(i)
	}}
	if verify {
		d.verify = f.Verify
	}
	return d, nil
}

func (r *ipcReader) Columns() ([]Column, arrow.Metadata) {
	return Columns(r.schema), r.schema.Metadata
}

func (r *ipcReader) Choose(use []bool) { r.use = use }

func (r *ipcReader) Next(ctx context.Context) (b Batch, err error) {
	r.budget.Reset(ctx)
	if r.verify != nil {
		if err := r.verify(ctx); err != nil {
			return b, err
		}
		r.verify = nil
	}
	meta, body, err := r.next(r.batch)
	if err == io.EOF {
		return b, err
	}
	if err == nil {
		b, err = FromArrow(r.schema, meta, body, r.use, r.budget)
	}
	if err != nil {
		err = fmt.Errorf("batch %d: %w", r.batch, err)
	}
	r.batch++
	return b, err
}
