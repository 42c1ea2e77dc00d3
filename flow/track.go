package flow

import (
	"fmt"
	"sort"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/record"
)

// tracker knows which rows are still in the pipeline. Every row holds a claim
// on its position (column pos) from the time the source hands it out until it
// leaves; the low watermark is the position up to which there are no claims.
//
// Rows travel in records, and the rows of a record have neighbouring positions,
// so claims are counted by stretch: a record that leaves as it came costs one
// step, one that comes in pieces a step a row.
type tracker struct {
	ack func(pos int64) // of an Acker, or nil

	mu      sync.Mutex
	flight  []*stretch // with claims, in rising order; disjoint
	high    int64      // the highest position that the source has handed out, or -1
	low     int64      // the watermark, or -1
	fell    bool       // positions fell, so it is not known which are to come
	told    int64      // the last Ack
	telling bool       // a goroutine is in Ack
}

func newTracker() *tracker { return &tracker{high: -1, low: -1, told: -1} }

// span is n rows at each of the positions from … to.
type span struct {
	from, to int64
	n        int32
}

// spansOf returns the positions of the rows of rec, if it has them.
func spansOf(rec arrow.Record) (spans []span) {
	pos := positions(rec)
	for i := 0; i < len(pos); {
		first, p := i, pos[i]
		for i++; i < len(pos) && pos[i] == p; i++ {
		}
		n := int32(i - first)
		if last := len(spans) - 1; last >= 0 && spans[last].to+1 == p && spans[last].n == n {
			spans[last].to = p
		} else {
			spans = append(spans, span{p, p, n})
		}
	}
	return spans
}

// positions returns the positions of the rows of rec, if it has them.
func positions(rec arrow.Record) []int64 {
	p, err := record.Values[int64](rec, record.Pos)
	if err != nil {
		return nil
	}
	return p
}

// stretch is the claims on the positions from … to, which came in one record.
type stretch struct {
	from, to int64
	each     int32   // claims on every position, where these are equal
	claims   []int32 // else the claims on each
	open     int64   // positions with claims
	next     int64   // all before it are without
}

// change adds by claims to those of the positions from … to that have any;
// others are done. It stays within s.
func (s *stretch) change(from, to int64, by int32) {
	if s.claims == nil && from == s.from && to == s.to {
		if s.each > 0 {
			s.each = max(0, s.each+by)
		}
		if s.each == 0 {
			s.open = 0
		}
		return
	}
	if s.claims == nil {
		s.claims = make([]int32, s.to-s.from+1)
		for i := range s.claims {
			s.claims[i] = s.each
		}
	}
	part := s.claims[from-s.from : to-s.from+1]
	for i, n := range part {
		if n == 0 {
			continue
		}
		part[i] = max(0, n+by)
		if part[i] == 0 {
			s.open--
		}
	}
}

// done returns the position up to which s is without claims, or -1.
func (s *stretch) done() int64 {
	switch {
	case s.open == 0:
		return s.to
	case s.claims != nil:
		for s.claims[s.next-s.from] == 0 {
			s.next++
		}
	}
	if s.next == s.from {
		return -1
	}
	return s.next - 1
}

// enter adds the claims of rows that the source hands out. An Acker's positions
// must rise.
func (t *tracker) enter(rec arrow.Record) error {
	spans := spansOf(rec)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range spans {
		if s.from <= t.high && !t.fell {
			if t.ack != nil {
				return fmt.Errorf("position %d comes after position %d, but they must rise if the source is an Acker", s.from, t.high)
			}
			t.fell, t.flight = true, nil
		}
		t.high = max(t.high, s.to)
		if t.fell {
			t.low = min(t.low, s.from-1)
			continue
		}
		t.flight = append(t.flight, &stretch{from: s.from, to: s.to, each: s.n, open: s.to - s.from + 1, next: s.from})
	}
	return nil
}

// add adds a claim per row: the row will leave once more.
func (t *tracker) add(rec arrow.Record) { t.change(spansOf(rec), 1) }

// done takes a claim per row back.
func (t *tracker) done(rec arrow.Record) { t.change(spansOf(rec), -1) }

func (t *tracker) change(spans []span, sign int32) {
	t.mu.Lock()
	for _, s := range spans {
		i := sort.Search(len(t.flight), func(i int) bool { return t.flight[i].to >= s.from })
		for ; i < len(t.flight) && t.flight[i].from <= s.to; i++ {
			f := t.flight[i]
			f.change(max(s.from, f.from), min(s.to, f.to), sign*s.n)
		}
	}
	t.advance()
	t.mu.Unlock()
	t.tell()
}

// advance raises the watermark. The caller holds mu.
func (t *tracker) advance() {
	for len(t.flight) > 0 {
		f := t.flight[0]
		t.low = max(t.low, f.done())
		if f.open > 0 {
			return
		}
		t.flight[0] = nil
		t.flight = t.flight[1:]
	}
}

// tell calls Ack for as long as the watermark has risen. One goroutine does so
// at a time and without mu, since Ack may ask for statistics; the others leave
// it to that one.
func (t *tracker) tell() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ack == nil || t.telling {
		return
	}
	t.telling = true
	defer func() { t.telling = false }()
	for t.told < t.low {
		t.told = t.low
		func() {
			t.mu.Unlock()
			defer t.mu.Lock() // even if Ack ends the goroutine
			t.ack(t.told)
		}()
	}
}

// became accounts for a stage that turned in into outs. If these have no
// positions, the pipeline cannot know when the rows are complete, and their claims stay.
func (t *tracker) became(in arrow.Record, outs []arrow.Record) {
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

// finish drops the claims that are left when a stream has ended well: rows
// that lost their position on the way.
func (t *tracker) finish() {
	t.mu.Lock()
	t.flight, t.low = nil, t.high
	t.mu.Unlock()
	t.tell()
}

func (t *tracker) watermark() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.low
}

// reach returns the highest position that the source has handed out.
func (t *tracker) reach() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.high
}
