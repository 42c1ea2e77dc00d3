package flow

import (
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
		rec, ok := s.run.receive(s.in, s.counts[0])
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
		s.stages, head = stages, rec
	}
	if forks(s.stages) && s.workers > 1 {
		s.parallel(head)
	} else {
		s.serial(head)
	}
}

// forks reports whether several workers may run these stages.
func forks(stages []Stage) bool {
	for _, s := range stages {
		if _, ok := s.(Forker); !ok {
			return false
		}
	}
	return true
}

// next returns head once, and then what comes in.
func (s *segment) next(head *arrow.Record) (arrow.Record, bool) {
	if rec := *head; rec != nil {
		*head = nil
		return rec, true
	}
	return s.run.receive(s.in, s.counts[0])
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

func (s *segment) parallel(head arrow.Record) {
	work := make(chan *job)
	order := make(chan *job, s.workers) // bounds what is in flight
	var workers sync.WaitGroup
	for i := range s.workers {
		stages := s.stages
		if i > 0 {
			stages = make([]Stage, len(s.stages))
			for k, st := range s.stages {
				stages[k] = st.(Forker).Fork()
			}
		}
		workers.Go(func() {
			var j *job
			c := newChain(s.run, stages, s.counts, func(rec arrow.Record) error {
				j.outs = append(j.outs, rec)
				return nil
			})
			for j = range work {
				if !s.run.stopped() {
					j.err = c.process(j.rec)
				}
				j.letters = c.takeLetters()
				close(j.done)
			}
			s.run.fail(c.close())
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
		s.run.track.done(l.Row)
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
