package flow

import (
	"fmt"
	"sort"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/record"
)

// tracker computes the low watermark. Every row has a claim on its position (column pos) from the source
// until the row leaves the pipeline. The low watermark is the highest position without a claim at or below it.
//
// The rows of a record have neighbouring positions, so claims are counted by stretch. A record that
// leaves whole costs O(1), a record that leaves in pieces O(rows).
type tracker struct {
	ack func(pos int64) // Ack of the source; nil if the source is no Acker

	mu      sync.Mutex
	flight  []*stretch // stretches with claims, ascending and disjoint
	high    int64      // highest position of the source so far, or -1
	low     int64      // the watermark, or -1
	fell    bool       // positions have fallen, so future positions are unknown
	told    int64      // position of the last Ack
	telling bool       // a goroutine is in Ack

	bare map[arrow.Record][]span // by record without a column pos, the spans whose claims it has from became
}

func newTracker() *tracker {
	return &tracker{high: -1, low: -1, told: -1, bare: map[arrow.Record][]span{}}
}

// span is n rows at each position from from to to.
type span struct {
	from, to int64
	n        int32
}

// spansOf returns the positions of the rows of rec as spans, nil without a column pos.
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

// positions returns the positions of the rows of rec, nil without a column pos.
func positions(rec arrow.Record) []int64 {
	p, err := record.Values[int64](rec, record.Pos)
	if err != nil {
		return nil
	}
	return p
}

// stretch has the claims on the positions of one source record.
type stretch struct {
	from, to int64
	each     int32   // claims on each position, while claims is nil
	claims   []int32 // claims by position
	open     int64   // number of positions with claims
	next     int64   // positions before next have no claims
}

// change adds by to the claims of the positions from from to to, which are in s. A position without
// claims is complete and does not change.
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

// done returns the position before the first one of s with a claim, or -1 if the first position of s has a claim.
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

// enter adds the claims of a source record. Positions of an Acker must rise.
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

// add adds a claim for each row, which will leave once more.
func (t *tracker) add(rec arrow.Record) { t.change(spansOf(rec), 1) }

// done removes a claim for each row.
func (t *tracker) done(rec arrow.Record) { t.change(t.leave(rec), -1) }

// leave returns the positions whose claims rec has: those of its column pos, or those that became has moved to rec. The tracker calls leave
// once, when rec leaves its last stage.
func (t *tracker) leave(rec arrow.Record) []span {
	t.mu.Lock()
	defer t.mu.Unlock()
	if spans, ok := t.bare[rec]; ok {
		delete(t.bare, rec)
		return spans
	}
	return spansOf(rec)
}

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

// tell calls Ack while the watermark rises. One goroutine at a time does so, without mu, since Ack may
// call Running.Stats.
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
			defer t.mu.Lock() // runs even if Ack ends the goroutine
			t.ack(t.told)
		}()
	}
}

// forget drops the spans that rec has from became, so that their claims stay until finish: rec is the input of a Flusher, or has been written to
// a Writer that is no DurableWriter.
func (t *tracker) forget(rec arrow.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.bare, rec)
}

// became moves the claims of in to outs, the output of a stage for in. A single output without positions gets those of in. If one of several
// outputs has none, the claims of in stay until finish.
func (t *tracker) became(in arrow.Record, outs []arrow.Record) {
	if len(outs) == 1 && samePos(in, outs[0]) {
		return
	}
	for _, out := range outs {
		if out.Schema().HasField(record.Pos) {
			continue
		}
		if spans := t.leave(in); len(outs) == 1 && len(spans) > 0 {
			t.mu.Lock()
			t.bare[out] = spans
			t.mu.Unlock()
		}
		return
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

// finish removes the remaining claims at the end of a successful run. They belong to rows that lost
// their position.
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

// reach returns the highest position of the source so far.
func (t *tracker) reach() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.high
}
