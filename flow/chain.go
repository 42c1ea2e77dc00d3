package flow

import (
	"io"
	"slices"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
)

// link is one stage of a chain, as one worker runs it.
type link struct {
	place  int // in the chain
	stage  Stage
	schema *arrow.Schema
	count  *counter
	out    *Out
	rec    arrow.Record  // in hand, or nil
	row    int           // of rec, as the stage has told, or -1
	nested time.Duration // spent further down the chain during the current call
	shared any           // by the stage before, with rec; see Out.Share
}

// chain runs consecutive stages on one goroutine: what one emits, the next
// handles at once, while it is in the cache.
type chain struct {
	run     *run
	links   []*link
	hold    bool                     // the only stage is a Flusher
	send    func(arrow.Record) error // takes over what leaves the last stage
	letters []Letter                 // refused since the last takeLetters; they own their rows
	failed  error                    // the first error, even if a stage took no notice of it
}

func newChain(r *run, stages []Stage, counts []*counter, send func(arrow.Record) error) *chain {
	c := &chain{run: r, send: send}
	for i, s := range stages {
		_, c.hold = s.(Flusher)
		l := &link{place: i, stage: s, count: counts[i], row: -1}
		l.out = &Out{run: r, chain: c, link: l}
		c.links = append(c.links, l)
		_ = c.call(l, func() error {
			l.schema = s.Schema()
			return nil
		})
	}
	return c
}

// process borrows rec and takes it through the chain. After an error the chain
// is only closed.
func (c *chain) process(rec arrow.Record) { _ = c.step(0, rec) }

// step hands rec to stage i, which borrows it.
func (c *chain) step(i int, rec arrow.Record) error {
	l := c.links[i]
	l.count.in(rec)
	l.rec, l.row = rec, -1
	defer func() { l.rec, l.row, l.shared = nil, -1, nil }()
	return c.call(l, func() error { return l.stage.Process(rec, l.out) })
}

// flush ends the stream for a chain that holds rows.
func (c *chain) flush() {
	l := c.links[0]
	_ = c.call(l, func() error { return l.stage.(Flusher).Flush(l.out) })
}

// deadline tells when expire is to be called, or the zero time.
func (c *chain) deadline() (d time.Time) {
	if s, ok := c.links[0].stage.(TimedStage); ok && c.failed == nil {
		_ = c.call(c.links[0], func() error {
			d = s.Deadline()
			return nil
		})
	}
	return d
}

// expire tells the stage that its deadline has passed.
func (c *chain) expire() {
	l := c.links[0]
	_ = c.call(l, func() error { return l.stage.(TimedStage).Expire(l.out) })
}

// call runs code of a stage: it takes the time, turns a panic into an error,
// and keeps the error.
func (c *chain) call(l *link, f func() error) error {
	start := monotonic()
	l.nested = 0
	err := guard(f, func(err error) { _ = c.fail(inRecord(l.count.stage, l.rec, l.row, err)) })
	l.count.busy.Add(int64(monotonic() - start - l.nested))
	return c.fail(inRecord(l.count.stage, l.rec, l.row, err))
}

func (c *chain) fail(err error) error {
	if c.failed == nil {
		c.failed = err
	}
	return err
}

// emit takes over what a stage has made.
func (c *chain) emit(l *link, rec arrow.Record) error {
	if rec == nil {
		return c.fail(at(l.count.stage, errNoRecord))
	}
	switch {
	case c.failed != nil:
		rec.Release()
		return c.failed
	case c.run.stopped():
		rec.Release()
		return c.fail(errStopped)
	}
	if err := checkColumns(rec.Schema(), l.schema); err != nil {
		rec.Release()
		return c.fail(at(l.count.stage, err))
	}
	l.count.out(rec)
	start := monotonic()
	defer func() { l.nested += monotonic() - start }()
	if l.place+1 == len(c.links) {
		return c.send(rec)
	}
	defer rec.Release()
	return c.step(l.place+1, rec)
}

func (c *chain) refuse(l *link, rec arrow.Record, row int, err error) error {
	letter, err := c.run.letter(l.count, rec, row, err)
	if err != nil {
		return c.fail(err)
	}
	c.letters = append(c.letters, letter)
	return nil
}

// report tells a job what came of it.
func (c *chain) report(j *job) { j.err, j.letters = c.failed, c.takeLetters() }

func (c *chain) takeLetters() []Letter {
	l := c.letters
	c.letters = nil
	return l
}

// close releases what the stages hold, all of them, whatever one of them does.
func (c *chain) close() (first error) {
	for _, l := range slices.Backward(c.links) {
		if k, ok := l.stage.(io.Closer); ok {
			defer func() {
				if err := c.run.guard(l.count.stage, k.Close); first == nil {
					first = err
				}
			}()
		}
	}
	return nil
}
