package flow

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/reugn/go-streams"
)

// Foreign is a go-streams flow of arrow.Record in a pipeline, from go-streams or elsewhere.
//
//	Through(flow.Foreign{New: func() streams.Flow {
//		return extflow.NewFilter(func(r arrow.Record) bool { return r.NumRows() > 0 }, 1)
//	}})
//
// go-streams has no errors and no ownership, so these rules hold:
//
//   - The pipeline releases a record that the flow drops, once the record is unreachable. A flow that
//     makes a new record of an old one releases the old one when it no longer needs its columns.
//   - A flow that passes a record on several times (FanOut shares pointers) calls Retain for each
//     further time.
//   - A row passed on several times counts as complete with the first copy that leaves, unless the
//     other copies are in the pipeline by then.
//   - Dropped rows hold back the watermark until the end of the stream, since the pipeline cannot see
//     the drop.
//   - A flow that runs in parallel may change the order.
//   - A panic or a wrong type assertion inside the flow cannot be caught and ends the process.
//   - The flow must read its input to the end. A cancelled run waits for the records inside the flow.
type Foreign struct {
	// Label is the name in plans, errors and statistics. The default is
	// "foreign".
	Label string
	// New returns a new flow; it is called once per run.
	New func() streams.Flow
	// Schema returns the output schema, if it differs from the input schema.
	Schema func(in *arrow.Schema) (*arrow.Schema, error)
}

// Name returns the label.
func (f Foreign) Name() string {
	if f.Label == "" {
		return "foreign"
	}
	return f.Label
}

func (f Foreign) String() string { return "" }

func (f Foreign) schema(in *arrow.Schema) (*arrow.Schema, error) {
	if f.New == nil {
		return nil, errors.New("the field New is nil")
	}
	if f.Schema == nil {
		return in, nil
	}
	return f.Schema(in)
}

// ledger stands on both sides of a foreign flow. It lends it records and knows
// which came back.
//
//	… ──▶ lend ──▶ the foreign flow ──▶ back ──▶ …
type ledger struct {
	run        *run
	step       openStep
	lend, back tap

	mu    sync.Mutex
	loans map[*loan]struct{}
	rows  map[int64]int // rows inside the flow, by position
}

func newLedger(r *run, s openStep) *ledger {
	l := &ledger{run: r, step: s, loans: map[*loan]struct{}{}, rows: map[int64]int{}}
	l.lend = tap{outlet: r.outlet(), each: l.out}
	l.back = tap{outlet: r.outlet(), in: make(chan any), each: l.home, end: l.settle}
	return l
}

func (l *ledger) build() (f streams.Flow, err error) {
	attend(func() {
		err = l.run.guard(l.step.count.stage, func() error {
			if f = l.step.foreign.New(); f == nil {
				return errors.New("the function New returned nil")
			}
			return nil
		})
	})
	if f == nil && err == nil {
		err = l.run.err() // New has ended its goroutine
	}
	return f, err
}

// loan is a record in the hands of a foreign flow, with a reference count of
// its own, so that what the flow forgot can be released.
type loan struct {
	rec  arrow.Record
	refs int // guarded by ledger.mu
}

// lent is what the foreign flow sees of a loan.
type lent struct {
	arrow.Record
	ledger *ledger
	loan   *loan
}

func (r *lent) Retain() {
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	r.loan.refs++
}

func (r *lent) Release() {
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	r.loan.refs--
	if r.loan.refs == 0 {
		r.ledger.drop(r.loan)
	}
}

// drop gives up the record of a loan. The caller holds mu.
func (l *ledger) drop(n *loan) {
	if _, ok := l.loans[n]; ok {
		delete(l.loans, n)
		n.rec.Release()
	}
}

// out lends a record.
func (l *ledger) out(v any) any {
	rec := v.(arrow.Record) // it comes from a stage of ours
	if l.run.stopped() {
		rec.Release()
		return nil
	}
	l.step.count.in(rec)
	n := &loan{rec: rec, refs: 1}
	l.mu.Lock()
	l.loans[n] = struct{}{}
	for _, p := range positions(rec) {
		l.rows[p]++
	}
	l.mu.Unlock()
	r := &lent{Record: rec, ledger: l, loan: n}
	// A flow such as Filter just forgets records; in a long stream they must
	// not pile up until its end.
	runtime.AddCleanup(r, func(n *loan) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.drop(n)
	}, n)
	return r
}

// home takes a record back.
func (l *ledger) home(v any) any {
	rec, ok := v.(arrow.Record)
	if !ok {
		l.fail(notRecord(v))
		return nil
	}
	if r, ok := rec.(*lent); ok {
		if rec = l.redeem(r); rec == nil {
			l.fail(errors.New("the flow passed on a record that it had released; a record that is passed on twice needs a Retain"))
			return nil
		}
	}
	if l.run.stopped() {
		rec.Release()
		return nil
	}
	if err := checkColumns(rec.Schema(), l.step.out); err != nil {
		rec.Release()
		l.fail(err)
		return nil
	}
	l.step.count.out(rec)
	l.mu.Lock()
	var again []int64 // rows that come out once more than they went in
	for _, p := range positions(rec) {
		if l.rows[p]--; l.rows[p] < 0 {
			again = append(again, p)
		}
		if l.rows[p] <= 0 {
			delete(l.rows, p)
		}
	}
	l.mu.Unlock()
	l.run.track.again(again)
	return rec
}

// redeem turns a lent record into the record itself, or nil where the flow
// has no claim to it any more.
func (l *ledger) redeem(r *lent) arrow.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.loans[r.loan]; !ok || r.ledger != l {
		return nil
	}
	rec := r.loan.rec
	rec.Retain()
	if r.loan.refs--; r.loan.refs == 0 {
		l.drop(r.loan)
	}
	return rec
}

// settle releases what the flow kept, when it has ended.
func (l *ledger) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := range l.loans {
		l.drop(n)
	}
}

func (l *ledger) fail(err error) { l.run.fail(at(l.step.count.stage, err)) }

func notRecord(v any) error { return fmt.Errorf("got a %T, want an arrow.Record", v) }

func names(s *arrow.Schema) []string {
	n := make([]string, s.NumFields())
	for i := range n {
		n[i] = s.Field(i).Name
	}
	return n
}

// tap is a go-streams flow that calls a function on every element and passes
// on what that returns, unless it is nil.
type tap struct {
	outlet
	in   chan any
	each func(any) any
	end  func()
}

func (t *tap) In() chan<- any { return t.in }

func (t *tap) serve() {
	defer close(t.out)
	for v := range t.in {
		if v = t.each(v); v != nil {
			t.out <- v
		}
	}
	if t.end != nil {
		t.end()
	}
}
