package flow

import (
	"sync"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
)

// parallel runs a chain in each of several workers. They take records in turn,
// and the worker that has made the due record sends it on, with the records
// behind it that are made already: no other goroutine has to be woken for each record.
func (s *segment) parallel(forks [][]Stage) {
	turns := &turns{segment: s, made: make([]*job, 2*len(forks))}
	turns.room.L = &turns.mu
	closed := make([]error, len(forks))
	var workers sync.WaitGroup
	for i, stages := range forks {
		workers.Go(func() {
			closed[i] = s.worker(stages, turns)
		})
	}
	workers.Wait()
	attend(turns.send)
	turns.send() // where the function DeadLetters has ended that goroutine
	for _, err := range closed {
		s.run.fail(err)
	}
}

// worker takes jobs through a chain of its own, which it closes.
func (s *segment) worker(stages []Stage, turns *turns) (err error) {
	var j *job
	c := newChain(s.run, stages, s.counts, func(rec arrow.Record) error {
		j.outs = append(j.outs, rec)
		return nil
	})
	defer func() { err = c.close() }()
	for {
		rec, turn, ok := turns.take()
		if !ok {
			return nil
		}
		j = &job{rec: rec}
		func() {
			defer turns.done(turn, j)
			defer c.report(j)
			// What this worker is given after a record that failed comes
			// after it in the stream too, and will not be missed.
			if c.failed == nil && !s.run.stopped() {
				c.process(j.rec)
			}
		}()
	}
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
	rec, ok = t.segment.inbox.next(time.Time{})
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
	t.segment.finish(j, false)
}
