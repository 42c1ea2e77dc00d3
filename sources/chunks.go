package sources

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// Chunks is a source of the rows that operators make of another source, with new positions 0,
// 1, 2, …. The chunks of a large graph, which otherwise all have its position, can then be
// acknowledged, sent and resumed one by one:
//
//	sources.Chunks{
//		Source: sources.Mapped{Path: "web.arrow"},
//		Via:    []flow.Operator{operators.Select{}, operators.Chunk{Size: 256}},
//	}
//
// Each record of Source is a stream of its own for the operators (flow.Direct), whose whole
// output is in memory; chunks share the graph. A row that an operator refuses ends the run. If
// Source is seekable (flow.Seeker), as Mapped is, a training resumes at a chunk: the operators
// read that graph again, and the stages after Chunks see no earlier chunk. Resuming with chunks
// of another size is an error.
type Chunks struct {
	Source flow.Source
	Via    []flow.Operator
	// Keep leaves the positions as they are.
	Keep bool
}

var _ flow.Source = Chunks{}

// String names the source, for the plan of a pipeline.
func (s Chunks) String() string { return fmt.Sprintf("Chunks(%v)", s.Source) }

// Open opens the source and the operators.
func (s Chunks) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	if s.Source == nil {
		return nil, errors.New("sources: Chunks: no Source")
	}
	r, err := s.Source.Open(ctx, mem)
	if err != nil {
		return nil, err
	}
	d, err := flow.OpenDirect(r.Schema(), flow.Options{Allocator: mem}, s.Via...)
	if err == nil && !d.Schema().HasField(record.Pos) {
		err = errors.Join(fmt.Errorf("sources: Chunks: the output of the operators has no column %q", record.Pos), d.Close())
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	c := &chunksReader{reader: r, direct: d, mem: mem, keep: s.Keep}
	if of, ok := r.(flow.Seeker); ok {
		p := &chunksPlacer{chunksReader: c, of: of, size: rootsOf(d.Schema())}
		c.begun = p.note
		return p, nil
	}
	return c, nil
}

// rootsOf returns how many roots a row has, or 0 if the schema does not say it.
func rootsOf(s *arrow.Schema) int {
	var shape []int
	if err := record.Meta(s, record.Roots, record.MetaShape, &shape); err != nil || len(shape) != 1 {
		return 0
	}
	return shape[0]
}

type chunksReader struct {
	reader flow.Reader
	direct *flow.Direct
	mem    memory.Allocator
	ready  []arrow.Record
	next   int64              // position
	keep   bool               // the positions
	skip   int64              // rows that are passed over
	begun  func(arrow.Record) // if set, hears of each record of the source
	closed bool
}

func (r *chunksReader) Schema() *arrow.Schema { return r.direct.Schema() }

func (r *chunksReader) Next(ctx context.Context) (arrow.Record, error) {
	for {
		switch {
		case r.closed:
			return nil, reading.ErrClosed
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case len(r.ready) > 0:
			left := r.skip
			rec := behind(r.ready[0], &r.skip)
			r.ready = slices.Delete(r.ready, 0, 1)
			r.next += left - r.skip
			if rec == nil {
				continue
			}
			defer rec.Release()
			return r.number(rec)
		}
		rec, err := r.reader.Next(ctx)
		if err == io.EOF {
			return nil, io.EOF
		}
		if err != nil {
			return nil, err
		}
		if r.begun != nil {
			r.begun(rec)
		}
		r.ready, err = r.direct.Process(ctx, rec)
		rec.Release()
		if err != nil {
			return nil, err
		}
	}
}

// number gives the rows of rec their positions.
func (r *chunksReader) number(rec arrow.Record) (arrow.Record, error) {
	if r.keep {
		r.next += rec.NumRows()
		rec.Retain()
		return rec, nil
	}
	pos := record.NewColumn[int64](r.mem)
	for range rec.NumRows() {
		pos.Append(r.next)
		r.next++
	}
	return record.Project(r.Schema(), rec, map[string]arrow.Array{record.Pos: pos.Finish()})
}

func (r *chunksReader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	for _, rec := range r.ready {
		rec.Release()
	}
	return errors.Join(r.direct.Close(), r.reader.Close())
}
