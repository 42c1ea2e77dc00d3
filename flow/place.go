package flow

import (
	"errors"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
)

// Seeker is a Reader that can begin in the middle of its stream, so that a training
// that resumes does not read again the rows it has learned from. A place is between two
// rows that Next returns.
type Seeker interface {
	Reader
	// Begin lets Next return first what comes behind that place, which Place has
	// returned in this run or in one before. It is called before Next, if at all. An
	// error says that there is no such place, or that it is one of another stream.
	Begin(place string) error
	// Place returns the place behind the first so many rows that Next has returned
	// in this run. The number does not fall from call to call. It is called from
	// other goroutines than Next, the first time before Next is, if at all: a
	// reader that is not asked need not remember its places.
	Place(rows int64) (string, error)
	// Keep reports that a place is written down, and that no run will begin before
	// it. It is called as Place is, and does not take long.
	Keep(place string)
}

// Resumer is a Writer that writes down its place in the stream, and resumes there.
type Resumer interface {
	Writer
	// Resume is called once, before Write, where the source is a Seeker and every
	// stage in between can begin in the middle. The pipeline remembers the rows on their
	// way only from a call of Begin or Place in Resume on.
	Resume(from *Places) error
}

// Restarter is a Stage that can begin in the middle of a stream: from the first row of
// any record that it emits, it emits the same records again. A Forker always can.
type Restarter interface {
	Stage
	// Restarts reports whether the stage can with its settings.
	Restarts() bool
	// Skip leaves out the first rows that come, and reports whether the stage can
	// resume so, between rows derived from one source row. It is called of the last
	// stage before the sink, before Process; Skip(0) only asks.
	Skip(rows int64) bool
}

// Places asks the source of a pipeline for places, for a Resumer. The pipeline makes it:
// the zero value cannot be used. Begin is called in Resume alone, the others from any
// goroutine until the writer is closed.
type Places struct {
	run    *run
	stage  string
	reader Seeker
	last   Restarter // the last stage, where it can skip rows; or nil

	mu    sync.Mutex
	queue [][]int64 // positions of rows that were handed out and did not arrive
	at    int       // in the first of them
	rows  int64     // up to the last that arrived
	pos   int64     // its position
	any   bool
	lost  bool // a row arrived that the source has not handed out
	asked bool // for a place: rows are remembered
}

// places returns what the sink may ask for, or nil.
func (o *opened) places() *Places {
	reader, ok := o.source.reader.(Seeker)
	if !ok {
		return nil
	}
	p := &Places{run: o.run, stage: o.source.count.stage, reader: reader}
	for _, s := range o.steps {
		r, restarts := s.stage.(Restarter)
		if s.stage == nil || !(restarts && r.Restarts()) && !forks([]Stage{s.stage}) {
			return nil
		}
		p.last = nil
		if restarts && r.Skip(0) {
			p.last = r
		}
	}
	return p
}

// resume lets a sink begin in the middle of the stream, where it can.
func (o *opened) resume() {
	w, ok := o.sink.writer.(Resumer)
	p := o.places()
	if !ok || p == nil || o.run.err() != nil {
		return
	}
	o.source.places, o.source.outlived = p, true
	defer func() {
		if o.run.err() != nil {
			o.sink.finish()
		}
	}()
	o.run.fail(o.run.guard(o.sink.count.stage, func() error { return w.Resume(p) }))
}

// Begin lets the source begin at a place.
func (p *Places) Begin(place string) error {
	p.ask()
	return p.run.guard(p.stage, func() error { return p.reader.Begin(place) })
}

// Within reports whether BeginWithin can be used.
func (p *Places) Within() bool { return p.last != nil }

// BeginWithin lets the source begin at a place, and leaves out the first rows that arrive
// at the sink then.
func (p *Places) BeginWithin(place string, rows int64) error {
	if rows > 0 && p.last == nil {
		return errors.New("the place is between rows derived from one source row, and the last stage cannot resume there")
	}
	if err := p.Begin(place); err != nil || rows == 0 {
		return err
	}
	return p.run.guard(p.stage, func() error { p.last.Skip(rows); return nil })
}

// Place returns the place behind the first so many rows of this run.
func (p *Places) Place(rows int64) (place string, err error) {
	p.ask()
	err = p.run.guard(p.stage, func() (err error) {
		place, err = p.reader.Place(rows)
		return err
	})
	return place, err
}

func (p *Places) ask() {
	p.mu.Lock()
	p.asked = true
	p.mu.Unlock()
}

// Keep tells the source that a place is written down.
func (p *Places) Keep(place string) {
	p.run.fail(p.run.guard(p.stage, func() error { p.reader.Keep(place); return nil }))
}

// hand remembers the rows of a record that the source hands out.
func (p *Places) hand(rec arrow.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked && !p.lost {
		p.queue = append(p.queue, append([]int64(nil), positions(rec)...))
	}
}

// Pass takes the positions of rows that arrive, in their order; Rows counts them. It
// passes over rows that stages have dropped. Several rows of one position in turn derive
// from one source row.
func (p *Places) Pass(pos []int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range pos {
		if p.lost || p.any && q == p.pos {
			continue
		}
		for !p.lost && !p.take(q) {
		}
		p.pos, p.any = q, true
	}
}

// take takes one row off the queue, and reports whether it is at position q. The
// caller holds mu.
func (p *Places) take(q int64) bool {
	for len(p.queue) > 0 && p.at == len(p.queue[0]) {
		p.queue[0] = nil
		p.queue, p.at = p.queue[1:], 0
	}
	if len(p.queue) == 0 {
		p.lost = true // it is none of the source's
		return false
	}
	found := p.queue[0][p.at] == q
	p.at++
	p.rows++
	return found
}

// Rows returns how many source rows there are up to the last that arrived, and whether
// the number is known: where stages change positions it is not.
func (p *Places) Rows() (n int64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rows, p.asked && !p.lost
}
