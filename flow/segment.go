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
	pipe
	in      chan any
	run     *run
	open    func(*arrow.Schema) ([]Stage, error) // called for the first record
	stages  []Stage                              // nil before it
	schema  *arrow.Schema                        // what comes in, where nobody before has checked it
	counts  []*counter
	workers int
}

func (s *segment) In() chan<- any { return s.in }

// job is one record on its way through a worker.
type job struct {
	rec     arrow.Record
	outs    []arrow.Record
	letters []Letter
	err     error
	done    chan struct{}
}

func (s *segment) serve() {
	defer close(s.out)
	// The first record tells the schema where the segment stands alone.
	var head arrow.Record
	for s.stages == nil {
		rec, ok := s.run.receive(s.in, s.counts[0], nil)
		if !ok {
			return
		}
		if rec == nil {
			continue
		}
		stages, err := s.open(rec.Schema())
		if err != nil {
			rec.Release()
			s.run.fail(err)
			continue
		}
		s.stages, s.schema, head = stages, rec.Schema(), rec
	}
	if forks(s.stages) && s.workers > 1 {
		if chains := s.fork(); chains != nil {
			s.parallel(head, chains)
			return
		}
	}
	s.serial(head)
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
			err := guard(func() error {
				c := st.(Forker).Fork()
				if c == nil {
					return errors.New("Fork returned nil")
				}
				copies = append(copies, c)
				return nil
			})
			if err != nil {
				s.run.fail(at(s.counts[i].stage, err))
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

// next returns head once, and then what comes in.
func (s *segment) next(head *arrow.Record) (arrow.Record, bool) {
	if rec := *head; rec != nil {
		*head = nil
		return rec, true
	}
	return s.run.receive(s.in, s.counts[0], s.schema)
}

func (s *segment) serial(head arrow.Record) {
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
		rec, ok := s.next(&head)
		if !ok {
			break
		}
		if rec == nil {
			continue
		}
		j.rec = rec
		j.err = c.process(rec)
		j.letters = c.takeLetters()
		s.finish(j, c.hold)
	}
	if c.hold && !s.run.stopped() {
		s.run.fail(c.flush())
		s.settle(c.takeLetters())
	}
}

func (s *segment) parallel(head arrow.Record, forks [][]Stage) {
	work := make(chan *job)
	order := make(chan *job, s.workers) // bounds what is in flight
	closed := make([]error, s.workers)
	var workers sync.WaitGroup
	for i, stages := range forks {
		workers.Go(func() {
			var j *job
			c := newChain(s.run, stages, s.counts, func(rec arrow.Record) error {
				j.outs = append(j.outs, rec)
				return nil
			})
			for j = range work {
				// What this worker is given after a record that failed comes
				// after it in the stream too, and will not be missed.
				if c.failed == nil && !s.run.stopped() {
					j.err = c.process(j.rec)
				}
				j.letters = c.takeLetters()
				close(j.done)
			}
			closed[i] = c.close()
		})
	}
	go func() {
		defer close(order)
		defer close(work)
		for {
			rec, ok := s.next(&head)
			if !ok {
				return
			}
			if rec != nil {
				j := &job{rec: rec, done: make(chan struct{})}
				order <- j
				work <- j
			}
		}
	}()
	for j := range order {
		<-j.done
		s.finish(j, false)
	}
	workers.Wait()
	for _, err := range closed {
		s.run.fail(err)
	}
}

// finish sends on what came of a record, in order, and releases the rest. Of
// several errors the one of the earliest record is met first, whatever worker
// was quicker.
func (s *segment) finish(j *job, hold bool) {
	defer j.rec.Release()
	if j.err != nil {
		s.run.fail(j.err)
	}
	if hold {
		s.settle(j.letters)
	} else {
		s.run.deliver(j.letters)
		if !s.run.stopped() {
			s.run.track.settle(j.rec, j.outs)
		}
	}
	for _, out := range j.outs {
		s.emit(out)
	}
	j.outs, j.letters = j.outs[:0], nil
}

// settle delivers the letters of a Flusher and takes back their claims, which
// no comparison of what went in and out would find.
func (s *segment) settle(letters []Letter) {
	for _, l := range letters {
		l.Row.Retain()
	}
	s.run.deliver(letters)
	for _, l := range letters {
		if !s.run.stopped() {
			s.run.track.done(l.Row)
		}
		l.Row.Release()
	}
}

// emit hands rec to whoever is next. That one reads until the channel is
// closed, whatever happens, so this cannot block for good.
func (s *segment) emit(rec arrow.Record) {
	if s.run.stopped() {
		rec.Release()
		return
	}
	start := time.Now()
	s.out <- rec
	since(&s.counts[len(s.counts)-1].blocked, start)
}
