// Package readtest is what tests of the readers share.
package readtest

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// Item is a graph that a source returned.
type Item struct {
	ID, Pos int64
	G       graph.Graph
	Class   int32
	Value   float32
}

// All reads a source to its end with a checked allocator, and closes it.
func All(t testing.TB, s flow.Source) ([]Item, record.Layout, flow.Reader, error) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	r, err := s.Open(context.Background(), mem)
	if err != nil {
		return nil, record.Layout{}, nil, err
	}
	defer r.Close()
	var items []Item
	layout, err := record.LayoutOf(r.Schema())
	if err != nil {
		t.Fatal(err)
	}
	for {
		rec, err := r.Next(context.Background())
		if err == io.EOF {
			return items, layout, r, nil
		}
		if err != nil {
			return items, layout, r, err
		}
		gs, err := record.GraphsOf(rec)
		if err != nil {
			t.Fatal(err)
		}
		for i := range gs.Len() {
			var g graph.Graph
			gs.At(i, &g)
			if err := g.Check(); err != nil {
				t.Fatalf("graph %d: %v", gs.ID(i), err)
			}
			row := gs.Row(i)
			items = append(items, Item{ID: row.ID, Pos: row.Pos, G: Clone(g), Class: row.Class, Value: row.Value})
		}
		rec.Release()
	}
}

// Clone returns a copy of a graph that does not share the memory of its record.
func Clone(g graph.Graph) graph.Graph {
	g.Offsets, g.Neighbors = slices.Clone(g.Offsets), slices.Clone(g.Neighbors)
	g.NodeCat, g.NodeAttr = slices.Clone(g.NodeCat), slices.Clone(g.NodeAttr)
	g.EdgeCat, g.EdgeAttr = slices.Clone(g.EdgeCat), slices.Clone(g.EdgeAttr)
	return g
}

// Same compares two graphs; nil and empty slices are the same.
func Same(a, b *graph.Graph) bool {
	return a.Directed == b.Directed && a.N() == b.N() &&
		a.NodeCats == b.NodeCats && a.NodeAttrs == b.NodeAttrs && a.EdgeCats == b.EdgeCats && a.EdgeAttrs == b.EdgeAttrs &&
		slices.Equal(a.Offsets, b.Offsets) && slices.Equal(a.Neighbors, b.Neighbors) &&
		slices.Equal(a.NodeCat, b.NodeCat) && slices.Equal(a.NodeAttr, b.NodeAttr) &&
		slices.Equal(a.EdgeCat, b.EdgeCat) && slices.Equal(a.EdgeAttr, b.EdgeAttr)
}

// Random returns a graph of n nodes.
func Random(rng *rand.Rand, n int, directed bool) *graph.Graph {
	var edges []graph.Edge
	for range rng.IntN(3*n + 1) {
		edges = append(edges, graph.Edge{U: rng.Int32N(int32(n)), V: rng.Int32N(int32(n))})
	}
	g, err := graph.New(n, directed, edges)
	if err != nil {
		panic(err)
	}
	return g
}

// DOTProduct returns a short DOT text that describes n² edges.
func DOTProduct(n int) string {
	var a, b strings.Builder
	for i := range n {
		fmt.Fprintf(&a, " a%d", i)
		fmt.Fprintf(&b, " b%d", i)
	}
	return "graph { {" + a.String() + "} -- {" + b.String() + "} }"
}

// Failure checks that an error is a FileError of one line. A nil error passes.
func Failure(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if e := new(reading.FileError); !errors.As(err, &e) {
		t.Fatalf("%T %v is no FileError", err, err)
	}
	if strings.ContainsAny(err.Error(), "\n\r") {
		t.Fatalf("%q has several lines", err)
	}
	if errors.Is(err, fs.ErrClosed) {
		t.Fatalf("%v: read after Close", err)
	}
}

// Pack compresses a text by gzip.
func Pack(t testing.TB, text string) string {
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

// MapFS returns a file system with these files.
func MapFS(files map[string]string) fs.FS {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

// Zip returns the path of a zip with these files.
func Zip(t testing.TB, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	path := filepath.Join(t.TempDir(), "DS.zip")
	if err := errors.Join(z.AddFS(MapFS(files)), z.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Data returns $SANFLOW_DATA, the folder of the data sets. It skips the test if the folder is absent.
func Data(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("SANFLOW_DATA")
	if _, err := os.Stat(filepath.Join(dir, "tu")); dir == "" || err != nil {
		t.Skip("needs the data sets: set SANFLOW_DATA to their folder")
	}
	return dir
}
