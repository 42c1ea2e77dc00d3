package events_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/sources/events"
)

// The classes that a stream tells are those of its rows of set_class, in order of time.
func TestClassesOfRows(t *testing.T) {
	type row struct {
		time                  int
		kind                  event.Kind
		source, target, class string
	}
	rng := rand.New(rand.NewPCG(2, 20))
	class := func() string { return []string{"", "red", "green"}[rng.IntN(3)] }
	for i := range 200 {
		rows := make([]row, 1+rng.IntN(40))
		for i := range rows {
			rows[i] = row{
				rng.IntN(30) - 15, event.Kind([]int{0, 0, 0, 1, 2, 5}[rng.IntN(6)]),
				string(rune('a' + rng.IntN(4))), string(rune('a' + rng.IntN(4))), class(),
			}
		}
		ordered := slices.Clone(rows)
		slices.SortStableFunc(ordered, func(a, b row) int { return cmp.Compare(a.time, b.time) })
		order := events.Order(i % 2)
		if order == events.Refuse {
			rows = ordered
		}
		var want []string
		for _, r := range ordered {
			want = append(want, fmt.Sprint(r.time, " ", r.kind, " ", r.source))
			if r.kind == event.SetClass {
				want[len(want)-1] += " " + r.class
			}
		}
		lines := []string{"source,target,time,kind,class"}
		for _, r := range rows {
			lines = append(lines, fmt.Sprintf("%s,%s,%d,%v,%s", r.source, r.target, r.time, r.kind, r.class))
		}
		s := events.Source{Table: text(strings.Join(lines, "\n")), Columns: events.Columns{Kind: "kind", Class: "class"}, Order: order}
		st, err := s.Open(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for e, err := range st.All() {
			if err != nil || e.Pos != int64(len(got)) || len(e.Cat) > 0 {
				t.Fatalf("event %d: %+v, %v", len(got), e, err)
			}
			text := fmt.Sprint(e.Time, " ", e.Kind, " ", st.Name(e.Source))
			if e.Kind == event.SetClass {
				if text += " "; e.Class >= 0 {
					text += st.Classes()[e.Class]
				}
			}
			got = append(got, text)
		}
		st.Close()
		if !slices.Equal(got, want) {
			t.Fatalf("order %d, rows\n%s\ngive %q,\nwant %q", order, strings.Join(lines, "\n"), got, want)
		}
		if n := st.Stats().Events; n != int64(len(want)) {
			t.Errorf("%d events are counted, want %d", n, len(want))
		}
	}
}

// A time is a decimal number or a date. Forms that other languages write, and that Go reads, are not.
func TestTimesAreDecimal(t *testing.T) {
	for _, scale := range []float64{0, 1, 1000, 0.5} {
		for _, bad := range []string{"1_000", "1_0.5", "0x10", "0x1p4", "0b1", "0o7", "Inf", "-inf", "NaN", "infinity", "1e", "", "+", "1e400"} {
			s := events.Source{Table: text("source,target,time\na,b,5\na,b," + bad + "\n"), Columns: events.Columns{Scale: scale}}
			if got, _, err := read(s); err == nil || !strings.Contains(err.Error(), "row 2") {
				t.Errorf("scale %v, time %q: %q, %v", scale, bad, got, err)
			}
			if bad == "" {
				continue
			}
			s.Table, s.Columns.Attributes = text("source,target,time,w\na,b,5,1\na,b,6,"+bad+"\n"), []string{"w"}
			if got, _, err := read(s); err == nil || !strings.Contains(err.Error(), "row 2") {
				t.Errorf("attribute %q: %q, %v", bad, got, err)
			}
		}
	}
	if _, err := events.ParseColumns("scale=1_000"); err == nil {
		t.Error("a scale of 1_000 is read")
	}
}
