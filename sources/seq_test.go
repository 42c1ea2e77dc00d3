package sources

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
)

// items ranges over the first n graphs of Families, then yields err if there is one.
func items(t testing.TB, n int, err error) func(yield func(Item, error) bool) {
	all, e := Families{Graphs: max(n, 1)}.Items()
	if e != nil {
		t.Fatal(e)
	}
	return func(yield func(Item, error) bool) {
		for _, it := range all[:n] {
			if !yield(it, nil) {
				return
			}
		}
		if err != nil {
			yield(Item{}, err)
		}
	}
}

func TestSeqIsASource(t *testing.T) {
	flowtest.RunSource(t, Seq{Iter: items(t, 150, nil), Layout: record.Layout{Classes: FamilyNames}})
	flowtest.RunSource(t, Seq{Iter: items(t, 0, nil)})
}

// What a channel and an iterator hand over is what Graphs makes of the same.
func TestSeqAsGraphs(t *testing.T) {
	all, err := Families{Graphs: 130}.Items()
	if err != nil {
		t.Fatal(err)
	}
	all[7].ID = 1000
	l := record.Layout{Classes: FamilyNames}
	want, _, _, err := readAll(t, Graphs{Items: all, Layout: l})
	if err != nil {
		t.Fatal(err)
	}
	c := make(chan Item)
	go func() {
		defer close(c)
		for _, it := range all {
			c <- it
		}
	}()
	for _, s := range []Seq{
		{Chan: c, Layout: l, Rows: 17},
		{Iter: func(yield func(Item, error) bool) {
			for _, it := range all {
				if !yield(it, nil) {
					return
				}
			}
		}, Layout: l, MaxWait: -1},
	} {
		got, _, _, err := readAll(t, s)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%v: %d graphs, want %d; %v", s, len(got), len(want), err)
		}
		for i := range got {
			if got[i].ID != want[i].ID || got[i].Class != want[i].Class || !sameGraph(&got[i].G, &want[i].G) {
				t.Errorf("%v: graph %d differs", s, i)
			}
		}
	}
}

// A full record goes on at once, one that is not after MaxWait, and none
// before there is a graph.
func TestSeqWaits(t *testing.T) { synctest.Test(t, seqWaits) }

func seqWaits(t *testing.T) {
	mem := flowtest.Mem(t)
	c := make(chan Item, 10)
	g, err := graph.New(1, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Seq{Chan: c, Rows: 3, MaxWait: 20 * time.Millisecond}.Open(t.Context(), mem)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	next := func() (rows int64, took time.Duration, err error) {
		begin := time.Now()
		rec, err := r.Next(t.Context())
		if err == nil {
			rows = rec.NumRows()
			rec.Release()
		}
		return rows, time.Since(begin), err
	}
	for range 4 {
		c <- Item{Graph: g}
	}
	if rows, _, err := next(); rows != 3 || err != nil {
		t.Errorf("%d rows, %v, want 3", rows, err)
	}
	if rows, took, err := next(); rows != 1 || err != nil || took != 20*time.Millisecond {
		t.Errorf("%d rows after %v, %v, want 1 after 20 ms", rows, took, err)
	}
	begin := time.Now()
	time.AfterFunc(50*time.Millisecond, func() { c <- Item{Graph: g}; close(c) })
	if rows, _, err := next(); rows != 1 || err != nil || time.Since(begin) != 50*time.Millisecond {
		t.Errorf("%d rows after %v, %v, want 1 after 50 ms", rows, time.Since(begin), err)
	}
	if _, _, err := next(); err != io.EOF {
		t.Errorf("%v, want io.EOF", err)
	}
}

// A reader that waits ends with its context, though nothing comes, and an
// iterator that blocks on what it yields is ended by Close.
func TestSeqCancel(t *testing.T) {
	defer leak.VerifyNone(t, leak.IgnoreCurrent())
	forever := func(yield func(Item, error) bool) {
		for yield(Item{Graph: &graph.Graph{}}, nil) {
		}
	}
	silent := make(chan struct{})
	for _, s := range []Seq{
		{Chan: make(chan Item)},
		{Iter: func(func(Item, error) bool) { <-silent }},
		{Iter: forever, Rows: 1 << 30, MaxWait: time.Hour},
	} {
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, stop)
		r, err := s.Open(ctx, flowtest.Mem(t))
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		for err == nil {
			var rec arrow.Record
			if rec, err = r.Next(ctx); err == nil {
				rec.Release()
			}
		}
		if took := time.Since(begin); !errors.Is(err, context.Canceled) || took > leak.Patience {
			t.Errorf("%v: %v after %v", s, err, took)
		}
		if s.Rows == 0 && s.Iter != nil {
			close(silent) // its own way to end
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What came before an error is handed out, then the error itself: no way in
// which an iterator ends but that of returning is the end of the stream.
func TestSeqErrors(t *testing.T) {
	lost := fmt.Errorf("connection lost: %w", io.EOF)
	for _, c := range []struct {
		name string
		iter func(yield func(Item, error) bool)
		want string
	}{
		{"error", items(t, 5, lost), "connection lost: EOF"},
		{"end by name", items(t, 5, io.EOF), ""},
		{"goes on after an error", func(yield func(Item, error) bool) {
			items(t, 5, lost)(yield)
			yield(Item{Graph: &graph.Graph{}}, nil)
		}, "connection lost: EOF"},
		{"panic", func(yield func(Item, error) bool) {
			items(t, 5, nil)(yield)
			panic(lost)
		}, "sources: Seq: panic in the iterator: connection lost: EOF"},
		{"Goexit", func(yield func(Item, error) bool) {
			items(t, 5, nil)(yield)
			runtime.Goexit()
		}, "sources: Seq: the iterator has ended its goroutine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			mem := flowtest.Mem(t)
			r, err := Seq{Iter: c.iter, Rows: 2, Layout: record.Layout{Classes: FamilyNames}}.Open(t.Context(), mem)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			rows := int64(0)
			for err == nil {
				var rec arrow.Record
				if rec, err = r.Next(t.Context()); err == nil {
					rows += rec.NumRows()
					rec.Release()
				}
			}
			if rows != 5 || err == nil || (err == io.EOF) != (c.want == "") || c.want != "" && err.Error() != c.want {
				t.Errorf("%d rows, then %q, want 5 and %q", rows, err, c.want)
			}
		})
	}
	for _, s := range []Seq{{}, {Rows: -1, Chan: make(chan Item)}, {Chan: make(chan Item), Iter: items(t, 0, nil)}} {
		if _, err := s.Open(t.Context(), nil); err == nil {
			t.Errorf("%+v opens", s)
		}
	}
}

// A graph that does not fit ends the run with its id, or is refused and the
// others go on.
func TestSeqRefuses(t *testing.T) {
	good := func() *graph.Graph {
		return &graph.Graph{Offsets: []int32{0, 1, 2}, Neighbors: []int32{1, 0}, NodeCats: 1, NodeCat: []int32{0, 1}}
	}
	l := record.Layout{NodeCat: []record.Channel{{Name: "atom", Card: 2}}, Classes: []string{"a", "b"}}
	bad := map[string]func(*Item){
		"no graph":      func(it *Item) { it.Graph = nil },
		"class 2, want": func(it *Item) { it.Class = 2 },
		"attribute atom of node 1 is 2, want 0 to 1": func(it *Item) { it.Graph.NodeCat[1] = 2 },
		"graph: node_cat of node 1 is -1, want":      func(it *Item) { it.Graph.NodeCat[1] = -1 },
		"node_cat has 0 channels, want 1":            func(it *Item) { it.Graph.NodeCats, it.Graph.NodeCat = 0, nil },
		"directed is true":                           func(it *Item) { it.Graph.Directed = true },
		"graph: node 1 has neighbour 5":              func(it *Item) { it.Graph.Neighbors[1] = 5 },
		"graph: edge 0-1 lacks its other direction":  func(it *Item) { it.Graph.Offsets, it.Graph.Neighbors = []int32{0, 1, 1}, []int32{1} },
	}
	for want, spoil := range bad {
		iter := func(yield func(Item, error) bool) {
			for id := range int64(4) {
				it := Item{Graph: good(), ID: 70 + id}
				if id == 2 {
					spoil(&it)
				}
				if !yield(it, nil) {
					return
				}
			}
		}
		err := flow.From(Seq{Iter: iter, Layout: l}).To(nowhere{}).Run(t.Context())
		if e := new(flow.Error); !errors.As(err, &e) || e.Graph != 72 || !strings.HasPrefix(err.Error(), "Seq(iterator): graph 72: "+want) {
			t.Errorf("the error is %v, want Seq(iterator): graph 72: %s", err, want)
		}
		var refused []int64
		got, _, _, err := readAll(t, Seq{Iter: iter, Layout: l, Refused: func(it Item, err error) {
			if !strings.HasPrefix(err.Error(), want) {
				t.Errorf("refused because of %v, want %s", err, want)
			}
			refused = append(refused, it.ID)
		}})
		if err != nil || !slices.Equal(refused, []int64{72}) || len(got) != 3 || got[2].ID != 73 {
			t.Errorf("%s: refused %v, %d graphs, %v", want, refused, len(got), err)
		}
	}
	if _, _, _, err := readAll(t, Seq{Iter: items(t, 2, nil)}); err == nil || !strings.Contains(err.Error(), "class 1, and the layout has no classes") {
		t.Errorf("a class that the layout does not have: %v", err)
	}
}

// nowhere is a sink.
type nowhere struct{}

func (nowhere) Open(*arrow.Schema) (flow.Writer, error)   { return nowhere{}, nil }
func (nowhere) Write(context.Context, arrow.Record) error { return nil }
func (nowhere) Close(error) error                         { return nil }
