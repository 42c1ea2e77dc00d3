package part

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
)

// Rows is the source of the rows From to To − 1 of another source. The rows before From are read
// and dropped: sources.Mapped reads no page for that. A source that ends
// before To is an error.
type Rows struct {
	Source flow.Source
	Input
}

// String returns the source and the range, for the plan of a pipeline.
func (s Rows) String() string { return fmt.Sprintf("Rows(%v, %d–%d)", s.Source, s.From, s.To) }

// Open opens the source.
func (s Rows) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	if s.Source == nil {
		return nil, errors.New("part: Rows: no Source")
	}
	if s.From < 0 || s.To < 0 || s.To > 0 && s.To < s.From {
		return nil, fmt.Errorf("part: Rows: From is %d and To is %d", s.From, s.To)
	}
	r, err := s.Source.Open(ctx, mem)
	if err != nil {
		return nil, err
	}
	return &rowsReader{Reader: r, Rows: s}, nil
}

type rowsReader struct {
	flow.Reader
	Rows
	at int64 // next row of the source
}

func (r *rowsReader) Next(ctx context.Context) (arrow.Record, error) {
	for r.To == 0 || r.at < r.To {
		rec, err := r.Reader.Next(ctx)
		if err == io.EOF && (r.To > 0 || r.at < r.From) {
			return nil, fmt.Errorf("part: Rows: %v has %d rows, and the part is rows %d to %d", r.Source, r.at, r.From, r.To)
		}
		if err != nil {
			return nil, err
		}
		begin, n := r.at, rec.NumRows()
		r.at += n
		from, to := max(r.From-begin, 0), n
		if r.To > 0 {
			to = min(to, r.To-begin)
		}
		switch {
		case from >= to:
			rec.Release()
			continue
		case from == 0 && to == n:
			return rec, nil
		}
		cut := rec.NewSlice(from, to)
		rec.Release()
		return cut, nil
	}
	return nil, io.EOF
}
