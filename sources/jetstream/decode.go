package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/flow/record/arrowipc"
	"github.com/sanflow/sanflow/internal/jet"
	"github.com/sanflow/sanflow/internal/tabular"
)

// decoder makes records of the bodies of messages, by the reader that files are
// read with.
type decoder struct {
	ipc    *arrowipc.Schema
	plan   *tabular.Plan
	mem    memory.Allocator
	budget *tabular.Budget
}

func newDecoder(info *nc.StreamInfo, mem memory.Allocator, most int64) (*decoder, error) {
	s, err := jet.SchemaOf(info)
	if err != nil {
		return nil, err
	}
	cols := tabular.Columns(s)
	plan, err := tabular.NewPlan(cols, s.Metadata, tabular.Options{})
	if err != nil {
		return nil, err
	}
	if !plan.Schema.HasField(record.Pos) {
		return nil, fmt.Errorf("it has no column %q", record.Pos)
	}
	return &decoder{s, plan, mem, &tabular.Budget{Left: most, Most: most}}, nil
}

// decode makes a record, which is what the headers of its message say.
func (d *decoder) decode(ctx context.Context, n *jet.Note, b []byte) (rec arrow.Record, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it cannot be read: %v", p)
		}
	}()
	d.budget.Reset(ctx)
	if err := n.Verify(b); err != nil {
		return nil, err
	}
	meta, body, err := jet.Split(b)
	if err != nil {
		return nil, err
	}
	batch, err := tabular.FromArrow(d.ipc, meta, body, d.plan.Use, d.budget)
	if err != nil {
		return nil, err
	}
	if batch.Rows != n.Rows {
		return nil, fmt.Errorf("it has %d rows, and says %d", batch.Rows, n.Rows)
	}
	rec, err = d.plan.Record(ctx, d.mem, batch, 0)
	if err != nil {
		return nil, err
	}
	if err := agree(rec, n.Spans); err != nil {
		rec.Release()
		return nil, err
	}
	return rec, nil
}

// agree compares the positions of rows with those that the headers name.
func agree(rec arrow.Record, want []jet.Span) error {
	pos, err := record.Values[int64](rec, record.Pos)
	if err != nil {
		return err
	}
	spans, err := jet.SpansOf(pos)
	if err == nil && !slices.Equal(spans, want) {
		err = errors.New("its rows have other positions than it says")
	}
	return err
}
