package main

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// repeated is a source that comes several times over, with positions that go on: more
// of the same work, for measuring.
type repeated struct {
	flow.Source
	times int
}

func (s repeated) String() string { return fmt.Sprintf("%d × %v", s.times, s.Source) }

func (s repeated) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	r, err := s.Source.Open(ctx, mem)
	if err != nil {
		return nil, err
	}
	return &repeatedReader{Reader: r, repeated: s, ctx: ctx, mem: mem}, nil
}

type repeatedReader struct {
	flow.Reader
	repeated
	ctx         context.Context
	mem         memory.Allocator
	begin, next int64 // of the positions of this time, and the next one
}

func (r *repeatedReader) Next(ctx context.Context) (arrow.Record, error) {
	rec, err := r.Reader.Next(ctx)
	for err == io.EOF && r.times > 1 {
		r.times, r.begin = r.times-1, r.next
		if err := r.Reader.Close(); err != nil {
			return nil, err
		}
		if r.Reader, err = r.Source.Open(r.ctx, r.mem); err != nil {
			return nil, err
		}
		rec, err = r.Reader.Next(ctx)
	}
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	was, err := record.Values[int64](rec, record.Pos)
	if err != nil {
		return nil, err
	}
	pos := record.NewColumn[int64](r.mem)
	for _, p := range was {
		pos.Append(r.begin + p)
		r.next = r.begin + p + 1
	}
	return record.Project(rec.Schema(), rec, map[string]arrow.Array{record.Pos: pos.Finish()})
}
