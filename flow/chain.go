package flow

import (
	"errors"
	"io"
	"slices"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
)

// step is an open stage.
type step struct {
	stage   Stage
	count   *counter
	in, out *arrow.Schema // of what the stage takes and emits
}

// forks reports whether several workers may run the stage.
func (s step) forks() bool {
	_, forker := s.stage.(Forker)
	_, flusher := s.stage.(Flusher) // it depends on more than the record in hand
	return forker && !flusher
}

// fork returns the step of another worker.
func (r *run) fork(s step) (step, error) {
	err := r.guard(s.count.stage, func() error {
		if s.stage = s.stage.(Forker).Fork(); s.stage == nil {
			return errors.New("Fork returned nil")
		}
		return nil
	})
	return s, err
}

// job is one record on its way through a chain, and what becomes of it.
type job struct {
	rec     arrow.Record // nil where a Flusher emits although nothing comes in
	outs    []arrow.Record
	letters []Letter // they own their rows
	err     error
}

// chain runs consecutive stages on one goroutine: what one emits, the next
// handles at once, while it is in the cache.
type chain struct {
	run     *run
	stages  []*Out
	through taker // takes what leaves the last stage; nil: it is collected in the job
	job     *job  // in hand
	failed  error // the first error, even if a stage took no notice of it
}

func newChain(r *run, steps []step) *chain {
	c := &chain{run: r}
	for i, s := range steps {
		c.stages = append(c.stages, &Out{step: s, chain: c, place: i, row: -1})
	}
	return c
}

// process takes the record of a job through the chain. After an error the chain
// is only closed.
func (c *chain) process(j *job) {
	c.job = j
	_ = c.step(0, j.rec)
}

// step hands rec to stage i, which borrows it.
func (c *chain) step(i int, rec arrow.Record) error {
	o := c.stages[i]
	o.count.in(rec)
	o.rec, o.row = rec, -1
	defer func() { o.rec, o.row, o.shared = nil, -1, nil }()
	return c.call(o, func() error { return o.stage.Process(rec, o) })
}

// flush ends the stream for a stage that holds rows.
func (c *chain) flush(o *Out) { _ = c.call(o, func() error { return o.stage.(Flusher).Flush(o) }) }

// deadline returns when expire is to be called, or the zero time.
func (c *chain) deadline() (d time.Time) {
	if s, ok := c.stages[0].stage.(TimedStage); ok && c.failed == nil {
		_ = c.call(c.stages[0], func() error {
			d = s.Deadline()
			return nil
		})
	}
	return d
}

// expire tells a stage that its deadline has passed.
func (c *chain) expire(o *Out) { _ = c.call(o, func() error { return o.stage.(TimedStage).Expire(o) }) }

// call runs code of a stage: it takes the time, turns a panic into an error,
// and keeps the error.
func (c *chain) call(o *Out, f func() error) error {
	start := monotonic()
	o.nested = 0
	err := guard(f, func(err error) { _ = c.fail(inRecord(o.count.stage, o.rec, o.row, err)) })
	o.count.busy.Add(int64(monotonic() - start - o.nested))
	return c.fail(inRecord(o.count.stage, o.rec, o.row, err))
}

func (c *chain) fail(err error) error {
	if c.failed == nil && err != nil {
		c.failed = err
		if c.job != nil {
			c.job.err = err
		}
	}
	return err
}

// close releases what the stages hold, all of them, whatever one of them does.
func (c *chain) close() (first error) {
	for _, o := range slices.Backward(c.stages) {
		if k, ok := o.stage.(io.Closer); ok {
			defer func() {
				if err := c.run.guard(o.count.stage, k.Close); first == nil {
					first = err
				}
			}()
		}
	}
	return nil
}
