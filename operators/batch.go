package operators

import (
	"fmt"
	"math"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// Batch cuts the stream into records of exactly Size rows, in order. The last record has the
// rest. Rows that are already in one record are shared, not copied.
//
//	in:  {[20 graphs], [20 graphs], [10 graphs]}
//	out: {[32 graphs], [18 graphs]}                with Size 32
type Batch struct {
	// Size is B, the number of rows of a record. The default is 32.
	Size int
	// MaxWait is the longest time that a row waits for others; then a record has fewer rows. The
	// default is for ever: then the cuts, and all that follows from them, do not depend on time.
	MaxWait time.Duration
}

var _ flow.Operator = Batch{}

// Open checks the settings.
func (b Batch) Open(in *arrow.Schema) (flow.Stage, error) {
	if b.Size == 0 {
		b.Size = 32
	}
	if b.Size < 1 || b.Size > math.MaxInt32 {
		return nil, fmt.Errorf("Size is %d, want 1 to %d", b.Size, math.MaxInt32)
	}
	if b.MaxWait < 0 {
		return nil, fmt.Errorf("MaxWait is %v, want 0 or more", b.MaxWait)
	}
	return &batcher{Batch: b, schema: in}, nil
}

// batcher is a running Batch. parts are the waiting records, of at most Size-1 rows.
type batcher struct {
	Batch
	schema *arrow.Schema
	parts  []arrow.Record
	rows   int
	since  time.Time // arrival of the first waiting row
}

var (
	_ flow.TimedStage = (*batcher)(nil)
	_ flow.Restarter  = (*batcher)(nil)
)

// Restarts reports whether the cuts are independent of time.
func (b *batcher) Restarts() bool { return b.MaxWait == 0 }

func (b *batcher) Schema() *arrow.Schema { return b.schema }

func (b *batcher) Process(rec arrow.Record, out *flow.Out) error {
	n := int(rec.NumRows())
	for from := 0; from < n; {
		if b.rows == 0 && b.MaxWait > 0 {
			b.since = time.Now()
		}
		to := min(n, from+b.Size-b.rows)
		b.parts = append(b.parts, rec.NewSlice(int64(from), int64(to)))
		b.rows += to - from
		from = to
		if b.rows == b.Size {
			if err := b.emit(out); err != nil {
				return err
			}
		}
	}
	return nil
}

// Deadline returns the time at which the first row has waited for MaxWait.
func (b *batcher) Deadline() time.Time {
	if b.rows == 0 || b.MaxWait == 0 {
		return time.Time{}
	}
	return b.since.Add(b.MaxWait)
}

// Expire emits the waiting rows.
func (b *batcher) Expire(out *flow.Out) error { return b.Flush(out) }

func (b *batcher) Flush(out *flow.Out) error {
	if b.rows == 0 {
		return nil
	}
	return b.emit(out)
}

// emit emits the waiting rows as one record, and releases them.
func (b *batcher) emit(out *flow.Out) error {
	defer b.Close()
	if len(b.parts) == 1 {
		b.parts[0].Retain()
		return out.Emit(b.parts[0])
	}
	refs := make([]record.Ref, 0, b.rows)
	for i, p := range b.parts {
		refs = appendRefs(refs, i, p)
	}
	rec, err := record.Take(out.Allocator(), b.parts, refs)
	if err != nil {
		return err
	}
	return out.Emit(rec)
}

// appendRefs appends a reference to every row of rec, which is record i.
func appendRefs(refs []record.Ref, i int, rec arrow.Record) []record.Ref {
	for row := range int32(rec.NumRows()) {
		refs = append(refs, record.Ref{Record: int32(i), Row: row})
	}
	return refs
}

// Close releases the waiting rows.
func (b *batcher) Close() error {
	b.parts, b.rows = releaseAll(b.parts), 0
	return nil
}

func releaseAll(recs []arrow.Record) []arrow.Record {
	record.Release(recs)
	clear(recs)
	return recs[:0]
}
