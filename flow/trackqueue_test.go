package flow

import (
	"testing"

	"pgregory.net/rapid"
)

// TestSettlerAgainstRows compares the tracker of a work queue with one that
// counts the rows of each record that are here.
func TestSettlerAgainstRows(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var settled []int64
		tr := newTracker()
		tr.settle = func(pos int64) { settled = append(settled, pos) }
		// Records begin with 0, 10, … and have these positions behind.
		shape := func(first int64) []int64 {
			return [][]int64{{first}, {first, first + 1, first + 1}, {first, first, first + 3, first + 4}}[first/10%3]
		}
		claims := map[int64]map[int64]int{} // of records that are here, by first position
		var inside []int64
		for range rapid.IntRange(1, 60).Draw(r, "steps") {
			settled = nil
			want := int64(-1)
			if len(inside) == 0 || rapid.Bool().Draw(r, "comes") {
				first := 10 * rapid.Int64Range(0, 6).Draw(r, "first")
				if err := tr.enter(recordAt(t, shape(first)...)); err != nil {
					r.Fatal(err)
				}
				here, again := claims[first]
				if !again {
					here = map[int64]int{}
					claims[first] = here
				}
				for _, p := range shape(first) {
					if !again || here[p] > 0 {
						here[p]++
					}
				}
				if again { // a row that had left does not count again
					for p, n := range here {
						if n < 0 {
							r.Fatalf("position %d has %d", p, n)
						}
					}
				}
				inside = append(inside, shape(first)...)
			} else {
				i := rapid.IntRange(0, len(inside)-1).Draw(r, "leaves")
				p := inside[i]
				inside = append(inside[:i:i], inside[i+1:]...)
				tr.done(recordAt(t, p))
				first := p / 10 * 10
				if here := claims[first]; here[p] > 0 {
					here[p]--
					open := 0
					for _, n := range here {
						open += n
					}
					if open == 0 {
						want = first
						delete(claims, first)
					}
				}
			}
			if want < 0 && len(settled) > 0 || want >= 0 && (len(settled) != 1 || settled[0] != want) {
				r.Fatalf("settled %v, want %d", settled, want)
			}
		}
		tr.finish()
		if len(tr.flight) != 0 {
			r.Fatalf("%d stretches are left", len(tr.flight))
		}
	})
}

// A record that is not the one whose positions it has ends the run.
func TestSettlerMixedUp(t *testing.T) {
	tr := newTracker()
	tr.settle = func(int64) {}
	for i, c := range []struct {
		pos []int64
		ok  bool
	}{{[]int64{5, 6}, true}, {[]int64{1}, true}, {[]int64{5, 6}, true}, {[]int64{6}, false}, {[]int64{4, 5, 6}, false}, {[]int64{5, 6, 7}, false}, {nil, false}} {
		if err := tr.enter(recordAt(t, c.pos...)); (err == nil) != c.ok {
			t.Errorf("%d: %v", i, err)
		}
	}
}
