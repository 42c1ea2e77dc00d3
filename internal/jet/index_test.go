package jet

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// messages returns messages at random positions, which may lie between each other's, and holes.
func messages(rng *rand.Rand) []*nats.Msg {
	count := 1 + rng.IntN(12)
	of := make([][]int64, count)
	for p := range int64(4 * count) {
		if rng.IntN(5) > 0 {
			i := rng.IntN(count)
			of[i] = append(of[i], p)
		}
	}
	var all []*nats.Msg
	for _, pos := range of {
		switch {
		case len(pos) == 0:
		case len(pos) == 1 && rng.IntN(2) == 0:
			all = append(all, Hole("s", pos[0]))
		default:
			spans, _ := SpansOf(pos)
			all = append(all, Record("s", spans, len(pos)+rng.IntN(2), []byte{byte(rng.Uint32())}))
		}
	}
	return all
}

// index reads messages, in that order, and what their end says.
func index(t *testing.T, all []*nats.Msg) *Index {
	t.Helper()
	x, end := NewIndex(time.Time{}), End{}
	seen := map[int64]bool{}
	for i, m := range all {
		n, err := Read("s", m.Subject, m.Header, uint64(i+1))
		if err != nil {
			t.Fatal(err)
		}
		x.Add(&n)
		if !seen[n.First()] {
			seen[n.First()] = true
			end.Count(&n)
		}
	}
	x.Add(&Note{End: &end})
	return x
}

// In whatever order messages come, and some of them again, each is handed out once, in the
// order of positions, and positions that are in none are counted.
func TestCursor(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 14))
		all := messages(rng)
		for range rng.IntN(4) {
			if len(all) > 0 {
				all = append(all, all[rng.IntN(len(all))])
			}
		}
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		x := index(t, all)
		var want []Entry
		has, last := map[int64]bool{}, int64(0)
		for _, e := range x.entries {
			want = append(want, e)
			last = max(last, e.last)
		}
		for _, m := range all {
			spans, _ := parseSpans(m.Header.Get(headPos))
			for _, s := range spans {
				for p := s.From; p <= s.To; p++ {
					has[p] = true
				}
			}
		}
		slices.SortFunc(want, func(a, b Entry) int { return cmp.Compare(a.first, b.first) })
		gaps := int64(0)
		for p := range last {
			if !has[p] {
				gaps++
			}
		}
		c := NewCursor(x)
		for {
			_, ok, err := c.Next(context.Background())
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if !ok {
				break
			}
		}
		if !slices.Equal(c.Order, want) || c.Gaps != gaps {
			t.Fatalf("seed %d: %v with %d gaps, want %v with %d", seed, c.Order, c.Gaps, want, gaps)
		}
	}
}

// Messages that claim positions of others, whatever they say, do not hide that: it is an error,
// or all messages are handed out.
func TestCursorOfClaims(t *testing.T) {
	failed := 0
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 15))
		all := append(messages(rng), messages(rng)...)
		for range rng.IntN(3) {
			from := rng.Int64N(30)
			n := 1 + rng.Int64N(20)
			all = append(all, Record("s", []Span{{from, from + n - 1}}, int(n), nil))
		}
		x := index(t, all)
		twice, has, first := false, map[int64]bool{}, map[int64]bool{}
		for _, m := range all {
			spans, _ := parseSpans(m.Header.Get(headPos))
			if first[spans[0].From] {
				continue // it is passed over
			}
			first[spans[0].From] = true
			for _, s := range spans {
				for p := s.From; p <= s.To; p++ {
					twice = twice || has[p]
					has[p] = true
				}
			}
		}
		c := NewCursor(x)
		var err error
		for ok := true; ok && err == nil; {
			_, ok, err = c.Next(context.Background())
		}
		if (err != nil) != twice {
			t.Fatalf("seed %d: positions are in two messages: %t, and the error is %v", seed, twice, err)
		}
		if err != nil {
			failed++
		}
	}
	if failed == 0 {
		t.Error("nothing failed")
	}
}

// What headers say is refused where no message of ours says it.
func TestRead(t *testing.T) {
	good := Record("s", []Span{{4, 6}, {9, 9}}, 5, []byte("body"))
	if n, err := Read("s", good.Subject, good.Header, 1); err != nil || n.Rows != 5 || n.First() != 4 {
		t.Fatal(n, err)
	}
	for _, bad := range [][2]string{
		{headRows, "3"}, {headRows, "0"}, {headRows, "-5"}, {headRows, "4294967296"}, {headRows, "4294967301"}, {headRows, "five"},
		{headPos, ""}, {headPos, "4-6"[:2]}, {headPos, "4-9223372036854775806"}, {headPos, "4-9223372036854775807"}, {headPos, "4,5"}, {headPos, "6,4"}, {headPos, "04"}, {headPos, "5-6"},
		{headSum, ""}, {headSum, "ab"}, {headSum, strings.Repeat("x", 64)},
		{headKind, "strange"}, {headKind, kindHole}, {headKind, kindEnd}, {headObject, "another"},
	} {
		m := nats.Msg{Header: nats.Header{}}
		for k, v := range good.Header {
			m.Header[k] = slices.Clone(v)
		}
		m.Header.Set(bad[0], bad[1])
		if n, err := Read("s", good.Subject, m.Header, 1); err == nil {
			t.Errorf("%s: %q is taken: %+v", bad[0], bad[1], n)
		}
	}
	wide := Record("s", []Span{{4, 5}}, 0, nil)
	wide.Header.Set(headKind, kindHole)
	if _, err := Read("s", wide.Subject, wide.Header, 1); err == nil {
		t.Error("a hole of two positions is taken")
	}
}
