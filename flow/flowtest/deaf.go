package flowtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
)

// ending is an operator that ends the run before one call of Process or Flush, so that every Emit in the call
// fails. It checks that the stage returns the error.
type ending struct {
	flow.Operator
	stop context.CancelFunc
	at   int  // number of the call of Process; -1 is Flush
	deaf bool // Emit failed, and the stage returned nil
}

func (e *ending) Name() string { return flow.Name(e.Operator) }

func (e *ending) Open(in *arrow.Schema) (flow.Stage, error) {
	inner, err := e.Operator.Open(in)
	if err != nil {
		return nil, err
	}
	s := &endingStage{Stage: inner, ending: e}
	if f, ok := inner.(flow.Flusher); ok {
		return &endingFlusher{s, f}, nil
	}
	return s, nil
}

type endingStage struct {
	flow.Stage
	*ending
	n int // number of calls of Process
}

func (s *endingStage) Process(rec arrow.Record, out *flow.Out) error {
	if s.n == s.at {
		s.stop()
	}
	s.n++
	return s.judge(s.Stage.Process(rec, out), out)
}

func (s *endingStage) judge(err error, out *flow.Out) error {
	s.deaf = s.deaf || err == nil && out.Err() != nil
	return err
}

func (s *endingStage) Close() error {
	if c, ok := s.Stage.(interface{ Close() error }); ok {
		return c.Close()
	}
	return nil
}

type endingFlusher struct {
	*endingStage
	flusher flow.Flusher
}

func (s *endingFlusher) Flush(out *flow.Out) error {
	if s.at < 0 {
		s.stop()
	}
	return s.judge(s.flusher.Flush(out), out)
}

// emit checks that a stage returns the error of Emit.
func (s *subject) emit() error {
	for at := -1; at < len(s.trial.in); at++ {
		ctx, stop := context.WithCancel(context.Background())
		t := s.trial
		e := &ending{Operator: s.Op, stop: stop, at: at}
		t.op = e
		r, err := t.run(ctx)
		stop()
		switch {
		case err != nil:
		case e.deaf:
			err = errors.New("Emit returned an error, and the stage did not return it")
		case r.err != nil && !errors.Is(r.err, context.Canceled):
			err = fmt.Errorf("the error is %v, want context.Canceled", r.err)
		default:
			continue
		}
		return fmt.Errorf("the run ends in call %d (-1 is Flush): %w", at, err)
	}
	return nil
}
