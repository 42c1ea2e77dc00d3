package sources_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/dot"
	"github.com/sanflow/sanflow/sources/graph6"
	"github.com/sanflow/sanflow/sources/internal/readtest"
	"github.com/sanflow/sanflow/sources/tu"
)

// What stands for more nodes or entries than 32-bit offsets can tell is refused in one
// line, before any of it is made, whatever it claims.
func TestTooManyEntries(t *testing.T) {
	crowd := func(name string) string {
		var b strings.Builder
		for i := range 33_000 {
			fmt.Fprintf(&b, "%s%d ", name, i)
		}
		return b.String()
	}
	for _, c := range []struct {
		name, want string
		src        flow.Source
	}{
		{"graph6 of 2³⁵ nodes", "nodes on a line of", graph6.Source{Reader: strings.NewReader("~~_~~~~~\n")}},
		{"graph6 of 2³⁶-1 nodes", "nodes on a line of", graph6.Source{Reader: strings.NewReader("~~~~~~~~??\n")}},
		{"digraph6", "nodes on a line of", graph6.Source{Reader: strings.NewReader("&~~?B~~~~\n"), Directed: true}},
		{"DOT of 2³⁰ edges", "more than 1073741823 edges", dot.Source{Reader: strings.NewReader("graph { {" + crowd("a") + "} -- {" + crowd("b") + "} }")}},
		{"an edge list", "beyond 64 bits", sources.EdgeList{Reader: strings.NewReader("0 9223372036854775808\n")}},
		{"an edge list that tells of nodes", "no edge", sources.EdgeList{Reader: strings.NewReader("# 4294967296 nodes\n")}},
		{"a list of nodes", "a comment tells of 2147483647 nodes", sources.EdgeList{Reader: strings.NewReader("# 2147483647 nodes\n0 1\n")}},
		{"TU of a graph beyond", "want 1 to 1", tu.Source{FS: readtest.MapFS(map[string]string{"T_A.txt": "1, 1\n", "T_graph_indicator.txt": "2147483649\n", "T_graph_labels.txt": "0\n"})}},
		{"TU of a node beyond", "want 1 to 1", tu.Source{FS: readtest.MapFS(map[string]string{"T_A.txt": "1, 4294967297\n", "T_graph_indicator.txt": "1\n", "T_graph_labels.txt": "0\n"})}},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := c.src.Open(context.Background(), memory.DefaultAllocator)
		for err == nil {
			rec, next := r.Next(context.Background())
			if err = next; err == nil {
				rec.Release()
			}
		}
		if r != nil {
			r.Close()
		}
		runtime.ReadMemStats(&after)
		if err == io.EOF || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 64<<20 {
			t.Errorf("%s: %d bytes were taken", c.name, taken)
		}
	}
}
