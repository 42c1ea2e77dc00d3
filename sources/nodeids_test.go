package sources_test

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// ids returns those of the first graph of a source, and whether its records have any.
func ids(t *testing.T, src flow.Source) ([]int64, bool) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	r, err := src.Open(t.Context(), mem)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rec, err := r.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	gs, err := record.GraphsOf(rec)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(gs.Row(0).NodeID.Ints()), gs.Layout.NodeIDs == graph.Int64IDs
}

// A file that is made of an edge list knows what the nodes are called where ids have
// gaps, and takes no byte for it where they have none.
func TestNodeIDs(t *testing.T) {
	gaps := func() flow.Source {
		return sources.EdgeList{Path: "gaps", Reader: strings.NewReader("5 9\n9 100\n2147483647 5\n")}
	}
	want := []int64{5, 9, 100, 1<<31 - 1}
	path := ipcFile(t, gaps())
	for name, src := range map[string]flow.Source{
		"the list": gaps(), "mapped": sources.Mapped{Path: path},
		"read": sources.IPC{Path: path},
	} {
		if got, ok := ids(t, src); !ok || !slices.Equal(got, want) {
			t.Errorf("%s: the nodes are called %d, want %d", name, got, want)
		}
	}
	path = ipcFile(t, sources.EdgeList{Path: "dense", Reader: strings.NewReader("# 5 nodes\n0 1\n3 1\n")})
	if got, ok := ids(t, sources.Mapped{Path: path}); ok || got != nil {
		t.Errorf("nodes 0 to 4 are called %d", got)
	}
	if b, err := os.ReadFile(path); err != nil || bytes.Contains(b, []byte(record.NodeIDs)) {
		t.Errorf("there is a column of ids: %v", err)
	}
}

// Ids that two nodes share are refused by what checks a file.
func TestNodeIDsOfDamage(t *testing.T) {
	g, err := graph.New(3, false, []graph.Edge{{U: 0, V: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]int64{{1, 1, 2}, {3, -2, 3}} {
		items := []sources.Item{{Graph: g, NodeID: graph.IDsOf(bad)}}
		if _, err := (sources.Graphs{Items: items}).Open(t.Context(), memory.DefaultAllocator); err == nil {
			t.Errorf("ids %d pass", bad)
		}
		b := record.NewBuilder(memory.DefaultAllocator, record.Layout{NodeIDs: graph.Int64IDs})
		if err := b.Append(g, record.Row{NodeID: graph.IDsOf(bad)}); err != nil {
			t.Fatal(err)
		}
		rec := b.Record()
		path := ipcFile(t, sources.Records{Schema: rec.Schema(), Records: []arrow.Record{rec}})
		rec.Release()
		for _, src := range []flow.Source{sources.IPC{Path: path}} {
			err := flow.From(src).To(&sinks.Collect{}).Run(context.Background())
			if err == nil || !strings.Contains(err.Error(), "have the same id") {
				t.Errorf("%v: ids %d: %v", src, bad, err)
			}
		}
	}
}

// String ids come back from files as they were, in their order; what is no id of a node
// is an error that names the row or the nodes.
func TestStringIDs(t *testing.T) {
	g, err := graph.New(3, false, []graph.Edge{{U: 0, V: 1}})
	if err != nil {
		t.Fatal(err)
	}
	file := func(ends []int32, text string) string {
		b := record.NewBuilder(memory.DefaultAllocator, record.Layout{NodeIDs: graph.StringIDs})
		if err := b.Append(g, record.Row{ID: 7, NodeID: graph.IDsOfText(ends, []byte(text))}); err != nil {
			t.Fatal(err)
		}
		rec := b.Record()
		defer rec.Release()
		return ipcFile(t, sources.Records{Schema: rec.Schema(), Records: []arrow.Record{rec}})
	}
	for _, c := range []struct {
		ends       []int32
		text, want string // in the error
	}{
		{[]int32{0, 3, 3, 5}, "zoeü", ""},
		{[]int32{0, 1, 2, 3}, "a\xffb", `the id of node 1, "\xff", is not UTF-8`},
		{[]int32{0, 2, 3, 5}, "aabaa", `nodes 0 and 2 have the same id "aa"`},
	} {
		path := file(c.ends, c.text)
		for _, src := range []flow.Source{sources.IPC{Path: path}} {
			var out sinks.Collect
			err := flow.From(src).To(&out).Run(t.Context())
			switch {
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")):
				t.Errorf("%v: %v, want %s", src, err, c.want)
			case c.want == "" && err != nil:
				t.Errorf("%v: %v", src, err)
			case c.want == "":
				gs, err := record.GraphsOf(out.Records()[0])
				if err != nil {
					t.Fatal(err)
				}
				ids := gs.Row(0).NodeID
				if got := []string{ids.Name(0), ids.Name(1), ids.Name(2)}; !slices.Equal(got, []string{"zoe", "", "ü"}) {
					t.Errorf("%v: ids %q", src, got)
				}
			}
			out.Release()
		}
	}
}
