package labeling_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
)

// dataGraph reads a graph of the benchmark data as undirected, or skips.
func dataGraph(tb testing.TB, name string) *graph.Graph {
	tb.Helper()
	dir := os.Getenv("SANFLOW_DATA")
	if dir == "" {
		tb.Skip("needs the benchmark data; set SANFLOW_DATA")
	}
	f, err := os.Open(filepath.Join(dir, "graphs", name+".edges.gz"))
	if err != nil {
		tb.Skipf("needs the benchmark data; set SANFLOW_DATA: %v", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	var edges []graph.Edge
	n := int32(0)
	in := bufio.NewScanner(z)
	for in.Scan() {
		if strings.HasPrefix(in.Text(), "#") {
			continue
		}
		var u, v int32
		if _, err := fmt.Sscan(in.Text(), &u, &v); err != nil {
			tb.Fatal(err)
		}
		edges = append(edges, graph.Edge{U: u, V: v})
		n = max(n, u+1, v+1)
	}
	if err := in.Err(); err != nil {
		tb.Fatal(err)
	}
	return build(tb, int(n), false, edges)
}
