package sources_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/ipc"
	sink "github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/dot"
	"github.com/sanflow/sanflow/sources/graph6"
	"github.com/sanflow/sanflow/sources/molecules"
	"github.com/sanflow/sanflow/sources/nodelink"
	"github.com/sanflow/sanflow/sources/parquet"
	"github.com/sanflow/sanflow/sources/tu"
)

// zipped is text packed by gzip.
func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// put writes a file into a directory and returns its path.
func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every ending gives the source that reads such files, packed or not, and the source reads the graph.
func TestOpen(t *testing.T) {
	t.Setenv("SANFLOW_DATA", "")
	dir := t.TempDir()
	var z bytes.Buffer
	archive := zip.NewWriter(&z)
	for name, text := range map[string]string{"DS_A.txt": "1, 2\n2, 1\n", "DS_graph_indicator.txt": "1\n1\n", "DS_graph_labels.txt": "1\n"} {
		w, err := archive.Create("DS/" + name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "set/edges.txt", "0 1\n")
	put(t, dir, "set/labels.txt", "a\nb\n")
	put(t, dir, "in/set/edges.txt", "0 1\n")
	put(t, dir, "in/set/labels.txt", "a\nb\n")
	one := sources.EdgeList{Path: "list", Reader: strings.NewReader("0 1\n")}
	var kept sinks.Collect
	defer kept.Release()
	if err := flow.From(one).To(&kept).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	graphs := flow.From(sources.Records{Records: kept.Records()})
	for _, p := range []flow.Pipeline{
		graphs.To(ipc.Sink{Path: filepath.Join(dir, "g.arrow")}), graphs.To(ipc.Sink{Dir: filepath.Join(dir, "arrows")}), graphs.To(ipc.Sink{Path: filepath.Join(dir, "z.arrow"), Compression: "zstd"}),
		graphs.To(sink.Sink{Path: filepath.Join(dir, "g.parquet")}), graphs.To(sink.Sink{Dir: filepath.Join(dir, "parquets")}),
	} {
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	const link = `{"nodes":[{"id":0},{"id":1}],"links":[{"source":0,"target":1}]}` + "\n"
	for _, c := range []struct {
		name, text string
		o          sources.Options
		want       any
	}{
		{name: "a.edges", text: "0 1\n", want: sources.EdgeList{}},
		{name: "A.EDGES.gz", text: zipped(t, "0 1\n"), want: sources.EdgeList{}},
		{name: "a.txt", text: "0 1\n", want: sources.EdgeList{}},
		{name: "a.csv", text: "0,1\n", want: sources.EdgeList{}},
		{name: "m.csv", text: "smiles\nCC\n", o: sources.Options{SMILES: "smiles"}, want: molecules.Source{}},
		{name: "m.smi", text: "CC ethane\n", want: molecules.Source{}},
		{name: "a.g6", text: "A_\n", want: graph6.Source{}},
		{name: "a.dot", text: "graph { a -- b }", want: dot.Source{}},
		{name: "a.json", text: link, want: nodelink.Source{}},
		{name: "a.jsonl.gz", text: zipped(t, link), want: nodelink.Source{}},
		{name: "plain", text: "A_\n", o: sources.Options{Format: "graph6"}, want: graph6.Source{}},
		{name: "DS.zip", text: z.String(), want: tu.Source{}},
		{name: "set", want: sources.Nodes{}},
		{name: "in", want: sources.Nodes{}},
		{name: "g.arrow", want: sources.Mapped{}},
		{name: "z.arrow", want: sources.IPC{}},
		{name: "arrows", want: sources.Mapped{}},
		{name: "g.parquet", want: parquet.Source{}},
		{name: "parquets", want: parquet.Source{}},
	} {
		path := filepath.Join(dir, c.name)
		if c.text != "" {
			put(t, dir, c.name, c.text)
		}
		src, err := sources.Open(t.Context(), path, c.o)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got, want := fmt.Sprintf("%T", src), fmt.Sprintf("%T", c.want); got != want {
			t.Errorf("%s: %s, want %s", c.name, got, want)
		}
		var all sinks.Collect
		if err := flow.From(src).To(&all).Run(t.Context()); err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if len(all.Records()) != 1 || all.Records()[0].NumRows() != 1 {
			t.Errorf("%s: %d records, want one graph", c.name, len(all.Records()))
		}
		all.Release()
	}
	if src, err := sources.Open(t.Context(), "", sources.Options{}); err != nil || fmt.Sprintf("%T", src) != "sources.Families" {
		t.Errorf("no name: %T, %v", src, err)
	}
}

// A name that no linked package reads is an error in a line, which says what helps.
func TestOpenErrors(t *testing.T) {
	t.Setenv("SANFLOW_DATA", "")
	dir := t.TempDir()
	for _, c := range []struct{ name, format, want string }{
		{"a.graphml", "", "read_graphml"},
		{"a.xyz", "", "want a name that ends in .arrow"},
		{"a.edges", "gml", "in the format gml, want arrow, dot, edges"},
		{"nats://broker/graphs", "", "no linked package reads URLs nats://"},
	} {
		path := c.name
		if !strings.Contains(path, "://") {
			path = put(t, dir, c.name, "x")
		}
		_, err := sources.Open(t.Context(), path, sources.Options{Format: c.format})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := sources.Open(t.Context(), "NOSUCH", sources.Options{}); err == nil || !strings.Contains(err.Error(), "sources/download") {
		t.Errorf("a name: %v", err)
	}
	for _, name := range []string{"a.zip", "a.xyz"} {
		if _, err := sources.OpenTable(t.Context(), put(t, dir, name, "x"), sources.Options{}); err == nil || !strings.Contains(err.Error(), "want a name that ends in .csv") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A name is found in the folders of SANFLOW_DATA, without its ending too, and a file of that name comes first.
func TestOpenNames(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SANFLOW_DATA", dir)
	t.Chdir(t.TempDir())
	put(t, dir, "graphs/power.edges.gz", zipped(t, "0 1\n"))
	put(t, dir, "nodes/Set/labels.txt", "a\nb\n")
	put(t, dir, "nodes/Set/edges.txt", "0 1\n")
	for name, want := range map[string]string{"power": "EdgeList(" + filepath.Join(dir, "graphs", "power.edges.gz") + ")", "Set": "Nodes(" + filepath.Join(dir, "nodes", "Set") + ")"} {
		if src, err := sources.Open(t.Context(), name, sources.Options{}); err != nil || fmt.Sprint(src) != want {
			t.Errorf("%s: %v, %v, want %s", name, src, err, want)
		}
	}
	set, err := sources.ReadNodes(t.Context(), "Set", sources.Options{})
	if err != nil || set.Graph.N() != 2 || len(set.Classes) != 2 {
		t.Errorf("%+v, %v", set, err)
	}
}

// A second package cannot take the name or the scheme of a format.
func TestRegisterTwice(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("edges was registered twice")
		}
	}()
	sources.Register(sources.Format{Name: "edges"})
}

func TestPlace(t *testing.T) {
	data := t.TempDir()
	t.Chdir(t.TempDir())
	touch := func(path string) string {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cora := touch(filepath.Join(data, "nodes", "Cora.zip"))
	power := touch(filepath.Join(data, "graphs", "power.edges.gz"))
	touch("here.edges")
	touch(filepath.Join(data, "graphs", "here.edges"))
	for _, set := range []bool{true, false} {
		if t.Setenv("SANFLOW_DATA", data); !set {
			t.Setenv("SANFLOW_DATA", "")
		}
		for _, c := range []struct{ folder, name, want string }{
			{"nodes", "Cora.zip", cora}, {"nodes", "Cora", cora}, {"graphs", "power.edges.gz", power}, {"graphs", "power", power},
			{"graphs", "here.edges", "here.edges"}, {"graphs", "Cora.zip", "Cora.zip"}, {"graphs", "../nodes/Cora.zip", "../nodes/Cora.zip"},
			{"nodes", "", ""}, {"nodes", "nowhere", "nowhere"}, {"nodes", cora, cora},
		} {
			want := c.want
			if !set && c.name != cora {
				want = c.name
			}
			if got := sources.Place(c.name, c.folder); got != want {
				t.Errorf("%s %q: %q, want %q", c.folder, c.name, got, want)
			}
		}
	}
}
