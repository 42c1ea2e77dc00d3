package flowtest

import (
	"io"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
)

// byTurns is an operator whose workers rest after each record, so that no worker
// makes all of them while the others wake up.
type byTurns struct{ flow.Operator }

func (b byTurns) Name() string { return flow.Name(b.Operator) }

func (b byTurns) Open(in *arrow.Schema) (flow.Stage, error) {
	s, err := b.Operator.Open(in)
	if _, holds := s.(flow.Flusher); err != nil || holds {
		return s, err
	}
	if _, forks := s.(flow.Forker); !forks {
		return s, nil
	}
	return rested{s}, nil
}

// rested is a stage that forks.
type rested struct{ flow.Stage }

func (r rested) Process(rec arrow.Record, out *flow.Out) error {
	defer time.Sleep(time.Millisecond)
	return r.Stage.Process(rec, out)
}

func (r rested) Fork() flow.Stage {
	if s := r.Stage.(flow.Forker).Fork(); s != nil {
		return rested{s}
	}
	return nil
}

func (r rested) Close() error {
	if c, ok := r.Stage.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
