package flow

import (
	"fmt"
	"slices"
	"sort"
)

// delivery is a record of a Settler with rows in the pipeline.
type delivery struct {
	spans []span
	open  int // stretches with claims
}

// receive adds the claims of a record of a Settler, in whatever order these come.
// If one comes again while rows of it are here, each of these has another
// claim. The caller holds mu.
func (t *tracker) receive(spans []span) error {
	if len(spans) == 0 {
		return fmt.Errorf("a record has no rows, or no positions, so the end of its way cannot be known")
	}
	d := &delivery{spans: spans, open: len(spans)}
	for i, s := range spans {
		at := sort.Search(len(t.flight), func(i int) bool { return t.flight[i].to >= s.from })
		if at < len(t.flight) && t.flight[at].from <= s.to {
			if here := t.flight[at].delivery; i > 0 || !slices.Equal(here.spans, spans) {
				return fmt.Errorf("the positions from %d on come again with others, but those of a record stay together", s.from)
			}
			t.claim(spans, 1)
			return nil
		}
		f := &stretch{from: s.from, to: s.to, each: s.n, open: s.to - s.from + 1, next: s.from, delivery: d}
		t.flight = slices.Insert(t.flight, at, f)
		t.high = max(t.high, s.to)
	}
	return nil
}

// sweep finds the deliveries whose last claim has gone; what belongs to others
// stays as a whole, so that it is known when it comes again. The caller holds mu.
func (t *tracker) sweep() {
	gone := false
	for _, f := range t.flight {
		if f.open > 0 || f.counted {
			continue
		}
		f.counted = true
		if f.delivery.open--; f.delivery.open == 0 {
			t.settled, gone = append(t.settled, f.delivery.spans[0].from), true
		}
	}
	if gone {
		t.flight = slices.DeleteFunc(t.flight, func(f *stretch) bool { return f.delivery.open == 0 })
	}
}
