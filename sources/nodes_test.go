package sources

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources/internal/readtest"
)

// fourNodes is a path with a class, words and a part for every node.
func fourNodes() map[string]string {
	return map[string]string{
		"X/edges.txt":    "# a path\n0 1\r\n1,2\n2 3\n3 2\n1 1\n",
		"X/labels.txt":   "10\n9\n-1\n10\n",
		"X/features.txt": "4:1 0:1 2:0\n\n1:1\n0 \t 4\n",
		"X/split.txt":    "train\nval\ntest\nnone\n",
	}
}

func readNodes(files map[string]string) (*NodeSet, error) {
	return Nodes{FS: readtest.MapFS(files), Path: "x.zip"}.Read(context.Background())
}

func TestNodes(t *testing.T) {
	n, err := readNodes(fourNodes())
	if err != nil {
		t.Fatal(err)
	}
	want := &NodeSet{
		Graph: &graph.Graph{
			Offsets: []int32{0, 1, 3, 5, 6}, Neighbors: []int32{1, 0, 2, 1, 3, 2},
			SparseCard: 5, SparseOffsets: []int32{0, 2, 2, 3, 5}, NodeSparse: []int32{0, 4, 1, 0, 4},
		},
		Class: []int32{1, 0, -1, 1}, Classes: []string{"9", "10"},
		Split: []Subset{Train, Val, Test, None},
		Stats: EdgeCounts{Edges: 3, SelfLoops: 1, OneWay: 2},
		Notes: []string{
			"left out: 1 of 5 rows of x.zip/X/edges.txt join a node to itself",
			"repeated rows: 1 of 5 name an edge that another row names, the one with the smallest attributes is kept",
		},
	}
	values := func(n NodeSet) string { // a nil slice is an empty one, and a pointer its graph
		g := *n.Graph
		n.Graph = nil
		return fmt.Sprintf("%+v %+v", n, g)
	}
	if got, want := values(*n), values(*want); got != want {
		t.Errorf("the nodes are\n%s, want\n%s", got, want)
	}
	if got := n.Subset(Train); !slices.Equal(got, []int32{0}) {
		t.Errorf("train: %v", got)
	}
	if got := n.Subset(Test); got != nil { // node 2 has no class
		t.Errorf("test: %v", got)
	}
}

func TestNodesFeatures(t *testing.T) {
	for _, c := range []struct {
		name, text string
		sets       [][]int32
	}{
		{"zeros alone", "0:0\n\n\n1:0\n", nil},
		{"not in order", "100:1.0 0 7\n\n1:1\n1:0e3 0\n", [][]int32{{0, 7, 100}, {}, {1}, {0}}},
		{"empty lines at the end", "0\n1\n2\n3\n\n\n", [][]int32{{0}, {1}, {2}, {3}}},
		{"no line end", "0\n1\n2\n3", [][]int32{{0}, {1}, {2}, {3}}},
	} {
		files := fourNodes()
		files["X/features.txt"] = c.text
		n, err := readNodes(files)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var sets [][]int32
		if n.Graph.SparseCard > 0 {
			for v := range int32(4) {
				sets = append(sets, slices.Clone(n.Graph.Sparse(v)))
			}
		}
		if fmt.Sprint(sets) != fmt.Sprint(c.sets) || n.Graph.NodeAttr != nil || len(n.Notes) != 2 {
			t.Errorf("%s: %v, %v, %q", c.name, n.Graph.NodeAttr, sets, n.Notes)
		}
		if err := n.Graph.Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestNodesIdentity(t *testing.T) {
	files := fourNodes()
	n, err := Nodes{FS: readtest.MapFS(files)}.Read(context.Background())
	if err = errors.Join(err, n.Identify()); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(n.Graph.SparseCard, n.Graph.Sparse(0), n.Graph.Sparse(1), n.Graph.Sparse(3)); got != "9 [0 4 5] [6] [0 4 8]" {
		t.Errorf("with features: %s", got)
	}
	delete(files, "X/features.txt")
	if n, err = (Nodes{FS: readtest.MapFS(files)}).Read(context.Background()); err != nil || n.Identify() != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(n.Graph.SparseCard, n.Graph.SparseOffsets, n.Graph.NodeSparse); got != "4 [0 1 2 3 4] [0 1 2 3]" {
		t.Errorf("without: %s", got)
	}
}

// first returns the first record of a reader, which the caller owns, and its graphs.
func first(t *testing.T, r flow.Reader) (arrow.Record, *record.Graphs) {
	t.Helper()
	rec, err := r.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gs, err := record.GraphsOf(rec)
	if err != nil {
		rec.Release()
		t.Fatal(err)
	}
	return rec, gs
}

func TestNodesRecord(t *testing.T) {
	mem := flowtest.Mem(t)
	r, err := Nodes{FS: readtest.MapFS(fourNodes())}.Open(context.Background(), mem)
	if err != nil {
		t.Fatal(err)
	}
	rec, gs := first(t, r)
	defer rec.Release()
	var g graph.Graph
	gs.At(0, &g)
	if !slices.Equal(gs.NodeClass(0), []int32{1, 0, -1, 1}) || g.SparseCard != 5 || !slices.Equal(g.Sparse(3), []int32{0, 4}) {
		t.Errorf("classes %v, features %v", gs.NodeClass(0), g.Sparse(3))
	}
	if _, err := r.Next(context.Background()); err != io.EOF {
		t.Errorf("after the graph: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.Next(context.Background()); err == nil || err == io.EOF {
		t.Errorf("after Close: %v", err)
	}
}

func TestNodesErrors(t *testing.T) {
	with := func(file, text string) map[string]string {
		m := fourNodes()
		if m["X/"+file] = text; text == "" {
			delete(m, "X/"+file)
		}
		return m
	}
	two := fourNodes()
	two["Y/edges.txt"] = "0 1\n"
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{with("edges.txt", ""), "sources: x.zip: no file edges.txt: file does not exist"},
		{two, "sources: x.zip: several sets, X/edges.txt and Y/edges.txt, want one"},
		{with("edges.txt", "0 1\n1 4\n"), "sources: x.zip/X/edges.txt:2: node 4, want 0 to 3: labels.txt has 4 lines"},
		{with("edges.txt", "0 1\n1 4000000000\n"), "sources: x.zip/X/edges.txt:2: node 4000000000, want 0 to 3: labels.txt has 4 lines"},
		{with("edges.txt", "0 1\n1\n"), `sources: x.zip/X/edges.txt:2: "1", want two nodes`},
		{with("edges.txt", "0 1\n1 -1\n"), "sources: x.zip/X/edges.txt:2: node -1, want 0 to 3: labels.txt has 4 lines"},
		{with("labels.txt", ""), "sources: x.zip/X/labels.txt: file does not exist"},
		{with("labels.txt", "1\n\n2\n3\n"), "sources: x.zip/X/labels.txt:2: empty line"},
		{with("labels.txt", "-1\n-1\n"), "sources: x.zip/X/labels.txt: no node has a class"},
		{with("features.txt", "0:1\n1:1\n2:1\n"), "sources: x.zip/X/features.txt:3: ends after 3 of 4 nodes"},
		{with("features.txt", "0\n1\n2\n3\n4\n"), "sources: x.zip/X/features.txt:5: a line more than the 4 nodes"},
		{with("features.txt", "0:1\n1:\n\n\n"), `sources: x.zip/X/features.txt:2: "1:", want index:1 or index`},
		{with("features.txt", "0:1\n1:x\n\n\n"), `sources: x.zip/X/features.txt:2: feature 1: "x", want a number`},
		{with("features.txt", "0:1\n1:NaN\n\n\n"), `sources: x.zip/X/features.txt:2: feature 1: "NaN", want a finite number`},
		{with("features.txt", "0:1\n1:0.5\n\n\n"), "sources: x.zip/X/features.txt:2: feature 1: 0.5, want 0 or 1; sources.Tables and -nodes read numbers"},
		{with("features.txt", "0:1\n1000000000:1\n\n\n"), "sources: x.zip/X/features.txt:2: feature 1000000000, want 0 to 16777215"},
		{with("features.txt", "0:1\n-1:1\n\n\n"), "sources: x.zip/X/features.txt:2: feature -1, want 0 to 16777215"},
		{with("features.txt", "0:1\n3:1 2:1 3:1\n\n\n"), "sources: x.zip/X/features.txt:2: feature 3 twice"},
		{with("split.txt", "train\ndev\n\n\n"), `sources: x.zip/X/split.txt:2: "dev", want train, val, test or none`},
		{with("split.txt", "train\n"), "sources: x.zip/X/split.txt:1: ends after 1 of 4 nodes"},
	} {
		_, err := readNodes(c.files)
		if err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
		if f := new(FileError); !errors.As(err, &f) {
			t.Errorf("%v is no FileError", err)
		}
	}
	cut := filepath.Join(t.TempDir(), "cut.zip")
	b, err := os.ReadFile(readtest.Zip(t, map[string]string{"edges.txt": "0 1\n", "labels.txt": "1\n2\n"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cut, b[:len(b)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for want, s := range map[string]Nodes{
		"no Path":                        {},
		"MaxBytes is -1":                 {Path: "x", MaxBytes: -1},
		"no such file":                   {Path: "/nowhere/at/all.zip"},
		"cut short":                      {Path: cut},
		"want at most 2; raise MaxBytes": {FS: readtest.MapFS(fourNodes()), MaxBytes: 2},
	} {
		if _, err := s.Read(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// The figures are those of the table in the data sets' own README.
func TestNodesDataSets(t *testing.T) {
	dir := readtest.Data(t)
	for _, c := range []struct {
		name                            string
		nodes, edges, words, nnz, class int
		parts                           [4]int
		isolated                        int
	}{
		{"Cora", 2708, 5278, 1433, 49216, 7, [4]int{1068, 140, 500, 1000}, 0},
		{"PubMed", 19717, 44324, 0, 0, 3, [4]int{18157, 60, 500, 1000}, 0},
		{"WordNet3", 117659, 183789, 1000, 345200, 45, [4]int{0, 70595, 23533, 23531}, 1009},
	} {
		n, err := Nodes{Path: filepath.Join(dir, "nodes", c.name+".zip")}.Read(context.Background())
		if err != nil {
			t.Error(err)
			continue
		}
		g := n.Graph
		if g.N() != c.nodes || g.M() != c.edges || g.SparseCard != c.words || len(g.NodeSparse) != c.nnz || len(n.Classes) != c.class {
			t.Errorf("%s: %d nodes, %d edges, %d words %d times, %d classes", c.name, g.N(), g.M(), g.SparseCard, len(g.NodeSparse), len(n.Classes))
		}
		if got := isolated(g); got != c.isolated {
			t.Errorf("%s: %d isolated", c.name, got)
		}
		for p, want := range c.parts {
			if got := len(n.Subset(Subset(p))); got != want {
				t.Errorf("%s: %d of %v, want %d", c.name, got, Subset(p), want)
			}
		}
		if err := g.Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// FuzzNodes gives the reader any text in place of each file. Whatever it says,
// the reader ends with a graph that obeys its rules, or with one line that
// names a file.
func FuzzNodes(f *testing.F) {
	m := fourNodes()
	f.Add(m["X/edges.txt"], m["X/labels.txt"], m["X/features.txt"], m["X/split.txt"])
	f.Add("0 999999999\n", "1\n2\n", "16777215:1\n0:1e39\n", "train\n\n")
	f.Add("1 0\n", "a b\n-1\n", "0:.5 1:2\n1:-0\n", "val\r\ntest")
	f.Fuzz(func(t *testing.T, edges, labels, features, split string) {
		files := map[string]string{"X/edges.txt": edges, "X/labels.txt": labels}
		if features != "" {
			files["X/features.txt"] = features
		}
		if split != "" {
			files["X/split.txt"] = split
		}
		n, err := Nodes{FS: readtest.MapFS(files), Path: "x", MaxBytes: 1 << 20}.Read(context.Background())
		checkFailure(t, err)
		if err != nil {
			return
		}
		g := n.Graph
		if err := g.Check(); err != nil {
			t.Fatal(err)
		}
		if len(n.Class) != g.N() || n.Split != nil && len(n.Split) != g.N() {
			t.Fatalf("%d nodes, %d classes, %d parts", g.N(), len(n.Class), len(n.Split))
		}
		for _, c := range n.Class {
			if c < -1 || int(c) >= len(n.Classes) {
				t.Fatalf("class %d of %d", c, len(n.Classes))
			}
		}
		for _, x := range g.NodeAttr {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				t.Fatalf("attribute %v", x)
			}
		}
		if s := n.Stats; int(s.Edges) != g.M() {
			t.Fatalf("stats %+v of %d edges", s, g.M())
		}
	})
}
