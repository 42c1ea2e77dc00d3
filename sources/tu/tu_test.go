package tu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/internal/rows"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/internal/readtest"
)

var (
	_ flow.Source = Source{}
	_ flow.Source = sources.Graphs{}
	_ flow.Source = sources.Records{}
	_ flow.Source = sources.Families{}
)

// Whatever way a collection is written, and wherever it stands, the graphs are
// those of the model.
func TestTURoundTrip(t *testing.T) {
	for seed := range uint64(race.Share(300)) {
		rng := rand.New(rand.NewPCG(seed, 1))
		m, s := randomModel(rng), randomStyle(rng)
		files := m.write([]string{"", "DS/"}[rng.IntN(2)]+"DS_", s, rng)
		tu := Source{Rows: rng.IntN(4)}
		switch seed % 10 {
		case 0:
			tu.Path = readtest.Zip(t, files)
		case 1:
			tu.Path = dir(t, files)
		default:
			tu.FS = readtest.MapFS(files)
		}
		where := fmt.Sprintf("seed %d, %v", seed, s)
		got, layout, r, err := readtest.All(t, tu)
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if len(got) != len(m.graphs) {
			t.Fatalf("%s: %d graphs, want %d", where, len(got), len(m.graphs))
		}
		var classes []int64
		for _, g := range m.graphs {
			classes = append(classes, g.class)
		}
		classes = slices.Compact(slices.Sorted(slices.Values(classes)))
		if !m.real && !reflect.DeepEqual(layout.Classes, intFields(classes)) {
			t.Fatalf("%s: classes %q, want %q", where, layout.Classes, intFields(classes))
		}
		edges := 0
		for i, it := range got {
			want := m.graph(t, i)
			if !readtest.Same(&it.G, &want) {
				t.Fatalf("%s: graph %d is\n%+v, want\n%+v", where, i, it.G, want)
			}
			if it.ID != int64(i) || it.Pos != int64(i) {
				t.Fatalf("%s: graph %d has id %d and pos %d", where, i, it.ID, it.Pos)
			}
			if m.real && it.Value != m.graphs[i].value {
				t.Fatalf("%s: graph %d has target %g, want %g", where, i, it.Value, m.graphs[i].value)
			}
			if !m.real && classes[it.Class] != m.graphs[i].class {
				t.Fatalf("%s: graph %d has class %d, want %d", where, i, classes[it.Class], m.graphs[i].class)
			}
			edges += want.M()
		}
		want := rows.Counts{Edges: int64(edges)}
		if s.oneWay {
			want.OneWay = want.Edges
		}
		if s.litter {
			want.SelfLoops, want.Duplicates = want.Edges, want.Edges
		}
		if c := r.(*reader).csr.Counts; c != want {
			t.Fatalf("%s: counts %+v, want %+v", where, c, want)
		}
	}
}

// triangle is two graphs: a triangle with all kinds of attributes, and a
// single node.
func triangle() map[string]string {
	return map[string]string{
		"T_A.txt":                "1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n",
		"T_graph_indicator.txt":  "1\n1\n1\n2\n",
		"T_graph_labels.txt":     "-1\n1\n",
		"T_node_labels.txt":      "7\n3\n3\n9\n",
		"T_node_attributes.txt":  "0.5, 1\n2, 3\n4, 5\n6, 7\n",
		"T_edge_labels.txt":      "1\n1\n0\n0\n1\n1\n",
		"T_edge_attributes.txt":  "1\n1\n2\n2\n3\n3\n",
		"T_graph_attributes.txt": "0.25, 10\n-3, 20\n",
	}
}

func TestTUColumns(t *testing.T) {
	got, layout, _, err := readtest.All(t, Source{FS: readtest.MapFS(triangle())})
	if err != nil {
		t.Fatal(err)
	}
	want := record.Layout{
		NodeCat:  []record.Channel{{Name: "node_label", Card: 3}},
		NodeAttr: []record.Channel{{Name: "node_attribute_0"}, {Name: "node_attribute_1"}},
		EdgeCat:  []record.Channel{{Name: "edge_label", Card: 2}},
		EdgeAttr: []record.Channel{{Name: "edge_attribute"}},
		Classes:  []string{"-1", "1"},
	}
	if !reflect.DeepEqual(layout, want) {
		t.Errorf("layout %+v\nwant %+v", layout, want)
	}
	g := graph.Graph{
		Offsets: []int32{0, 2, 4, 6}, Neighbors: []int32{1, 2, 0, 2, 0, 1},
		NodeCat: []int32{1, 0, 0}, NodeCats: 1,
		NodeAttr: []float32{0.5, 1, 2, 3, 4, 5}, NodeAttrs: 2,
		EdgeCat: []int32{1, 1, 1, 0, 1, 0}, EdgeCats: 1,
		EdgeAttr: []float32{1, 3, 1, 2, 3, 2}, EdgeAttrs: 1,
	}
	if !readtest.Same(&got[0].G, &g) {
		t.Errorf("graph 0 is %+v\nwant %+v", got[0].G, g)
	}
	if got[1].G.N() != 1 || got[1].G.M() != 0 || got[1].Class != 1 {
		t.Errorf("graph 1 is %+v, want one node of class 1", got[1])
	}
}

func TestTUTargets(t *testing.T) {
	without := func(name string) map[string]string {
		f := triangle()
		delete(f, name)
		return f
	}
	with := func(name, text string) map[string]string {
		f := triangle()
		f[name] = text
		return f
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  [2]float32
	}{
		{"attributes without labels", without("T_graph_labels.txt"), [2]float32{0.25, -3}},
		{"labels that are reals", with("T_graph_labels.txt", "1\n1.5\n"), [2]float32{1, 1.5}},
	} {
		got, layout, _, err := readtest.All(t, Source{FS: readtest.MapFS(c.files)})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if values := [2]float32{got[0].Value, got[1].Value}; !layout.Real || values != c.want {
			t.Errorf("%s: real=%t %v, want %v", c.name, layout.Real, values, c.want)
		}
	}
}

func TestTUDirected(t *testing.T) {
	f := map[string]string{
		"D_A.txt":               "2 1\n1 3\n1 3\n3 3\n3 1\n",
		"D_edge_labels.txt":     "5\n6\n7\n5\n5\n",
		"D_graph_indicator.txt": "1\n1\n1\n",
		"D_graph_labels.txt":    "0\n",
	}
	got, layout, r, err := readtest.All(t, Source{FS: readtest.MapFS(f), Directed: true})
	if err != nil {
		t.Fatal(err)
	}
	want := graph.Graph{Directed: true, Offsets: []int32{0, 1, 2, 3}, Neighbors: []int32{2, 0, 0}, EdgeCat: []int32{1, 0, 0}, EdgeCats: 1}
	if !layout.Directed || !readtest.Same(&got[0].G, &want) {
		t.Errorf("got %+v, want %+v", got[0].G, want)
	}
	counts := rows.Counts{Edges: 3, SelfLoops: 1, Duplicates: 1, Conflicts: 1}
	if c := r.(*reader).csr.Counts; c != counts {
		t.Errorf("counts %+v, want %+v", c, counts)
	}
	notes := []string{
		"left out: 1 of 5 rows of D_A.txt join a node to itself",
		"repeated rows: 1 of 5 name an edge that another row names, the one with the smallest attributes is kept",
	}
	if got := r.(*reader).Notes(); !slices.Equal(got, notes) {
		t.Errorf("%q, want %q", got, notes)
	}
}

// The first line of an edge holds for both directions.
func TestTUConflict(t *testing.T) {
	f := map[string]string{
		"C_A.txt":               "2 1\n1 2\n2 3\n",
		"C_edge_attributes.txt": "1\n2\n3\n",
		"C_graph_indicator.txt": "1\n1\n1\n",
		"C_graph_labels.txt":    "0\n",
	}
	got, _, r, err := readtest.All(t, Source{FS: readtest.MapFS(f)})
	if err != nil {
		t.Fatal(err)
	}
	if want := []float32{1, 1, 3, 3}; !slices.Equal(got[0].G.EdgeAttr, want) {
		t.Errorf("edge attributes %v, want %v", got[0].G.EdgeAttr, want)
	}
	counts := rows.Counts{Edges: 2, OneWay: 1, Conflicts: 1}
	if c := r.(*reader).csr.Counts; c != counts {
		t.Errorf("counts %+v, want %+v", c, counts)
	}
}

// A source can be opened many times, closed at any time, and remembers nothing.
func TestTUCloseEarly(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	tu := Source{Path: readtest.Zip(t, triangle()), Rows: 1}
	for records := range 4 {
		r, err := tu.Open(context.Background(), mem)
		if err != nil {
			t.Fatal(err)
		}
		var kept []arrow.Record
		for range records {
			rec, err := r.Next(context.Background())
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, rec)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if _, err := r.Next(context.Background()); err == nil || err == io.EOF {
			t.Errorf("Next after Close: %v, want an error", err)
		}
		for _, rec := range kept { // they outlive the reader
			if n := rec.NumRows(); n != 1 {
				t.Errorf("%d rows, want 1", n)
			}
			rec.Release()
		}
	}
	mem.AssertSize(t, 0)
}

func TestTUCancel(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	tu := Source{FS: readtest.MapFS(triangle()), Rows: 1}

	stopped, stop := context.WithCancel(context.Background())
	stop()
	if _, err := tu.Open(stopped, mem); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: %v, want canceled", err)
	}
	// Both contexts count: that of the run and that of the call.
	for _, ofRun := range []bool{true, false} {
		run, end := context.WithCancel(context.Background())
		defer end()
		r, err := tu.Open(run, mem)
		if err != nil {
			t.Fatal(err)
		}
		rec, err := r.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		rec.Release()
		call := stopped
		if ofRun {
			end()
			call = context.Background()
		}
		for range 2 { // and it stays ended
			if _, err := r.Next(call); !errors.Is(err, context.Canceled) {
				t.Errorf("Next: %v, want canceled", err)
			}
		}
		r.Close()
	}
}

func TestTUString(t *testing.T) {
	for _, c := range []struct {
		tu   Source
		want string
	}{
		{Source{Path: "data/MUTAG.zip"}, "TU(data/MUTAG.zip)"},
		{Source{FS: readtest.MapFS(nil)}, "TU(fs)"},
	} {
		if got := fmt.Sprint(c.tu); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// dir returns the path of a directory with these files.
func dir(t testing.TB, files map[string]string) string {
	t.Helper()
	path := t.TempDir()
	if err := os.CopyFS(path, readtest.MapFS(files)); err != nil {
		t.Fatal(err)
	}
	return path
}
