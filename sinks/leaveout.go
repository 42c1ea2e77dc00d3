package sinks

import (
	"errors"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
)

// refuse reports a row that a sink cannot use; see flow.RefusingWriter.
type refuse = func(row int, err error) error

// leaveOut calls do with rec. For an *nn.RowError it calls refuse, and if that returns nil, do again with
// the other rows. Each refused row costs a copy of the record, since refused rows are rare.
func leaveOut(rec arrow.Record, refuse refuse, do func(arrow.Record) error) error {
	rec.Retain()
	defer func() { rec.Release() }()
	var left []int // the original number of each row of rec
	for rec.NumRows() > 0 {
		err := do(rec)
		var bad *nn.RowError
		if !errors.As(err, &bad) || bad.Row < 0 || bad.Row >= int(rec.NumRows()) {
			return err
		}
		if left == nil {
			left = make([]int, rec.NumRows())
			for i := range left {
				left[i] = i
			}
		}
		if err := refuse(left[bad.Row], bad.Err); err != nil {
			return err
		}
		left = slices.Delete(left, bad.Row, bad.Row+1)
		refs := make([]record.Ref, 0, len(left))
		for row := range int32(rec.NumRows()) {
			if int(row) != bad.Row {
				refs = append(refs, record.Ref{Row: row})
			}
		}
		less, err := record.Take(memory.DefaultAllocator, []arrow.Record{rec}, refs)
		if err != nil {
			return err
		}
		rec.Release()
		rec = less
	}
	return nil
}

// never returns a refuse for Write: each bad row ends the run with an error.
func never(stage string, rec arrow.Record) refuse {
	return func(row int, err error) error { return rowError(stage, rec, &nn.RowError{Row: row, Err: err}) }
}

var (
	_ flow.RefusingWriter = (*trainer)(nil)
	_ flow.RefusingWriter = (*predictor)(nil)
	_ flow.DurableWriter  = (*trainer)(nil)
	_ flow.TimedWriter    = (*trainer)(nil)
	_ flow.Resumer        = (*trainer)(nil)
)
