package sources

import (
	"encoding/json"
	"errors"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
)

// trail knows where the records began that a reader has handed out, for flow.Seeker.
// It remembers them once it is asked for a place, up to the last that was asked for.
type trail struct {
	mu    sync.Mutex
	asked bool
	rows  int64 // that were handed out
	first spot  // where this run has begun
	steps []step
}

// spot is a place: Row rows behind where record Record begins.
type spot struct {
	Record int64 `json:"record"`
	Row    int64 `json:"row"`
}

type step struct {
	before int64 // rows that were handed out before the record
	at     spot
}

// hand notes a record that begins at a spot and has rows.
func (t *trail) hand(at spot, rows int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asked && rows > 0 {
		t.steps = append(t.steps, step{t.rows, at})
	}
	t.rows += rows
}

// begin sets where this run begins.
func (t *trail) begin(at spot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked, t.first = true, at
}

// find returns the spot behind so many rows of this run.
func (t *trail) find(rows int64) spot {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = true
	for len(t.steps) > 1 && t.steps[1].before <= rows {
		t.steps = t.steps[1:]
	}
	if len(t.steps) == 0 {
		return t.first
	}
	at := t.steps[0].at
	return spot{at.Record, at.Row + rows - t.steps[0].before}
}

// placed is a place as a checkpoint has it: a spot of what is called so.
type placed struct {
	Of string `json:"of"` // the file
	spot
}

func (p placed) text() (string, error) {
	b, err := json.Marshal(p)
	return string(b), err
}

func readPlace(text string, into any) error {
	if json.Unmarshal([]byte(text), into) != nil {
		return errors.New("the place cannot be read")
	}
	return nil
}

// behind passes over the first rows of a record, as many of left as it has, and returns
// the others, or nil.
func behind(rec arrow.Record, left *int64) arrow.Record {
	n := min(*left, rec.NumRows())
	if n == 0 {
		return rec
	}
	defer rec.Release()
	if *left -= n; n == rec.NumRows() {
		return nil
	}
	return rec.NewSlice(n, rec.NumRows())
}
