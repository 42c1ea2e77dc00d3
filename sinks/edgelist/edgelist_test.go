package edgelist_test

import (
	"context"
	"errors"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/sinks/edgelist"
	"github.com/sanflow/sanflow/sources"
)

func ExampleSink() {
	list := sources.EdgeList{Path: "list", Reader: strings.NewReader("7 8 0.5\n9 8 2\n4 4 1\n"), Weights: true}
	if err := flow.From(list).To(edgelist.Sink{Writer: os.Stdout}).Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// # 4 nodes, 2 edges
	// 7 8 0.5
	// 8 9 2
	// 4 4 0
}

// The text of a graph read again is the same text.
func TestRoundTrip(t *testing.T) {
	defer leak.VerifyNone(t)
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	write := func(src flow.Source) string {
		t.Helper()
		var b strings.Builder
		if err := flow.From(src).To(edgelist.Sink{Writer: &b}).With(flow.Options{Allocator: mem}).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	items, err := sources.Families{Graphs: 12, Seed: 3}.Items()
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range items {
		want := write(sources.Graphs{Items: []sources.Item{{Graph: it.Graph}}})
		if got := write(sources.EdgeList{Path: "list", Reader: strings.NewReader(want)}); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
	for _, directed := range []bool{false, true} {
		text := "3 1\n1 3\n2000000000 3\n5 5\n"
		want := write(sources.EdgeList{Path: "list", Reader: strings.NewReader(text), Directed: directed})
		if got := write(sources.EdgeList{Path: "list", Reader: strings.NewReader(want), Directed: directed}); got != want || strings.Count(want, "\n") != map[bool]int{false: 4, true: 5}[directed] {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

type full struct{}

var errFull = errors.New("the disk is full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestErrors(t *testing.T) {
	defer leak.VerifyNone(t)
	one := sources.Families{Graphs: 1}
	if err := flow.From(one).To(edgelist.Sink{Writer: full{}}).Run(t.Context()); !errors.Is(err, errFull) {
		t.Error(err)
	}
	if err := flow.From(one).To(edgelist.Sink{}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "Writer is not set") {
		t.Error(err)
	}
	var b strings.Builder
	if err := flow.From(sources.Families{Graphs: 6}).To(edgelist.Sink{Writer: &b}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "more than one graph") {
		t.Error(err)
	}
}
