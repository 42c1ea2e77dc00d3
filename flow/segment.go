package flow

import (
	"sync"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
)

// segment runs a chain of stages on one or several goroutines, and keeps the order of the records.
//
//	       ┌─ worker: select → assemble → normalize ─┐
//	in ──▶ │  worker: select → assemble → normalize  │ ──▶ out
//	  3 2 1└─────────────────────────────────────────┘ 3 2 1
type segment struct {
	run     *run
	in, out *edge
	to      taker    // receiver of the output: out, or a taker on the same goroutine
	then    *segment // the next segment, on the same goroutine; or nil
	steps   []step
	holds   bool // the only stage is a Flusher

	chains []*chain // one chain for each worker
	job    job      // current record of the only worker
}

func (r *run) segment(in *edge, steps []step) *segment {
	s := &segment{run: r, in: in, out: r.edge(steps[len(steps)-1].count), steps: steps}
	in.to, s.to = steps[0].count, s.out
	_, s.holds = steps[0].stage.(Flusher)
	return s
}

// together returns the number of first steps that form a segment: all that can be forked, or one.
func together(steps []step) (n int) {
	for n < len(steps) && steps[n].forks() {
		n++
	}
	return max(n, min(1, len(steps)))
}

// serve processes the input to its end, or releases it after the end of the run. Deferred calls run even
// if a stage ends the goroutine.
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
	if s.holds { // the output of a Flusher may exceed the memory
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

// take processes a record in the chain of the only worker.
func (s *segment) take(rec arrow.Record) {
	if s.run.stopped() {
		rec.Release()
		return
	}
	s.job = job{rec: rec, outs: s.job.outs[:0]}
	defer s.finish(&s.job)
	s.chains[0].process(&s.job)
}

// late calls f, with which a Flusher emits without input.
func (s *segment) late(f func(*Out)) {
	c := s.chains[0]
	s.job = job{}
	c.job = &s.job
	defer s.finish(c.job)
	f(c.stages[0])
}

// finish passes on the results of a record, in order, and releases the record. Since records finish in
// order, the run reports the error of the earliest record.
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
	// A Flusher has no matching input and output, so the claims of its refused rows are removed here.
	s.run.deliver(j.letters, s.holds)
	switch {
	case s.holds:
		s.run.track.forget(j.rec)
	case !s.run.stopped():
		s.run.track.became(j.rec, j.outs)
	}
}

// parallel runs each chain in a worker. The worker that finishes the due record sends it on, together
// with the finished records behind it. So no record wakes another goroutine.
func (s *segment) parallel() {
	t := &turns{segment: s, made: make([]*job, 2*len(s.chains))}
	t.room.L = &t.mu
	var workers sync.WaitGroup
	for _, c := range s.chains {
		workers.Go(func() { t.work(c) })
	}
	workers.Wait()
	attend(t.send)
	t.send() // sends the rest if DeadLetters ended the goroutine of attend
}

// turns keeps the order of the records of several workers. A record has the number of its turn.
type turns struct {
	segment *segment

	in    sync.Mutex // held by the worker that waits for a record
	taken int        // number of records that workers have taken so far

	mu      sync.Mutex
	room    sync.Cond // signals that due has risen
	due     int       // turn of the next record to send
	made    []*job    // ring of finished jobs, from due on
	sending bool      // a worker is in send
}

// work processes records in a chain until the input ends.
func (t *turns) work(c *chain) {
	for {
		rec, turn, ok := t.take()
		if !ok {
			return
		}
		j := &job{rec: rec}
		func() {
			defer t.done(turn, j)
			// Later records of this worker are behind the failed one in the stream,
			// so they may be dropped.
			if c.failed == nil && !t.segment.run.stopped() {
				c.process(j)
			}
		}()
	}
}

// take returns the next record and its turn. It waits while too many earlier records are not sent.
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

// done stores a finished job and sends what is due.
func (t *turns) done(turn int, j *job) {
	t.mu.Lock()
	t.made[turn%len(t.made)] = j
	t.mu.Unlock()
	t.send()
}

// send passes on the finished records that are due, unless another worker does.
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

// finish finishes the due job. The caller holds mu, which finish releases meanwhile.
func (t *turns) finish(j *job) {
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		t.due++
		t.room.Broadcast()
	}()
	t.segment.finish(j)
}
