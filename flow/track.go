package flow

import (
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/record"
)

// tracker knows which rows are still in the pipeline. Every row holds a claim
// on its position (column pos) from the time the source hands it out until it
// leaves; the low watermark is the position below which there are no claims.
// O(1) a row.
type tracker struct {
	ack func(pos int64) // may be nil
	off bool            // one stage alone does not see what becomes of its rows

	mu     sync.Mutex
	claims map[int64]int
	order  []int64 // positions in the order the source gave them
	low    int64   // watermark, or -1
}

func newTracker() *tracker { return &tracker{claims: map[int64]int{}, low: -1} }

// enter adds the claims of rows that the source hands out.
func (t *tracker) enter(rec arrow.Record) {
	if t.off {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range positions(rec) {
		if t.claims[p]++; t.claims[p] == 1 {
			t.order = append(t.order, p)
		}
	}
}

// add adds a claim per row: the row will leave once more.
func (t *tracker) add(rec arrow.Record) { t.change(positions(rec), 1) }

// done takes a claim per row back.
func (t *tracker) done(rec arrow.Record) { t.change(positions(rec), -1) }

func (t *tracker) change(pos []int64, by int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range pos {
		// A position below the watermark can come from a foreign flow that
		// repeats rows; it is done already.
		if t.claims[p] > 0 {
			t.claims[p] += by
		}
	}
	t.advance()
}

// settle accounts for a stage that turned in into outs. Where these have no
// positions, nobody will know when the rows have left, and their claims stay.
func (t *tracker) settle(in arrow.Record, outs []arrow.Record) {
	if len(outs) == 1 && samePos(in, outs[0]) {
		return
	}
	for _, out := range outs {
		if !out.Schema().HasField(record.Pos) {
			return
		}
	}
	for _, out := range outs {
		t.add(out)
	}
	t.done(in)
}

func samePos(a, b arrow.Record) bool {
	i, j := a.Schema().FieldIndices(record.Pos), b.Schema().FieldIndices(record.Pos)
	return len(i) == 1 && len(j) == 1 && a.Column(i[0]) == b.Column(j[0])
}

func (t *tracker) advance() {
	moved := false
	for len(t.order) > 0 && t.claims[t.order[0]] == 0 {
		delete(t.claims, t.order[0])
		t.low = max(t.low, t.order[0])
		t.order = t.order[1:]
		moved = true
	}
	if moved && t.ack != nil {
		t.ack(t.low)
	}
}

// finish drops the claims that are left when a stream has ended well: rows
// that a foreign flow swallowed, or that lost their position on the way.
func (t *tracker) finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.claims)
	t.advance()
}

func (t *tracker) watermark() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.low
}
