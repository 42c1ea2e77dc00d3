package flow

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
)

// RefusingWriter is a Writer that can refuse a row, as a Stage can with Out.Refuse.
type RefusingWriter interface {
	Writer
	// WriteSome is called instead of Write. For a row that the writer cannot handle it calls refuse
	// with the number of the row in rec and the reason. If refuse returns nil, the writer leaves
	// the row out and continues; otherwise it returns the error.
	WriteSome(ctx context.Context, rec arrow.Record, refuse func(row int, err error) error) error
}

// letter returns the letter of a row that a stage refuses, which owns its row;
// where the policy is to stop, or the stage is at fault, it returns the error.
func (r *run) letter(c *counter, rec arrow.Record, row int, err error) (Letter, error) {
	if err == nil {
		err = errors.New("the stage gave no reason")
	}
	if row < 0 || row >= int(rec.NumRows()) {
		return Letter{}, at(c.stage, fmt.Errorf("refused row %d of %d: %w", row, rec.NumRows(), err))
	}
	l := Letter{
		Stage: c.stage,
		Graph: cell(rec, graphID, row),
		Pos:   cell(rec, posColumn, row),
		Err:   err,
	}
	c.refuse(l)
	if r.opts.Refused == Stop {
		return Letter{}, &Error{Stage: l.Stage, Graph: l.Graph, Err: err}
	}
	l.Row = rec.NewSlice(int64(row), int64(row)+1)
	return l, nil
}

// hand writes rec. What the writer refuses of it is delivered before its rows
// count as done.
func (s *sinkStage) hand(rec arrow.Record) error {
	w, ok := s.writer.(RefusingWriter)
	if !ok {
		return s.writer.Write(s.run.ctx, rec)
	}
	return w.WriteSome(s.run.ctx, rec, func(row int, err error) error {
		l, err := s.run.letter(s.count, rec, row, err)
		if err != nil {
			return err
		}
		s.run.deliver([]Letter{l})
		return s.run.err()
	})
}
