package flow

import (
	"errors"
	"sync"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
)

// segment runs a chain of stages as one go-streams flow: one goroutine, or
// several that keep the order of the records.
//
//	       ┌─ worker: select → assemble → normalize ─┐
//	in ──▶ │  worker: select → assemble → normalize  │ ──▶ out
//	  3 2 1└─────────────────────────────────────────┘ 3 2 1
type segment struct {
	outlet
	inbox
	open    func(*arrow.Schema) ([]Stage, error) // called for the first record
	stages  []Stage                              // nil before it
	head    arrow.Record                         // the first record, where it has been taken
	counts  []*counter
	workers int
}

// job is one record on its way through a worker.
type job struct {
	rec     arrow.Record
	outs    []arrow.Record
	letters []Letter
	err     error
	done    chan struct{}
}

// serve handles what comes in, to its end. If it is broken off, what still
// comes is left in the inbox.
func (s *segment) serve() {
	defer close(s.out)
	attend(s.work)
}

func (s *segment) work() {
	defer s.release()
	if !s.begin() {
		return
	}
	if forks(s.stages) && s.workers > 1 {
		if chains := s.fork(); chains != nil {
			s.parallel(chains)
			return
		}
	}
	s.serial()
}

// begin opens the stages, where the first record tells the schema since the
// segment stands alone.
func (s *segment) begin() bool {
	if s.stages != nil {
		return true
	}
	rec, ok := s.inbox.next(time.Time{})
	if !ok {
		return false
	}
	s.head = rec
	stages, err := s.open(rec.Schema())
	if err != nil {
		s.run.fail(err)
		return false
	}
	s.stages, s.schema = stages, rec.Schema()
	return true
}

// release gives up the first record where nothing has become of it.
func (s *segment) release() {
	if s.head != nil {
		s.head.Release()
		s.head = nil
	}
}

// next returns the first record, and then what comes in.
func (s *segment) next(deadline time.Time) (arrow.Record, bool) {
	if rec := s.head; rec != nil {
		s.head = nil
		return rec, true
	}
	return s.inbox.next(deadline)
}

// forks reports whether several workers may run these stages.
func forks(stages []Stage) bool {
	for _, s := range stages {
		_, forker := s.(Forker)
		_, flusher := s.(Flusher) // it depends on more than the record in hand
		if !forker || flusher {
			return false
		}
	}
	return true
}

// fork returns the stages of each worker, or nil where a stage failed.
func (s *segment) fork() (all [][]Stage) {
	all = [][]Stage{s.stages}
	for range s.workers - 1 {
		var copies []Stage
		for i, st := range s.stages {
			err := s.run.guard(s.counts[i].stage, func() error {
				c := st.(Forker).Fork()
				if c == nil {
					return errors.New("Fork returned nil")
				}
				copies = append(copies, c)
				return nil
			})
			if err != nil {
				s.run.fail(err)
				for _, done := range append(all[1:], copies) {
					_ = newChain(s.run, done, s.counts, nil).close()
				}
				return nil
			}
		}
		all = append(all, copies)
	}
	return all
}

func (s *segment) serial() {
	j := &job{}
	var c *chain
	c = newChain(s.run, s.stages, s.counts, func(rec arrow.Record) error {
		if c.hold {
			s.emit(rec) // it may be far more than fits in memory
		} else {
			j.outs = append(j.outs, rec)
		}
		return nil
	})
	defer func() { s.run.fail(c.close()) }()
	for {
		rec, ok := s.next(c.deadline())
		switch {
		case !ok:
			if c.hold && !s.run.stopped() {
				s.late(c, c.flush)
			}
			return
		case rec == nil:
			s.late(c, c.expire)
		default:
			j.rec = rec
			s.handle(c, j)
		}
	}
}

// handle takes a record through a chain. What is deferred here and below is
// done even if a stage ends the goroutine.
func (s *segment) handle(c *chain, j *job) {
	defer s.finish(j, c.hold)
	defer c.report(j)
	c.process(j.rec)
}

// late lets a Flusher emit while nothing comes in.
func (s *segment) late(c *chain, f func()) {
	defer func() {
		s.run.fail(c.failed)
		s.settle(c.takeLetters())
	}()
	f()
}

func (s *segment) parallel(forks [][]Stage) {
	work := make(chan *job)
	order := make(chan *job, s.workers) // bounds what is in flight
	closed := make([]error, s.workers)
	var workers sync.WaitGroup
	for i, stages := range forks {
		workers.Go(func() {
			attend(func() { closed[i] = s.worker(stages, work) })
			for j := range work { // where a stage has ended that goroutine
				close(j.done)
			}
		})
	}
	go func() {
		defer close(order)
		defer close(work)
		for {
			rec, ok := s.next(time.Time{})
			if !ok {
				return
			}
			j := &job{rec: rec, done: make(chan struct{})}
			order <- j
			work <- j
		}
	}()
	finish := func() {
		for j := range order {
			<-j.done
			s.finish(j, false)
		}
	}
	attend(finish)
	finish() // where somebody who was told of letters has ended that goroutine
	workers.Wait()
	for _, err := range closed {
		s.run.fail(err)
	}
}

// worker takes jobs through a chain of its own, which it closes.
func (s *segment) worker(stages []Stage, work <-chan *job) (err error) {
	var j *job
	c := newChain(s.run, stages, s.counts, func(rec arrow.Record) error {
		j.outs = append(j.outs, rec)
		return nil
	})
	defer func() { err = c.close() }()
	for j = range work {
		func() {
			defer close(j.done)
			defer c.report(j)
			// What this worker is given after a record that failed comes
			// after it in the stream too, and will not be missed.
			if c.failed == nil && !s.run.stopped() {
				c.process(j.rec)
			}
		}()
	}
	return nil
}

// finish sends on what came of a record, in order, and releases the rest. Of
// several errors the one of the earliest record is met first, whatever worker
// was quicker.
func (s *segment) finish(j *job, hold bool) {
	defer j.rec.Release()
	defer func() {
		for _, out := range j.outs {
			s.emit(out)
		}
		j.outs, j.letters = j.outs[:0], nil
	}()
	s.run.fail(j.err)
	if hold {
		s.settle(j.letters)
		return
	}
	s.run.deliver(j.letters)
	if !s.run.stopped() {
		s.run.track.became(j.rec, j.outs)
	}
}

// settle delivers the letters of a Flusher and takes back their claims, which
// no comparison of what went in and out would find.
func (s *segment) settle(letters []Letter) {
	for _, l := range letters {
		l.Row.Retain()
		defer l.Row.Release()
	}
	s.run.deliver(letters)
	for _, l := range letters {
		if !s.run.stopped() {
			s.run.track.done(l.Row)
		}
	}
}

func (s *segment) emit(rec arrow.Record) {
	s.send(s.run, s.counts[len(s.counts)-1], rec)
}
