package tu

import (
	"archive/zip"
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/sources/internal/readtest"
)

// FuzzSource gives the reader any text in place of each file; an empty one is left
// out. Whatever it says, the reader ends with graphs that obey their rules, or
// with one line that names a file.
func FuzzSource(f *testing.F) {
	add := func(m map[string]string) {
		f.Add(m["T_A.txt"], m["T_graph_indicator.txt"], m["T_graph_labels.txt"], m["T_graph_attributes.txt"],
			m["T_node_labels.txt"], m["T_node_attributes.txt"], m["T_edge_labels.txt"], m["T_edge_attributes.txt"], false)
	}
	add(triangle())
	odd := triangle()
	odd["T_graph_indicator.txt"] = "2\r\n1\r\n2\r\n1\r\n"
	odd["T_A.txt"] = "1 3\r\n3 3\r\n2,4\r\n4 2\r\n1 3\r\n3 1\r\n\r\n"
	add(odd)
	f.Add("1 2\n", "1\n999999999999\n", "1\n", "", "", "", "", "", true)
	f.Add("0 1\n", "1\n1\n", "1\n", "1e999\n", "NaN\n", "inf\n", "-\n", ",\n", true)
	f.Fuzz(func(t *testing.T, a, indicator, labels, reals, nodeLabels, nodeAttrs, edgeLabels, edgeAttrs string, directed bool) {
		files := map[string]string{"T_A.txt": a}
		for what, text := range map[string]string{
			indicatorFile: indicator, graphLabels: labels, graphAttributes: reals, nodeLabels: nodeLabels,
			nodeAttributes: nodeAttrs, edgeLabels: edgeLabels, edgeAttributes: edgeAttrs,
		} {
			if text != "" {
				files["T_"+what+".txt"] = text
			}
		}
		tu := Source{FS: readtest.MapFS(files), Rows: 2, Directed: directed, MaxBytes: 1 << 20}
		items, _, r, err := readtest.All(t, tu)
		readtest.Failure(t, err)
		if err != nil {
			return
		}
		again, _, _, err := readtest.All(t, tu)
		if err != nil || len(again) != len(items) {
			t.Fatalf("%d graphs and %v, but %d before", len(again), err, len(items))
		}
		edges := 0
		for i, it := range items {
			if !readtest.Same(&it.G, &again[i].G) {
				t.Fatalf("graph %d differs from one reading to the next", i)
			}
			edges += it.G.M()
		}
		s := r.(*reader).csr.Counts
		if int(s.Edges) != edges {
			t.Fatalf("counts %+v of %d edges", s, edges)
		}
		// Every line of A became an edge, or is accounted for.
		n := 0
		for line := range strings.Lines(a) {
			if strings.TrimSpace(line) != "" {
				n++
			}
		}
		read := 2*s.Edges - s.OneWay + s.SelfLoops + s.Duplicates
		if directed {
			read = s.Edges + s.SelfLoops + s.Duplicates
		}
		if int(read) != n {
			t.Fatalf("%d lines of A, but counts %+v", n, s)
		}
	})
}

// FuzzZip gives it any bytes as an archive.
func FuzzZip(f *testing.F) {
	b, err := os.ReadFile(readtest.Zip(f, triangle()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Fuzz(func(t *testing.T, b []byte) {
		z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		_, _, _, err = readtest.All(t, Source{FS: z, Path: "z", MaxBytes: 1 << 20})
		readtest.Failure(t, err)
	})
}
