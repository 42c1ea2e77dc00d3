package flow

import (
	"errors"
	"io"
	"slices"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
)

// step is an open stage with its counter and its schemas.
type step struct {
	stage   Stage
	count   *counter
	in, out *arrow.Schema // schemas of the input and output records
}

// forks reports whether several workers may run the stage.
func (s step) forks() bool {
	_, forker := s.stage.(Forker)
	_, flusher := s.stage.(Flusher) // the output of a Flusher depends on earlier records
	return forker && !flusher
}

// fork returns a copy of a step for another worker.
func (r *run) fork(s step) (step, error) {
	err := r.guard(s.count.stage, func() error {
		if s.stage = s.stage.(Forker).Fork(); s.stage == nil {
			return errors.New("Fork returned nil")
		}
		return nil
	})
	return s, err
}

// job is one record on its way through a chain, with its results.
type job struct {
	rec     arrow.Record // nil if a Flusher emits without input
	outs    []arrow.Record
	letters []Letter // each letter owns its row
	err     error
}

// chain runs consecutive stages on one goroutine. Each stage processes a record as soon as the stage
// before emits it, while the record is in the cache.
type chain struct {
	run     *run
	stages  []*Out
	through taker // takes the output of the last stage; nil: job collects it
	job     *job  // current job
	failed  error // the first error, even if the stage did not return it
}

func newChain(r *run, steps []step) *chain {
	c := &chain{run: r}
	for i, s := range steps {
		c.stages = append(c.stages, &Out{step: s, chain: c, place: i, row: -1})
	}
	return c
}

// process runs the chain on the record of a job. After an error only close is called.
func (c *chain) process(j *job) {
	c.job = j
	_ = c.step(0, j.rec)
}

// step runs stage i on rec, which the stage borrows.
func (c *chain) step(i int, rec arrow.Record) error {
	o := c.stages[i]
	o.count.in(rec)
	o.rec, o.row = rec, -1
	defer func() { o.rec, o.row, o.shared = nil, -1, nil }()
	return c.call(o, func() error { return o.stage.Process(rec, o) })
}

// flush calls Flush of a stage at the end of the stream.
func (c *chain) flush(o *Out) { _ = c.call(o, func() error { return o.stage.(Flusher).Flush(o) }) }

// deadline returns the time for the next call of expire, or the zero time.
func (c *chain) deadline() (d time.Time) {
	if s, ok := c.stages[0].stage.(TimedStage); ok && c.failed == nil {
		_ = c.call(c.stages[0], func() error {
			d = s.Deadline()
			return nil
		})
	}
	return d
}

// expire calls Expire of a stage after its deadline.
func (c *chain) expire(o *Out) { _ = c.call(o, func() error { return o.stage.(TimedStage).Expire(o) }) }

// call runs code of a stage. It measures the time, converts a panic to an error, and stores the
// first error.
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

// close closes all stages, even if one of them fails or ends the goroutine.
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
