package flow

import (
	"sync"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
)

// segment runs a chain of stages: on one goroutine, or on several that keep the order of the
// records.
//
//	       ┌─ worker: select → assemble → normalize ─┐
//	in ──▶ │  worker: select → assemble → normalize  │ ──▶ out
//	  3 2 1└─────────────────────────────────────────┘ 3 2 1
type segment struct {
	run     *run
	in, out *edge
	to      taker    // out, or what takes records on the same goroutine
	then    *segment // that is run by the goroutine of this one; or nil
	steps   []step
	holds   bool // the only stage is a Flusher

	chains []*chain // of each worker
	job    job      // of the only worker
}

// segment returns the segment of some steps.
func (r *run) segment(in *edge, steps []step) *segment {
	s := &segment{run: r, in: in, out: r.edge(steps[len(steps)-1].count), steps: steps}
	in.to, s.to = steps[0].count, s.out
	_, s.holds = steps[0].stage.(Flusher)
	return s
}

// together returns how many of the steps, from the first on, form a segment: stages that can be
// forked share their workers.
func together(steps []step) (n int) {
	for n < len(steps) && steps[n].forks() {
		n++
	}
	return max(n, min(1, len(steps)))
}

// serve handles what comes in, to its end. What still comes in when it is broken off is released.
// What is deferred here and below is done even if a stage ends the goroutine.
func (s *segment) serve() {
	defer s.in.drain()
	defer close(s.out.records)
	if s.then != nil {
		defer s.then.close()
		s.then.open()
	}
	defer s.close()
	s.open()
	if workers := s.run.opts.Workers; workers > 1 && s.steps[0].forks() {
		s.fork(workers)
		s.parallel()
	} else {
		s.serial()
	}
}

// open makes the chain of the first worker.
func (s *segment) open() {
	s.chains = []*chain{newChain(s.run, s.steps)}
	if s.holds { // what a Flusher emits may be far more than fits in memory
		s.chains[0].through = s.to
	}
}

// fork makes the chains of the other workers.
func (s *segment) fork(workers int) {
	for len(s.chains) < workers && !s.run.stopped() {
		copies := make([]step, 0, len(s.steps))
		for _, own := range s.steps {
			c, err := s.run.fork(own)
			if err != nil {
				s.run.fail(err)
				break
			}
			copies = append(copies, c)
		}
		s.chains = append(s.chains, newChain(s.run, copies))
	}
}

// close closes all chains.
func (s *segment) close() {
	for _, c := range s.chains {
		defer func() {
			s.run.fail(c.failed)
			s.run.fail(c.close())
		}()
	}
}

func (s *segment) serial() {
	c := s.chains[0]
	for {
		deadline := c.deadline()
		s.run.fail(c.failed)
		rec, ok := s.in.next(deadline)
		switch {
		case rec != nil:
			s.take(rec)
		case ok:
			s.late(c.expire)
		default:
			if s.holds && !s.run.stopped() {
				s.late(c.flush)
			}
			return
		}
	}
}

// take takes a record through the chain of the only worker.
func (s *segment) take(rec arrow.Record) {
	if s.run.stopped() {
		rec.Release()
		return
	}
	s.job = job{rec: rec, outs: s.job.outs[:0]}
	defer s.finish(&s.job)
	s.chains[0].process(&s.job)
}

// late lets a Flusher emit while nothing comes in.
func (s *segment) late(f func(*Out)) {
	c := s.chains[0]
	s.job = job{}
	c.job = &s.job
	defer s.finish(c.job)
	f(c.stages[0])
}

// finish sends on what came of a record, in order, and releases the rest. Of
// several errors the one of the earliest record is met first, whatever worker
// was quicker.
func (s *segment) finish(j *job) {
	if j.rec != nil {
		defer j.rec.Release()
	}
	defer func() {
		for _, out := range j.outs {
			s.to.take(out)
		}
	}()
	s.run.fail(j.err)
	// The claims of the rows that a Flusher refuses are found by no comparison of what goes in and out.
	s.run.deliver(j.letters, s.holds)
	if !s.holds && !s.run.stopped() {
		s.run.track.became(j.rec, j.outs)
	}
}

// parallel runs each chain in a worker. Workers take records in turn, and the worker that has
// made the due record sends it on, with the records behind it that are made already: no other
// goroutine has to be woken for each record.
func (s *segment) parallel() {
	t := &turns{segment: s, made: make([]*job, 2*len(s.chains))}
	t.room.L = &t.mu
	var workers sync.WaitGroup
	for _, c := range s.chains {
		workers.Go(func() { t.work(c) })
	}
	workers.Wait()
	attend(t.send)
	t.send() // where the function DeadLetters has ended that goroutine
}

// turns keeps the order of records that several workers make. Records are counted
// as they are taken.
type turns struct {
	segment *segment

	in    sync.Mutex // held by the worker that takes a record, or waits for one
	taken int

	mu      sync.Mutex
	room    sync.Cond // is told when due has risen
	due     int       // the record that is to be sent on next
	made    []*job    // those that are done, from due on; a ring
	sending bool      // a worker is in send
}

// work takes records through a chain, to their end.
func (t *turns) work(c *chain) {
	for {
		rec, turn, ok := t.take()
		if !ok {
			return
		}
		j := &job{rec: rec}
		func() {
			defer t.done(turn, j)
			// What this worker is given after a record that failed comes
			// after it in the stream too, and will not be missed.
			if c.failed == nil && !t.segment.run.stopped() {
				c.process(j)
			}
		}()
	}
}

// take returns the next record and its number. It waits where too many before it
// have not been sent on.
func (t *turns) take() (rec arrow.Record, turn int, ok bool) {
	t.in.Lock()
	defer t.in.Unlock()
	t.mu.Lock()
	for t.taken-t.due >= len(t.made) {
		t.room.Wait()
	}
	t.mu.Unlock()
	rec, ok = t.segment.in.next(time.Time{})
	if ok {
		turn = t.taken
		t.taken++
	}
	return rec, turn, ok
}

// done is told that a record was made.
func (t *turns) done(turn int, j *job) {
	t.mu.Lock()
	t.made[turn%len(t.made)] = j
	t.mu.Unlock()
	t.send()
}

// send sends on what was made and is due, unless another worker does.
func (t *turns) send() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sending {
		return
	}
	t.sending = true
	defer func() { t.sending = false }()
	for {
		j := t.made[t.due%len(t.made)]
		if j == nil {
			return
		}
		t.made[t.due%len(t.made)] = nil
		t.finish(j)
	}
}

// finish finishes the job that is due, without mu, which the caller holds.
func (t *turns) finish(j *job) {
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		t.due++
		t.room.Broadcast()
	}()
	t.segment.finish(j)
}
