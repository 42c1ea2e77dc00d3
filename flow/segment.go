package flow

import (
	"errors"

	"github.com/apache/arrow/go/v15/arrow"
)

// segment runs a chain of stages: on one goroutine, or on several that keep the order of the
// records.
//
//	       ┌─ worker: select → assemble → normalize ─┐
//	in ──▶ │  worker: select → assemble → normalize  │ ──▶ out
//	  3 2 1└─────────────────────────────────────────┘ 3 2 1
type segment struct {
	outlet
	inbox
	then    *segment // behind a Flusher: takes the records that leave on the same goroutine; or nil
	stages  []Stage
	counts  []*counter
	workers int

	// Of a segment that is run by one goroutine.
	chain *chain
	job   job
}

// takes reports whether the steps behind run on the goroutine of this segment, which
// has one worker: behind a Flusher such as Chunk, all of whose work is to hand out
// pieces, waking another goroutine for each record costs more than it saves (random
// graphs, k = 10: the speed over direct calls falls from 0.95 to 0.80, BenchmarkStream).
func (s *segment) takes(steps []openStep) bool {
	_, holds := s.stages[0].(Flusher)
	return s.workers == 1 && holds && len(steps) > 0 && forks(stagesOf(steps))
}

// end is where records leave.
func (s *segment) end() *outlet {
	if s.then != nil {
		return &s.then.outlet
	}
	return &s.outlet
}

// job is one record on its way through a worker.
type job struct {
	rec     arrow.Record
	outs    []arrow.Record
	letters []Letter
	err     error
}

// serve handles what comes in, to its end. If it is broken off, what still
// comes is left in the inbox.
func (s *segment) serve() {
	defer close(s.end().out)
	if forks(s.stages) && s.workers > 1 {
		if chains := s.fork(); chains != nil {
			s.parallel(chains)
			return
		}
	}
	s.serial()
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
	for len(all) < s.workers && !s.run.stopped() {
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
	s.start()
	defer s.stop()
	c := s.chain
	for {
		rec, ok := s.inbox.next(c.deadline())
		switch {
		case !ok:
			if c.hold && !s.run.stopped() {
				s.late(c, c.flush)
			}
			return
		case rec == nil:
			s.late(c, c.expire)
		default:
			s.job.rec = rec
			s.handle(c, &s.job)
		}
	}
}

// start makes the chain of the only worker, and that of the segment behind.
func (s *segment) start() {
	if s.then != nil {
		s.then.start()
	}
	s.chain = newChain(s.run, s.stages, s.counts, func(rec arrow.Record) error {
		if s.chain.hold {
			s.emit(rec) // it may be far more than fits in memory
		} else {
			s.job.outs = append(s.job.outs, rec)
		}
		return nil
	})
}

func (s *segment) stop() {
	if s.then != nil {
		defer s.then.stop()
	}
	s.run.fail(s.chain.close())
}

// take handles a record from the segment before, on the goroutine of that.
func (s *segment) take(rec arrow.Record) {
	if s.run.stopped() {
		rec.Release()
		return
	}
	s.job.rec = rec
	s.handle(s.chain, &s.job)
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
	if s.then != nil {
		s.then.take(rec)
		return
	}
	s.send(s.run, s.counts[len(s.counts)-1], rec)
}
