package message

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/tabular"
)

// Source streams the records in the messages of a topic: the body of a message is an Arrow IPC
// stream of one record, as a [Sink] sends it. It does not end, unless Idle is set. Column pos
// counts the rows of the run.
type Source struct {
	Topic Topic
	// Schema is that of the records. The default is that of the first message that can be read:
	// Open waits for it; the error is an io.EOF if none comes within Idle.
	Schema *arrow.Schema
	// Refused, if set, gets a message that is damaged, has another schema or cannot be read, with
	// the reason. If it returns nil the message is acknowledged like one whose rows are complete;
	// after a kill it may come again. The default is to end the run.
	Refused func(ctx context.Context, m Message, why error) error
	// Idle ends the stream when no message came for so long. The default is not to.
	Idle time.Duration
}

// maxBytes bounds the memory for the columns of one message.
const maxBytes = 256 << 20

var _ flow.Source = Source{}

// String names the topic.
func (s Source) String() string { return fmt.Sprint(s.Topic) }

// Open connects, and waits for the first message if there is no Schema.
func (s Source) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	if s.Idle < 0 {
		return nil, fmt.Errorf("Idle is %v, want at least 0", s.Idle)
	}
	in, err := s.intake(ctx)
	if err != nil {
		return nil, err
	}
	r := &reader{intake: in, mem: mem, schema: s.Schema, budget: &tabular.Budget{Left: maxBytes, Most: maxBytes}}
	for r.schema == nil {
		some, err := in.raw(ctx)
		if err == io.EOF {
			err = idled{fmt.Errorf("%s: no message with a record came within %v, and no Schema is set", s.Topic, s.Idle)}
		} else if err == nil && len(in.early) >= maxHeld {
			err = fmt.Errorf("%s: none of the first %d messages has a record, and no Schema is set", s.Topic, len(in.early))
		}
		if err != nil {
			return nil, errors.Join(err, in.Close())
		}
		in.early = append(in.early, some...)
		for _, m := range some {
			if rec, err := r.decode(ctx, m); err == nil {
				r.schema = rec.Schema()
				rec.Release()
				break
			}
		}
	}
	return r, nil
}

// idled is an io.EOF with another text.
type idled struct{ error }

func (idled) Unwrap() error { return io.EOF }

// reader is an open Source. It decodes the messages that intake returns.
type reader struct {
	*intake
	mem    memory.Allocator
	schema *arrow.Schema
	budget *tabular.Budget
	pos    int64 // position (column pos) of the next row
	closed bool
}

var (
	_ flow.Acker  = (*reader)(nil)
	_ flow.Seeker = (*reader)(nil)
	_ flow.Lagger = (*reader)(nil)
	_ flow.Noter  = (*reader)(nil)
)

func (r *reader) Schema() *arrow.Schema { return r.schema }

// Next returns the record of the next message, with consecutive positions.
func (r *reader) Next(ctx context.Context) (arrow.Record, error) {
	if r.closed {
		return nil, tabular.ErrClosed
	}
	var rec arrow.Record
	release := func() {
		if rec != nil {
			rec.Release()
			rec = nil
		}
	}
	defer release()
	_, skip, err := r.take(ctx, func(m Message) (rows int64, err error) {
		release() // the record of an earlier message whose rows were all complete
		if rec, err = r.decode(ctx, m); err != nil {
			return 0, err
		}
		return rec.NumRows(), nil
	})
	if err != nil {
		return nil, err
	}
	cut := rec.NewSlice(skip, rec.NumRows())
	defer cut.Release()
	b := array.NewInt64Builder(r.mem)
	defer b.Release()
	for range cut.NumRows() {
		b.Append(r.pos)
		r.pos++
	}
	return record.Project(r.schema, cut, map[string]arrow.Array{record.Pos: b.NewArray()})
}

// decode parses the record of a message.
func (r *reader) decode(ctx context.Context, m Message) (rec arrow.Record, err error) {
	defer func() {
		if p := recover(); p != nil {
			rec, err = nil, fmt.Errorf("the message cannot be read: %v", p)
		}
	}()
	if err := m.check(); err != nil {
		return nil, err
	}
	r.budget.Reset(ctx)
	d, err := tabular.NewIPC(bytes.NewReader(m.Body), nil, int64(len(m.Body)), false, r.budget)
	if err != nil {
		return nil, err
	}
	cols, meta := d.Columns()
	plan, err := tabular.NewPlan(cols, meta, tabular.Options{})
	switch {
	case err != nil:
		return nil, err
	case len(plan.Schema.FieldIndices(record.Pos)) == 0:
		return nil, fmt.Errorf("the record has no column %q", record.Pos)
	case r.schema != nil && !plan.Schema.Equal(r.schema):
		return nil, errors.New("the record has another schema than the stream")
	}
	d.Choose(plan.Use)
	batch, err := d.Next(ctx)
	if err == io.EOF {
		return nil, errors.New("the message has no record")
	}
	if err != nil {
		return nil, err
	}
	if rec, err = plan.Record(ctx, r.mem, batch, 0); err != nil {
		return nil, err
	}
	if _, err := d.Next(ctx); err != io.EOF {
		rec.Release()
		return nil, errors.New("the message has more than one record")
	}
	return rec, nil
}

// Ack acknowledges the messages whose rows have positions up to pos, unless the sink stores places.
func (r *reader) Ack(pos int64) { r.complete(pos + 1) }

// Close returns the unacknowledged messages to the broker.
func (r *reader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	return r.intake.Close()
}
