package field_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph/dynamic"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/field"
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
func emptyKept(t interface{ Fatal(...any) }, s dynamic.Settings, dir field.Direction, norm *field.Normalizer) *field.Kept {
	g, err := dynamic.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return field.NewKept(g, dir, norm)
}

// madeAnew reports the first field that is not what it is in the graph computed anew.
func madeAnew(f *field.Kept, dir field.Direction, z field.Normalizer) error {
	ix := field.NewIndex(f.Graph().Graph(), dir)
	var a field.Assembler
	want := make([]int32, z.K)
	for root := range int32(ix.N()) {
		hood, dist := a.Assemble(ix, root, z.K)
		if err := z.Normalize(ix, hood, dist, nil, want); err != nil {
			return err
		}
		if got := f.Members(root); !slices.Equal(got, want) {
			return fmt.Errorf("k=%d, root %d: %v is kept, want %v", z.K, root, got, want)
		}
	}
	return nil
}

// After batches of random events, of every kind and in windows, the kept fields are those of the
// graph computed anew. SANFLOW_LONG=1 draws thousands of sequences.
func TestFields(t *testing.T) {
	if os.Getenv("SANFLOW_LONG") != "" {
		checks := flag.Lookup("rapid.checks").Value
		defer checks.Set(checks.String())
		checks.Set("5000")
	}
	rapid.Check(t, func(t *rapid.T) {
		s := dynamic.Settings{
			Directed: rapid.Bool().Draw(t, "directed"),
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
		f := emptyKept(t, s, dir, norm())
		n := rapid.SampledFrom(race.Some([]int{12, 4, 80})).Draw(t, "n")
		batch := rapid.SampledFrom([]int{1, 2, 9}).Draw(t, "batch")
		for i := range rapid.IntRange(1, 60).Draw(t, "events") {
			e := drawEvent(t, s, n, i)
			if err := f.Apply(&e); err != nil {
				t.Fatal(err)
			}
			if i%batch != batch-1 {
				continue
			}
			if err := f.Refresh(func(int32, []int32, []uint8) error { return nil }); err != nil {
				t.Fatal(err)
			}
			if err := madeAnew(f, dir, field.Normalizer{K: 4}); err != nil {
				t.Fatalf("after event %d, %+v: %v", i, e, err)
			}
		}
	})
}
