package flow

import (
	"errors"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
)

// sourceStage is an open Source with its output.
type sourceStage struct {
	run      *run
	out      *edge
	to       taker // receiver of the records: out, or the sink on the same goroutine
	reader   Reader
	schema   *arrow.Schema
	outlived bool // the reader is called after serve, as an Acker or a Seeker, so the pipeline closes it later
	count    *counter
	places   *Places // of a Seeker whose sink is a Resumer, or nil
}

func (s *sourceStage) open(src Source) error {
	return s.run.guard(s.count.stage, func() error {
		if src == nil {
			return errors.New("the source is nil")
		}
		reader, err := src.Open(s.run.ctx, s.run.opts.Allocator)
		if err != nil {
			return err
		}
		if reader == nil {
			return errors.New("Open returned no Reader")
		}
		s.reader = reader
		s.count.of(reader)
		if s.schema = s.reader.Schema(); s.schema == nil {
			return errors.New("the schema is nil")
		}
		return nil
	})
}

func (s *sourceStage) close() { s.run.fail(s.run.guard(s.count.stage, s.reader.Close)) }

func (s *sourceStage) serve() {
	defer close(s.out.records)
	if !s.outlived {
		defer s.close()
	}
	for !s.run.stopped() {
		rec, err := s.next()
		if err == io.EOF {
			return
		}
		if err == nil {
			err = s.run.track.enter(rec)
		}
		if err != nil {
			s.run.fail(at(s.count.stage, err))
			if rec != nil {
				rec.Release()
			}
			return
		}
		s.count.out(rec)
		if s.places != nil {
			s.places.hand(rec)
		}
		s.to.take(rec)
	}
}

// next returns a record, or io.EOF itself at the end. An error that wraps io.EOF fails the run, since a
// broken connection is not the end of a stream.
func (s *sourceStage) next() (rec arrow.Record, err error) {
	defer s.count.busy.since(monotonic())
	eof := false
	err = s.run.guard(s.count.stage, func() (err error) {
		if rec, err = s.reader.Next(s.run.ctx); err == io.EOF {
			eof = true
			return nil
		}
		if err != nil {
			rec = nil
			return err
		}
		if rec == nil {
			return errNoRecord
		}
		return checkColumns(rec.Schema(), s.schema)
	})
	if eof {
		return nil, io.EOF
	}
	return rec, err
}
