package flow

import (
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"pgregory.net/rapid"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// recordAt returns a record of rows at these positions.
func recordAt(t *testing.T, pos ...int64) arrow.Record {
	b := record.NewBuilder(memory.DefaultAllocator, record.Layout{})
	for _, p := range pos {
		if err := b.Append(&graph.Graph{}, record.Row{Pos: p}); err != nil {
			t.Fatal(err)
		}
	}
	return b.Record()
}

func TestTracker(t *testing.T) {
	var acks []int64
	tr := newTracker()
	tr.ack = func(pos int64) { acks = append(acks, pos) }
	want := func(pos ...int64) {
		t.Helper()
		if !slices.Equal(acks, pos) {
			t.Fatalf("acknowledged %v, want %v", acks, pos)
		}
	}
	if err := tr.enter(recordAt(t, 3, 4, 4, 7)); err != nil {
		t.Fatal(err)
	}
	want()
	tr.done(recordAt(t, 4))
	tr.done(recordAt(t, 7))
	want() // 3 is in, and one row of 4
	tr.done(recordAt(t, 3))
	want(3)
	tr.add(recordAt(t, 4)) // it will come again
	tr.done(recordAt(t, 4))
	want(3)
	tr.done(recordAt(t, 4))
	want(3, 7)
	tr.done(recordAt(t, 4, 7)) // long gone
	tr.add(recordAt(t, 3))
	want(3, 7)
	if tr.watermark() != 7 || len(tr.flight) != 0 {
		t.Errorf("at the end: %+v", tr)
	}
	if err := tr.enter(recordAt(t, 8, 9)); err != nil {
		t.Fatal(err)
	}
	tr.finish()
	want(3, 7, 9)
}

// TestTrackerAgainstRows compares it with one that has a claim for every row in
// a map: for records of any positions that rise, taken apart and repeated at
// random.
func TestTrackerAgainstRows(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		tr, claims := newTracker(), map[int64]int{}
		var entered, inside []int64
		last := int64(-1)
		for range rapid.IntRange(1, 60).Draw(r, "steps") {
			switch kind := rapid.IntRange(0, 3).Draw(r, "step"); {
			case kind == 0 || len(inside) == 0:
				var pos []int64
				last += rapid.Int64Range(1, 2).Draw(r, "gap")
				for range rapid.IntRange(1, 6).Draw(r, "rows") {
					pos = append(pos, last)
					last += rapid.Int64Range(0, 2).Draw(r, "rise")
				}
				last = pos[len(pos)-1]
				if err := tr.enter(recordAt(t, pos...)); err != nil {
					r.Fatal(err)
				}
				for _, p := range pos {
					claims[p]++
				}
				entered, inside = append(entered, pos...), append(inside, pos...)
			case kind == 1:
				p := rapid.SampledFrom(inside).Draw(r, "again")
				tr.add(recordAt(t, p, p))
				claims[p] += 2
				inside = append(inside, p, p)
			default:
				i := rapid.IntRange(0, len(inside)-1).Draw(r, "from")
				n := rapid.IntRange(1, len(inside)-i).Draw(r, "to")
				tr.done(recordAt(t, inside[i:i+n]...))
				for _, p := range inside[i : i+n] {
					claims[p]--
				}
				inside = slices.Delete(inside, i, i+n)
			}
			want := int64(-1)
			for _, p := range entered {
				if claims[p] > 0 {
					break
				}
				want = p
			}
			if tr.watermark() != want {
				r.Fatalf("the watermark is %d, want %d", tr.watermark(), want)
			}
		}
	})
}

// TestTrackerFalls: where positions fall, what is known to be done stays so,
// and no more is until the end.
func TestTrackerFalls(t *testing.T) {
	for _, c := range []struct {
		again []int64
		want  int64 // the watermark
	}{
		{[]int64{9, 8}, 5},    // 6 is still in the pipeline
		{[]int64{3}, 2},       // comes again, or late
		{[]int64{6, 4, 3}, 2}, // also in one record
		{[]int64{0}, -1},
	} {
		tr := newTracker()
		enter := func(pos ...int64) {
			t.Helper()
			if err := tr.enter(recordAt(t, pos...)); err != nil {
				t.Fatal(err)
			}
		}
		enter(1, 2, 3, 4, 5, 6, 9)
		tr.done(recordAt(t, 1, 2, 3, 4, 5))
		enter(c.again...)
		tr.done(recordAt(t, c.again...))
		tr.done(recordAt(t, 6, 9))
		if tr.watermark() != c.want {
			t.Errorf("after %v the watermark is %d, want %d", c.again, tr.watermark(), c.want)
		}
		if tr.finish(); tr.watermark() != 9 {
			t.Errorf("after %v the watermark is at last %d, want 9", c.again, tr.watermark())
		}
	}
	tr := newTracker()
	tr.ack = func(int64) {}
	_ = tr.enter(recordAt(t, 4, 5))
	for _, pos := range [][]int64{{5}, {6, 8, 7}} {
		if err := tr.enter(recordAt(t, pos...)); err == nil {
			t.Errorf("an Acker may hand out %v after 4, 5", pos)
		}
	}
}
