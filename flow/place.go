package flow

import (
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
)

// Seeker is a Reader that can begin in the middle of its stream, so that a training
// that resumes does not read again the rows it has learned from. A place is between two
// rows that Next returns.
type Seeker interface {
	// Begin makes Next start after a place that Place returned in this or an earlier run. It is
	// called before Next, if at all. A place that does not exist or belongs to another stream is
	// an error.
	Begin(place string) error
	// Place returns the place after the first rows rows that Next returned in this run. rows does
	// not fall from call to call. Place is called from other goroutines than Next. If it is called
	// at all, its first call is before Next; otherwise the reader need not remember places.
	Place(rows int64) (string, error)
	// Keep reports that a place is stored and that no run will begin before it. It is called as
	// Place is, and does not take long.
	Keep(place string)
}

// Resumer is a Writer that stores its place in the stream and resumes there.
type Resumer interface {
	// Resume is called once, before Write, if the source is a Seeker and every
	// stage in between can begin in the middle. The pipeline remembers the rows on their
	// way only from a call of Begin or Place in Resume on.
	Resume(from *Places) error
}

// Restarter is a Stage that can begin in the middle of a stream: from the first row of
// any record that it emits, it emits the same records again. A Forker always can.
type Restarter interface {
	// Restarts reports whether the stage can with its settings.
	Restarts() bool
}

// Places gives a Resumer access to the places of the source. The pipeline makes it; the zero
// value cannot be used. Begin is called in Resume only, the other methods from any goroutine
// until the writer is closed.
type Places struct {
	run    *run
	stage  string
	reader Seeker

	mu    sync.Mutex
	queue [][]int64 // positions of the source rows that have not arrived at the sink
	at    int       // index of the next row in queue[0]
	rows  int64     // number of source rows up to the last that arrived at the sink
	pos   int64     // position of the last row that arrived
	any   bool      // a row has arrived
	lost  bool      // a position arrived that is not in queue
	asked bool      // Begin or Place was called: queue is in use
}

// places returns the Places of a pipeline whose source and stages can resume, or nil.
func (o *opened) places() *Places {
	reader, ok := o.source.reader.(Seeker)
	if !ok {
		return nil
	}
	p := &Places{run: o.run, stage: o.source.count.stage, reader: reader}
	for _, s := range o.steps {
		if r, ok := s.stage.(Restarter); !(ok && r.Restarts()) && !s.forks() {
			return nil
		}
	}
	return p
}

// resume calls Resume of a sink, if source, stages and sink can resume.
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

// Begin makes the source begin at a place.
func (p *Places) Begin(place string) error {
	p.ask()
	return p.run.guard(p.stage, func() error { return p.reader.Begin(place) })
}

// Place returns the place after the first rows rows of this run.
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

// Keep notifies the source that a place is stored.
func (p *Places) Keep(place string) {
	p.run.fail(p.run.guard(p.stage, func() error { p.reader.Keep(place); return nil }))
}

// hand appends the positions of a source record to the queue.
func (p *Places) hand(rec arrow.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked && !p.lost {
		p.queue = append(p.queue, append([]int64(nil), positions(rec)...))
	}
}

// Pass counts arriving rows by their positions, in order; Rows returns the count. Rows that
// stages dropped are passed over. Consecutive rows with one position derive from one source
// row.
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

// take removes one row from the queue, and reports whether its position is q. The caller holds mu.
func (p *Places) take(q int64) bool {
	for len(p.queue) > 0 && p.at == len(p.queue[0]) {
		p.queue[0] = nil
		p.queue, p.at = p.queue[1:], 0
	}
	if len(p.queue) == 0 {
		p.lost = true // the source has no such row
		return false
	}
	found := p.queue[0][p.at] == q
	p.at++
	p.rows++
	return found
}

// Rows returns the number of source rows up to the last one that arrived. ok is false if the
// number is unknown because stages change positions.
func (p *Places) Rows() (n int64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rows, p.asked && !p.lost
}
