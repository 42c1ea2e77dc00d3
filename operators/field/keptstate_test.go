package field_test

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph/dynamic"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
)

func drawEvent(t *rapid.T, s dynamic.Settings, n, i int) event.Event {
	e := event.Event{
		Kind: event.Kind(rapid.SampledFrom([]int{0, 0, 0, 0, 0, 1, 1, 1, 2, 3, 4, 5}).Draw(t, "kind")), Pos: int64(i),
		Time:   int64(i) - rapid.SampledFrom([]int64{0, 0, 0, 1, 5, 20}).Draw(t, "late"),
		Source: int32(rapid.IntRange(0, n-1).Draw(t, "source")), Target: int32(rapid.IntRange(0, n-1).Draw(t, "target")),
	}
	if rapid.Bool().Draw(t, "hub") {
		e.Source %= 3
	}
	c := []int32{int32(rapid.IntRange(0, 2).Draw(t, "cat"))}
	switch e.Kind {
	case event.AddEdge, event.SetEdge:
		e.Cat = c[:s.EdgeCats]
	case event.SetNode:
		e.Cat = c[:s.NodeCats]
	case event.SetClass:
		e.Class = c[0] - 1
	}
	return e
}

// emptyKept keeps the fields of a graph without nodes.
func emptyKept(t interface{ Fatal(...any) }, s dynamic.Settings, dir field.Direction, norm *field.Normalizer, members bool) *field.Kept {
	g, err := dynamic.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return field.NewKept(g, dir, norm, members)
}

// madeAnew reports the first field that is not what it is in the graph computed anew.
func madeAnew(f *field.Kept, dir field.Direction, bound int, z field.Normalizer) error {
	ix := field.NewIndex(f.Graph().Graph(), dir)
	ix.SetBound(bound)
	var a field.Assembler
	want := make([]int32, z.K)
	for root := range int32(ix.N()) {
		hood, dist := a.Assemble(ix, root, z.K)
		if err := z.Normalize(ix, hood, dist, nil, want); err != nil {
			return err
		}
		if got := f.Members(root); !slices.Equal(got, want) {
			return fmt.Errorf("k=%d, bound %d, root %d: %v is kept, want %v", z.K, bound, root, got, want)
		}
	}
	return nil
}

// The largest bound can be saved and loaded. One below the size of a field is refused.
func TestFieldsMaxBound(t *testing.T) {
	f := emptyKept(t, dynamic.Settings{}, field.Both, &field.Normalizer{K: 4}, true)
	for v := range int32(3) {
		if err := f.Apply(&event.Event{Kind: event.SetNode, Source: v}); err != nil {
			t.Fatal(err)
		}
	}
	func() {
		defer func() {
			if got, want := recover(), "field: bound is 3, want at least k, 4"; got != want {
				t.Errorf("%v, want %s", got, want)
			}
		}()
		f.SetBound(3)
	}()
	f.SetBound(math.MaxInt64)
	if err := f.Refresh(func(int32, []int32, []uint8) error { return nil }); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := f.Save(&file); err != nil {
		t.Fatal(err)
	}
	g := emptyKept(t, dynamic.Settings{}, field.Both, &field.Normalizer{K: 4}, true)
	g.SetBound(math.MaxInt64)
	if err := g.Restore(&file); err != nil {
		t.Error(err)
	}
}

// After batches of random events, of every kind and in windows, the kept fields, bounded or
// not, are those of the graph computed anew; and so they are when the fields are saved and
// loaded between. SANFLOW_LONG=1 draws thousands of sequences.
func TestFields(t *testing.T) {
	if os.Getenv("SANFLOW_LONG") != "" {
		checks := flag.Lookup("rapid.checks").Value
		defer checks.Set(checks.String())
		checks.Set("5000")
	}
	rapid.Check(t, func(t *rapid.T) {
		s := dynamic.Settings{
			Directed: rapid.Bool().Draw(t, "directed"), RemoveAll: rapid.Bool().Draw(t, "all"),
			NodeCats: rapid.IntRange(0, 1).Draw(t, "node cats"), EdgeCats: rapid.IntRange(0, 1).Draw(t, "edge cats"),
		}
		switch rapid.IntRange(0, 2).Draw(t, "window") {
		case 1:
			s.Last = rapid.IntRange(1, 60).Draw(t, "last")
		case 2:
			s.Within = rapid.Int64Range(1, 60).Draw(t, "within")
		}
		dir := field.Both
		if s.Directed {
			dir = field.Direction(rapid.IntRange(0, 2).Draw(t, "dir"))
		}
		norm := func() *field.Normalizer {
			return &field.Normalizer{K: 4, Cache: field.NewCache(1 << 16)}
		}
		f := emptyKept(t, s, dir, norm(), true)
		bound := rapid.SampledFrom([]int{0, 0, 4, 5, 8}).Draw(t, "bound")
		f.SetBound(bound)
		var g *field.Kept // f, saved and loaded
		n := rapid.SampledFrom(race.Some([]int{12, 4, 80})).Draw(t, "n")
		batch := rapid.SampledFrom([]int{1, 2, 9}).Draw(t, "batch")
		var emitted, again []int32
		for i := range rapid.IntRange(1, 60).Draw(t, "events") {
			e := drawEvent(t, s, n, i)
			if err := f.Apply(&e); err != nil {
				t.Fatal(err)
			}
			if g != nil {
				if err := g.Apply(&e); err != nil {
					t.Fatal(err)
				}
			}
			if i%batch != batch-1 {
				continue
			}
			emitted, again = emitted[:0], again[:0]
			if err := f.Refresh(func(root int32, m []int32, _ []uint8) error {
				emitted = append(append(emitted, root), m...)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if err := madeAnew(f, dir, bound, field.Normalizer{K: 4}); err != nil {
				t.Fatalf("after event %d, %+v: %v", i, e, err)
			}
			if g != nil {
				if err := g.Refresh(func(root int32, m []int32, _ []uint8) error { again = append(append(again, root), m...); return nil }); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(emitted, again) {
					t.Fatalf("after event %d: %v is handed over, after a restart %v", i, emitted, again)
				}
			}
			if rapid.IntRange(0, 5).Draw(t, "restart") == 0 {
				var text, second bytes.Buffer
				if err := f.Save(&text); err != nil {
					t.Fatal(err)
				}
				saved := bytes.Clone(text.Bytes())
				g = emptyKept(t, s, dir, norm(), true)
				g.SetBound(bound)
				if err := g.Restore(&text); err != nil {
					t.Fatal(err)
				}
				if err := g.Save(&second); err != nil || !bytes.Equal(saved, second.Bytes()) {
					t.Fatalf("a state that was loaded is saved as another: %v", err)
				}
				saved[rapid.IntRange(0, len(saved)-1).Draw(t, "at")] ^= 4
				if err := g.Restore(bytes.NewReader(saved)); err == nil {
					t.Fatal("a damaged state is loaded without an error")
				}
			}
		}
	})
}

// saved returns what Save writes of fields of some random events, with the settings and the bound.
func saved(t testing.TB, s dynamic.Settings, dir field.Direction, norm field.Normalizer, members bool, bound int) []byte {
	t.Helper()
	f := emptyKept(t, s, dir, &norm, members)
	f.SetBound(bound)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 30 {
		if err := f.Apply(&event.Event{Pos: int64(i), Time: int64(i), Source: int32(rng.IntN(9)), Target: int32(rng.IntN(9))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Refresh(func(int32, []int32, []uint8) error { return nil }); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := f.Save(&text); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// Restore refuses the state of fields or of a graph with other settings, and leaves the fields as they are.
func TestRestoreRefuses(t *testing.T) {
	f := emptyKept(t, dynamic.Settings{}, field.Both, &field.Normalizer{K: 3}, true)
	for _, c := range []struct {
		s       dynamic.Settings
		dir     field.Direction
		norm    field.Normalizer
		members bool
		bound   int
		want    string
	}{
		{dynamic.Settings{}, field.Both, field.Normalizer{K: 4}, true, 0, "K 4, "},
		{dynamic.Settings{}, field.Both, field.Normalizer{K: 3, By: labeling.Degree}, true, 0, "By "},
		{dynamic.Settings{Directed: true}, field.Out, field.Normalizer{K: 3}, true, 0, "Direction "},
		{dynamic.Settings{Last: 5}, field.Both, field.Normalizer{K: 3}, true, 0, "of a graph {"},
		{dynamic.Settings{}, field.Both, field.Normalizer{K: 3}, false, 0, "Forget true"},
		{dynamic.Settings{}, field.Both, field.Normalizer{K: 3}, true, 5, "Bound 5"},
	} {
		err := f.Restore(bytes.NewReader(saved(t, c.s, c.dir, c.norm, c.members, c.bound)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
		if n := f.Graph().N(); n != 0 {
			t.Errorf("after %q the graph has %d nodes", c.want, n)
		}
	}
	if err := f.Restore(bytes.NewReader(saved(t, dynamic.Settings{}, field.Both, field.Normalizer{K: 3}, true, 0))); err != nil || f.Graph().N() != 9 {
		t.Errorf("%d nodes: %v", f.Graph().N(), err)
	}
}

// FuzzRestore changes states and makes the checksum right. What is restored goes on.
func FuzzRestore(f *testing.F) {
	text := saved(f, dynamic.Settings{MaxNodes: 1000}, field.Both, field.Normalizer{K: 3}, true, 0)
	f.Add(text[:len(text)-sha256.Size])
	f.Fuzz(func(t *testing.T, b []byte) {
		fields := emptyKept(t, dynamic.Settings{MaxNodes: 1000}, field.Both, &field.Normalizer{K: 3}, true)
		sum := sha256.Sum256(b)
		if fields.Restore(bytes.NewReader(append(bytes.Clone(b), sum[:]...))) != nil {
			return
		}
		for i := range int32(9) {
			if fields.Apply(&event.Event{Source: i, Target: (i + 1) % 9}) != nil {
				return
			}
		}
		_ = fields.Refresh(func(int32, []int32, []uint8) error { return nil })
	})
}
