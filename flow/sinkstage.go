package flow

import (
	"slices"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
)

// sinkStage is an open Sink with its input. It removes the claims of the rows that the Writer has written.
type sinkStage struct {
	run    *run
	in     *edge
	count  *counter
	writer Writer

	// For a DurableWriter: the written records that are not durable, and the number of durable records.
	unsafe [][]span
	safe   int64
}

func (s *sinkStage) serve() {
	defer s.in.drain()
	defer s.finish()
	for {
		rec, ok := s.in.next(s.deadline())
		switch {
		case !ok:
			return
		case rec == nil:
			s.call(nil, func() error { return s.writer.(TimedWriter).Expire(s.run.ctx) })
			s.account()
		default:
			s.take(rec)
		}
	}
}

func (s *sinkStage) deadline() (d time.Time) {
	if w, ok := s.writer.(TimedWriter); ok {
		s.call(nil, func() error {
			d = w.Deadline()
			return nil
		})
	}
	return d
}

// take writes rec. Refused rows are delivered before the rows of rec are complete.
func (s *sinkStage) take(rec arrow.Record) {
	defer rec.Release()
	if s.run.stopped() {
		return
	}
	s.count.in(rec)
	written := s.call(rec, func() error {
		w, ok := s.writer.(RefusingWriter)
		if !ok {
			return s.writer.Write(s.run.ctx, rec)
		}
		return w.WriteSome(s.run.ctx, rec, func(row int, err error) error {
			l, err := s.run.letter(s.count, rec, row, err)
			if err != nil {
				return err
			}
			s.run.deliver([]Letter{l}, false)
			return s.run.err()
		})
	})
	if !written {
		return
	}
	if _, later := s.writer.(DurableWriter); later {
		s.unsafe = append(s.unsafe, s.run.track.leave(rec))
		s.account()
	} else {
		s.run.track.forget(rec)
		s.run.track.done(rec)
	}
}

// call runs code of the writer for rec, which may be nil, and reports whether it succeeded.
func (s *sinkStage) call(rec arrow.Record, f func() error) bool {
	defer s.count.busy.since(monotonic())
	err := guard(f, func(err error) { s.run.fail(inRecord(s.count.stage, rec, -1, err)) })
	s.run.fail(inRecord(s.count.stage, rec, -1, err))
	return err == nil
}

// account removes the claims of records that are now durable.
func (s *sinkStage) account() {
	w, ok := s.writer.(DurableWriter)
	if !ok {
		return
	}
	n := int64(0)
	s.call(nil, func() error {
		n = min(w.Durable()-s.safe, int64(len(s.unsafe)))
		return nil
	})
	if n > 0 {
		s.run.track.change(slices.Concat(s.unsafe[:n]...), -1)
		s.unsafe, s.safe = s.unsafe[n:], s.safe+n
	}
}

// finish closes the writer. If all written records are durable, the remaining claims are removed: they
// belong to rows that lost their position.
func (s *sinkStage) finish() {
	if s.writer != nil {
		failed := s.run.err()
		s.call(nil, func() error { return s.writer.Close(failed) })
		s.account()
	}
	if s.run.err() == nil && len(s.unsafe) == 0 {
		s.run.track.finish()
	}
}
