package links

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources/generate"
)

// No pair is joined in the graph of its fold, every edge is hidden exactly once,
// and no pair that is not joined is drawn twice.
func TestHide(t *testing.T) {
	g, err := generate.ErdosRenyi(60, 200, 7)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := Split{Share: 0.1, Folds: 6}.Hide(t.Context(), g, rand.New(rand.NewPCG(3, 3)))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Pair]bool{}
	links := 0
	for i, f := range append([]Fold{tr.Test}, tr.Folds...) {
		for j, p := range f.Pairs {
			if f.Graph.Entry(p[0], p[1]) >= 0 {
				t.Errorf("fold %d: %v is an edge of the graph", i, p)
			}
			if f.Link[j] != (g.Entry(p[0], p[1]) >= 0) {
				t.Errorf("fold %d: %v has the wrong answer", i, p)
			}
			key := Pair{min(p[0], p[1]), max(p[0], p[1])}
			if seen[key] {
				t.Errorf("fold %d: %v is there twice", i, p)
			}
			seen[key] = true
			if f.Link[j] {
				links++
			}
		}
		if want := map[bool]int{true: 180, false: 150}[i == 0]; f.Graph.M() != want {
			t.Errorf("fold %d: %d edges are left, want %d", i, f.Graph.M(), want)
		}
		for u := range int32(60) {
			for _, v := range f.Graph.Adj(u) {
				if i > 0 && tr.Test.Graph.Entry(u, v) < 0 {
					t.Errorf("fold %d: the edge %d %d is one of the test", i, u, v)
				}
			}
		}
	}
	few, err := Split{Share: 0.1, Folds: 6, MaxEdges: 60}.Hide(t.Context(), g, rand.New(rand.NewPCG(3, 3)))
	if err != nil || len(few.Folds[2].Pairs) != 20 || few.Folds[2].Graph.M() != 150 || len(few.Test.Pairs) != 40 {
		t.Errorf("%v, with 60 to learn from a fold has %d pairs and %d edges are left", err, len(few.Folds[2].Pairs), few.Folds[2].Graph.M())
	}
	few, err = Split{MaxTest: 7}.Hide(t.Context(), g, rand.New(rand.NewPCG(3, 3)))
	if err != nil || len(few.Test.Pairs) != 14 || few.Test.Graph.M() != 193 {
		t.Errorf("%v, with 7 to test on there are %d pairs, and %d edges are left", err, len(few.Test.Pairs), few.Test.Graph.M())
	}
	if links != 200 || len(tr.Test.Pairs) != 40 {
		t.Errorf("%d links, %d pairs in the test", links, len(tr.Test.Pairs))
	}
}

// A graph that cannot be split is an error, and so are settings that mean nothing.
func TestHideErrors(t *testing.T) {
	few, err := generate.ErdosRenyi(12, 8, 1)
	if err != nil {
		t.Fatal(err)
	}
	dense, err := generate.ErdosRenyi(12, 60, 1)
	if err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]struct {
		s Split
		g *graph.Graph
	}{
		"there is no graph":                    {Split{}, nil},
		"or it is directed":                    {Split{}, &graph.Graph{Directed: true, Offsets: []int32{0}}},
		"Share is 0.6":                         {Split{Share: 0.6}, few},
		"Folds -1":                             {Split{Folds: -1}, few},
		"MaxTest -1":                           {Split{MaxTest: -1}, few},
		"8 edges are too few to hide 0.1":      {Split{}, few},
		"the graph is too dense for non-links": {Split{}, dense},
	} {
		if _, err := c.s.Hide(t.Context(), c.g, rand.New(rand.NewPCG(1, 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Split{}).Hide(ctx, few, rand.New(rand.NewPCG(1, 1))); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Rows are the pairs in order.
func TestRows(t *testing.T) {
	g, err := generate.ErdosRenyi(30, 60, 2)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := Split{Folds: 3}.Hide(t.Context(), g, rand.New(rand.NewPCG(2, 2)))
	if err != nil {
		t.Fatal(err)
	}
	src := Rows(tr.Folds...)
	flowtest.RunSource(t, src)
	var want [][3]int32
	for _, f := range tr.Folds {
		for _, p := range f.Pairs {
			link := int32(0)
			if g.Entry(p[0], p[1]) >= 0 {
				link = 1
			}
			want = append(want, [3]int32{p[0], p[1], link})
		}
	}
	r, err := src.Open(t.Context(), flowtest.Mem(t))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got [][3]int32
	for {
		rec, err := r.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		defer rec.Release()
		roots, err := record.ListsOf[int32](rec, record.Roots)
		if err != nil {
			t.Fatal(err)
		}
		target, err := record.Values[int32](rec, record.Target)
		if err != nil {
			t.Fatal(err)
		}
		pos, err := record.Values[int64](rec, record.Pos)
		if err != nil || pos[0] != int64(len(got)) {
			t.Fatalf("%v, pos %d of row %d", err, pos[0], len(got))
		}
		got = append(got, [3]int32{roots.Row(0)[0], roots.Row(0)[1], target[0]})
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
}
