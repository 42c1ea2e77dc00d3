package now

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"github.com/sanflow/sanflow/sinks/choose"
)

// Options are the settings of a Live.
type Options struct {
	// Dir is the directory of the store. It is made if it is not there.
	Dir string
	// Sync makes each accepted event survive a loss of power.
	Sync bool
	// Queue is how many events may wait to be written; Apply refuses others by ErrFull, more of them at once by ErrMany, and streams wait. The default
	// is 65 536.
	Queue int
	// Learn, if set, lets the model learn from the classes that events tell.
	Learn *Learning
	// Body is how many bytes of a body ServeHTTP reads. The default is 8 MiB.
	Body int64
	// Note, if set, gets a line when the store cannot be written and a stream waits until it can, about the first line of a stream that is refused, about the first event with a word that the model does
	// not have, about the first edge that is behind a window of time when it comes, and each event that moves the clock of the window by more than the window
	// and than any before, when a followed file was replaced, and for each alarm of a model that learns, after a start for those behind the checkpoint again. Events wait until Note
	// returns: it may call Stats and Ask, and must not call Apply.
	Note func(line string)
}

// ErrFull is the error of Apply where as many events wait as may.
var ErrFull = errors.New("now: the queue of events is full: come again")

// ErrMany is the error of Apply about more events at once than Options.Queue, which can never wait.
var ErrMany = errors.New("now: more events at once than the queue has places for (serve -queue)")

// Live is rows that events change, and the store that keeps them. Any number of goroutines may call its methods.
type Live struct {
	opt     Options
	db      *bbolt.DB
	waiting atomic.Int64 // number of events of requests that are not done

	write   sync.Mutex // held while events are written and applied
	meta    meta
	swept   []swept  // entries to delete from the store
	learner *learner // nil without Options.Learn; changed under write and mu

	mu      sync.Mutex // guards the fields below, for short steps
	queue   []*request
	rows    choose.Changing
	counts  Stats         // Stats without the fields that the method Stats sets
	jump    int64         // the greatest jump of the clock of the window
	moved   chan struct{} // closed when counts.Position grows
	failure error         // error of all later requests, after Close or a failure; nil before
}

// request has the events of one call of Apply, or the lines of a stream.
type request struct {
	events []choose.Event   // events of which all or none are accepted
	lines  []line           // lines of a stream, each of which is accepted if it can be
	read   map[string]int64 // how far sources are read with the lines: bytes of a file, numbers of messages
	came   time.Time

	isDone   bool
	position int64
	accepted int // number of accepted events
	err      error
}

// Open opens the store of a directory and applies what it has to rows, which no event has changed yet. The Live changes rows until Close.
func Open(ctx context.Context, rows choose.Changing, opt Options) (*Live, error) {
	opt.Queue, opt.Body = cmp.Or(opt.Queue, 1<<16), cmp.Or(opt.Body, 8<<20)
	if opt.Note == nil {
		opt.Note = func(string) {}
	}
	if opt.Queue < 1 {
		return nil, fmt.Errorf("now: Queue is %d, want a number of events from 1", opt.Queue)
	}
	db, err := openStore(opt.Dir, opt.Sync)
	if err != nil {
		return nil, err
	}
	l := &Live{opt: opt, db: db, moved: make(chan struct{}), counts: Stats{Events: map[string]int64{}, Absent: map[string]int64{}}}
	if _, err := l.Use(ctx, rows); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return l, nil
}

// Use makes rows those that answer and that events change, in place of those before, which do not change any more: they are those of another model for the
// same tables. Events wait until the store has been applied to rows. It returns the position.
func (l *Live) Use(ctx context.Context, rows choose.Changing) (int64, error) {
	l.write.Lock()
	defer l.write.Unlock()
	m, s, err := l.restore(ctx, rows)
	if err != nil {
		return 0, fmt.Errorf("now: %s: %w", l.opt.Dir, err)
	}
	rows.Apply(m.Position)
	l.meta, l.swept = m, nil
	before := l.learner
	l.show(rows, s)
	if before != nil {
		err = before.model.Close()
	}
	return m.Position, err
}

// restore applies the store to rows. It returns the meta of the store and, with Options.Learn, the learner.
func (l *Live) restore(ctx context.Context, rows choose.Changing) (m meta, s *learner, err error) {
	if m, err = l.begin(rows); err != nil {
		return m, nil, err
	}
	goesOn := false
	if l.opt.Learn != nil {
		if s, goesOn, err = l.newLearner(rows, m.Position); err != nil {
			return m, nil, err
		}
	}
	err = l.db.View(func(tx *bbolt.Tx) error {
		if s == nil && tx.Bucket(learnedBucket) != nil {
			return errLearns
		}
		b := rows.Begin()
		for e, err := range stored(tx) {
			if err = cmp.Or(err, context.Cause(ctx)); err == nil {
				err = b.Add(e)
			}
			if err != nil {
				return err
			}
			if len(b.Changes) == loadBatch {
				rows.Apply(0, b.Changes...)
				b = rows.Begin()
			}
		}
		rows.Apply(0, b.Changes...)
		return nil
	})
	if err == nil {
		err = l.again(ctx, rows, s)
	}
	rows.Advance(m.Clock)
	if err == nil && s != nil && !goesOn {
		err = l.checkpoint(s, m.Position)
	}
	if err != nil && s != nil {
		err = errors.Join(err, s.model.Close())
	}
	return m, s, err
}

// begin reads the meta of the store and checks it against rows. A new store gets its buckets and its meta.
func (l *Live) begin(rows choose.Changing) (m meta, err error) {
	if err := rows.Grows(); err != nil {
		return m, err
	}
	digest, window := rows.Digest(), rows.Form().Window
	return m, l.db.Update(func(tx *bbolt.Tx) error {
		if m, err = metaOf(tx); err != nil || m.Version != 0 {
			switch {
			case err != nil:
			case m.Tables != digest:
				err = errors.New("the store began with other rows than those of the tables: a store goes on with the same tables")
			case m.Window != window:
				err = fmt.Errorf("the start has %s, and the store began with %s: a store goes on with the same window", windowName(window), windowName(m.Window))
			}
			return err
		}
		for _, name := range [][]byte{metaBucket, rowBucket, nodeBucket, classBucket, readBucket} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		m = meta{Version: storeVersion, Tables: digest, Window: window, Keys: rows.Form().Keys}
		return m.put(tx)
	})
}

// windowName returns the text of a choose.Form.Window for a message.
func windowName(window string) string {
	if window == "" {
		return "no window"
	}
	return "a window of " + window
}

// show makes rows, the learner and the position of the writer visible, and wakes all Waits.
func (l *Live) show(rows choose.Changing, s *learner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts.Position < l.meta.Position || l.rows == nil {
		l.counts.Last = time.Now()
	}
	l.rows, l.learner, l.counts.Position = rows, s, l.meta.Position
	close(l.moved)
	l.moved = make(chan struct{})
}

// Apply accepts all events or none: the first that cannot be accepted is a *choose.Refused. It returns the position of the last one, when the
// events are in the store and answers know them.
func (l *Live) Apply(events ...choose.Event) (position int64, err error) {
	r := &request{events: events}
	l.apply(r)
	return r.position, r.err
}

// apply waits until a request is done. One of the waiting calls writes all requests of the queue, in one transaction.
func (l *Live) apply(r *request) {
	n := int64(len(r.events) + len(r.lines))
	if most := l.opt.Queue; len(r.events) > most {
		r.err = fmt.Errorf("%w: %d, want at most %d", ErrMany, n, most)
		return
	}
	defer l.waiting.Add(-n)
	if l.waiting.Add(n) > int64(l.opt.Queue) && r.lines == nil { // a stream waits for write below instead
		r.err = ErrFull
		return
	}
	r.came = time.Now()
	l.mu.Lock()
	l.queue = append(l.queue, r)
	l.mu.Unlock()
	l.write.Lock()
	defer l.write.Unlock()
	if r.isDone {
		return
	}
	l.mu.Lock()
	batch, rows, err := l.queue, l.rows, l.failure
	l.queue = nil
	l.mu.Unlock()
	if err == nil {
		err = l.commit(rows, batch)
	}
	for _, r := range batch {
		if r.isDone = true; r.err == nil {
			r.err = err
		}
	}
}

// commit accepts the events of requests. If the store fails it accepts none of them, and nothing has changed.
func (l *Live) commit(rows choose.Changing, batch []*request) error {
	if all := rows.Swept(); len(all) > 0 {
		l.swept = append(l.swept, swept{l.meta.Position, all})
	}
	accepted := rows.Begin()
	var letters []deadLetter
	refused := int64(0)
	for _, r := range batch {
		before := len(accepted.Changes)
		if r.err = accepted.Add(r.events...); r.err != nil {
			refused++
		}
		for _, line := range r.lines {
			err := line.err
			if err == nil {
				err = errors.Unwrap(accepted.Add(line.event)) // the reason in a *choose.Refused
			}
			if err != nil {
				letters = append(letters, line.letter(err))
			}
		}
		r.accepted = len(accepted.Changes) - before
		r.position = l.meta.Position + int64(len(accepted.Changes))
	}
	changes, next := accepted.Changes, l.meta
	next.Position += int64(len(changes))
	next.Clock = accepted.Clock
	left := l.swept
	isFirst, err := l.refuse(letters) // before the transaction: if the process is killed between the two, the lines come again
	if err == nil {
		err = l.db.Update(func(tx *bbolt.Tx) (err error) {
			if left, err = sweep(tx, l.swept); err != nil {
				return err
			}
			for _, r := range batch {
				for source, at := range r.read {
					if err := tx.Bucket(readBucket).Put([]byte(source), fmt.Append(nil, at)); err != nil {
						return err
					}
				}
			}
			if l.learner == nil {
				return write(tx, next, changes, put)
			}
			if err := fold(tx, l.learner.state.Checkpoint); err != nil {
				return err
			}
			return write(tx, next, changes, func(tx *bbolt.Tx, position int64, e choose.Event) error {
				return appendEvent(tx.Bucket(logBucket), position, e)
			})
		})
	}
	if err != nil {
		return fmt.Errorf("now: %s: %w", l.opt.Dir, err)
	}
	l.meta, l.swept = next, left
	l.follow(rows, l.learner, next.Position, changes)
	l.show(rows, l.learner)
	for _, line := range l.count(batch, changes, refused+int64(len(letters))) {
		l.opt.Note(line)
	}
	if isFirst {
		l.opt.Note(fmt.Sprintf("left out: the line %.300q: %s; others are only counted, and all are in %s", letters[0].Line, letters[0].Reason, filepath.Join(l.opt.Dir, refusedFile)))
	}
	return nil
}

// count counts the changes of a batch by kind, and their unknown words. It returns lines for Note about what comes for the first time.
func (l *Live) count(batch []*request, changes []*choose.Change, refused int64) (lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := &l.counts
	n.Refused, n.Batches = n.Refused+refused, n.Batches+1
	for _, r := range batch {
		n.Lag += time.Duration(r.accepted) * time.Since(r.came)
	}
	for i, c := range changes {
		n.Events[c.Event.Kind]++
		if c.Unknown > 0 && n.Unknown == 0 {
			text, _ := json.Marshal(c.Event) // no error: an event has JSON values only
			lines = append(lines, fmt.Sprintf("unknown words: the model does not have each word of the event %.300s; others are only counted", text))
		}
		n.Unknown += int64(c.Unknown)
		if c.Absent {
			n.Absent[c.Event.Kind]++
		}
		if line := l.countWindow(l.meta.Position-int64(len(changes)-1-i), c); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// countWindow counts what the window of time does to the event of a position. It returns a line about the first late edge, and about a jump that is greater
// than those before, else "".
func (l *Live) countWindow(position int64, c *choose.Change) (line string) {
	if c.Late {
		if l.counts.Expired++; l.counts.Expired == 1 {
			line = fmt.Sprintf("left out: the edge of the event at position %d has the time %d, and the window has gone on to %d: no answer knows the edge; others are only counted", position, c.Time, c.Event.Clock)
		}
	}
	if c.Jump > 0 {
		if l.counts.Jumps++; c.Jump > l.jump {
			l.jump = c.Jump
			line = fmt.Sprintf("left out: the event at position %d has the time %d, which is %d after the one before: no edge of an earlier window stays, and no later edge of such a time is known; smaller jumps are only counted", position, c.Time, c.Jump)
		}
	}
	return line
}

// mostLocked is how many events are applied while readers wait.
const mostLocked = 32

// fail makes all Waits and all later requests return err. Later calls of fail change nothing.
func (l *Live) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure == nil {
		l.failure = err
		close(l.moved)
		l.moved = make(chan struct{})
	}
}

func (l *Live) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure
}

// Position returns the position of the last event that answers know.
func (l *Live) Position() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts.Position
}

// Ask waits until answers know the event of the position after, and makes questions of rows by their ids and then of rows that are in no table, all at
// one position, which it returns.
func (l *Live) Ask(ctx context.Context, after int64, ids []string, rows []choose.Row) ([]*choose.Question, int64, error) {
	if err := l.Wait(ctx, after); err != nil {
		return nil, 0, err
	}
	l.mu.Lock()
	now := l.rows
	l.mu.Unlock()
	return now.Ask(ids, rows)
}

// Wait waits until answers know the event of a position.
func (l *Live) Wait(ctx context.Context, position int64) error {
	for {
		l.mu.Lock()
		at, moved, err := l.counts.Position, l.moved, l.failure
		l.mu.Unlock()
		switch {
		case at >= position:
			return nil
		case err != nil:
			return err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("now: position %d was not reached, the last event is %d: %w", position, at, context.Cause(ctx))
		}
	}
}

// Close closes the store. Events that wait are not accepted.
func (l *Live) Close() error {
	l.fail(errors.New("now: the store is closed"))
	l.write.Lock()
	defer l.write.Unlock()
	err := errors.Join(l.db.Sync(), l.db.Close())
	if l.learner != nil {
		err = errors.Join(err, l.learner.model.Close())
	}
	return err
}

// Stats are counts since Open.
type Stats struct {
	Position    int64            // of the last event that answers know
	Events      map[string]int64 // accepted, by kind
	Absent      map[string]int64 // of these, those that changed nothing: what they remove or set was not there
	Unknown     int64            // words of events that the model does not have
	Expired     int64            // edges that were behind the window of time when they came: no answer knows them
	Jumps       int64            // events that moved the clock of the window by more than the window at once
	Refused     int64            // events that were not accepted, and calls of Apply
	DeadLetters int64            // lines of Read that are in the file of those refused
	Batches     int64            // transactions
	Waiting     int64            // events
	Behind      int64            // messages that Consume has not received yet
	Last        time.Time        // when answers knew the last event, or Open
	Bytes       int64            // of the file of the store
	Lag         time.Duration    // sum over the accepted events of the time from Apply until they were visible
	Learned     *Learned         // nil without Options.Learn
}

// Stats returns the counts.
func (l *Live) Stats() Stats {
	l.mu.Lock()
	s, learner := l.counts, l.learner
	s.Events, s.Absent = maps.Clone(s.Events), maps.Clone(s.Absent)
	l.mu.Unlock()
	_ = l.db.View(func(tx *bbolt.Tx) error { // a closed store returns an error, and Bytes stays 0
		s.Bytes = tx.Size()
		return nil
	})
	s.Waiting, s.Learned = l.waiting.Load(), learner.stats()
	return s
}

// mostRefused is the size in bytes above which the file of refused lines is renamed to .old.
const mostRefused = 32 << 20

// refuse appends dead letters to the file of refused lines. isFirst reports whether they are the first ones.
func (l *Live) refuse(letters []deadLetter) (isFirst bool, err error) {
	if len(letters) == 0 {
		return false, nil
	}
	path := filepath.Join(l.opt.Dir, refusedFile)
	if info, err := os.Stat(path); err == nil && info.Size() > mostRefused {
		if err := os.Rename(path, path+".old"); err != nil {
			return false, err
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return false, err
	}
	var text []byte
	for _, d := range letters {
		line, _ := json.Marshal(d) // no error: a letter has two strings
		text = append(append(text, line...), '\n')
	}
	_, err = f.Write(text)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts.DeadLetters += int64(len(letters))
	return l.counts.DeadLetters == int64(len(letters)), errors.Join(err, f.Close())
}
