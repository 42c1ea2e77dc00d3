package tu

import (
	"context"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/internal/rows"
	"github.com/sanflow/sanflow/sources/internal/readtest"
)

// The figures are those of the table in the data sets' own README.
func TestTUDataSets(t *testing.T) {
	dir := readtest.Data(t)
	for _, c := range []struct {
		name                       string
		graphs, max, nodes, edges  int
		sizes                      []int // of the classes; the order is not told
		nodeLabels, attrs, edgeLab int
	}{
		{"MUTAG", 188, 28, 3371, 3721, []int{125, 63}, 7, 0, 4},
		{"PTC", 344, 109, 8792, 8931, []int{192, 152}, 19, 0, 0},
		{"PTC_MR", 344, 64, 4915, 5054, []int{192, 152}, 18, 0, 4},
		{"NCI1", 4110, 111, 122747, 132753, []int{2053, 2057}, 37, 0, 0},
		{"PROTEINS", 1113, 620, 43471, 81044, []int{663, 450}, 3, 1, 0},
		{"PROTEINS_full", 1113, 620, 43471, 81044, []int{663, 450}, 3, 29, 0},
		{"DD", 1178, 5748, 334925, 843046, []int{691, 487}, 82, 0, 0},
		{"IMDB-BINARY", 1000, 136, 19773, 96531, []int{500, 500}, 0, 0, 0},
		{"IMDB-MULTI", 1500, 89, 19502, 98903, []int{500, 500, 500}, 0, 0, 0},
		{"REDDIT-BINARY", 2000, 3782, 859254, 995508, []int{1000, 1000}, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if (testing.Short() || race.Enabled) && c.edges > 200_000 {
				t.Skip("left out by -short and by -race: more than 200 000 edges")
			}
			got, layout, r, err := readtest.All(t, Source{Path: filepath.Join(dir, "tu", c.name+".zip")})
			if err != nil {
				t.Fatal(err)
			}
			nodes, edges, largest := 0, 0, 0
			sizes := make([]int, len(layout.Classes))
			for _, it := range got {
				nodes, edges, largest = nodes+it.G.N(), edges+it.G.M(), max(largest, it.G.N())
				sizes[it.Class]++
			}
			if len(got) != c.graphs || nodes != c.nodes || edges != c.edges || largest != c.max {
				t.Errorf("%d graphs, %d nodes, %d edges, largest %d; want %d, %d, %d, %d",
					len(got), nodes, edges, largest, c.graphs, c.nodes, c.edges, c.max)
			}
			slices.Sort(sizes)
			slices.Sort(c.sizes)
			if !slices.Equal(sizes, c.sizes) {
				t.Errorf("classes of %v graphs, want %v", sizes, c.sizes)
			}
			card := func(ch []record.Channel) int {
				if len(ch) == 0 {
					return 0
				}
				return ch[0].Card
			}
			if card(layout.NodeCat) != c.nodeLabels || len(layout.NodeAttr) != c.attrs || card(layout.EdgeCat) != c.edgeLab {
				t.Errorf("%d node labels, %d node attributes, %d edge labels; want %d, %d, %d",
					card(layout.NodeCat), len(layout.NodeAttr), card(layout.EdgeCat), c.nodeLabels, c.attrs, c.edgeLab)
			}
			if got, want := r.(*reader).csr.Counts, (rows.Counts{Edges: int64(c.edges)}); got != want {
				t.Errorf("counts %+v, want %+v", got, want)
			}
		})
	}
}

// COLLAB's edge file unpacks to 362 MB, and its graphs take 100 MB as CSR. The
// bound that was asked for is three times the latter; streaming takes far less.
func TestTUMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: reads 362 MB twice")
	}
	if race.Enabled {
		t.Skip("the race detector takes memory of its own, and a minute")
	}
	path := filepath.Join(readtest.Data(t), "tu", "COLLAB.zip")
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before, peak := m.HeapInuse, uint64(0)
	sample := func() {
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapInuse-min(m.HeapInuse, before))
	}
	r, err := Source{Path: path}.Open(context.Background(), memory.NewGoAllocator())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sample()
	csr, graphs, edges := 0, 0, 0
	for {
		rec, err := r.Next(context.Background())
		sample()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		gs, err := record.GraphsOf(rec)
		if err != nil {
			t.Fatal(err)
		}
		graphs += gs.Len()
		offsets, _ := record.ListsOf[int32](rec, record.Offsets)
		neighbors, _ := record.ListsOf[int32](rec, record.Neighbors)
		for i := range gs.Len() {
			csr += 4 * (len(offsets.Row(i)) + len(neighbors.Row(i)))
			edges += len(neighbors.Row(i)) / 2
		}
		rec.Release()
	}
	if graphs != 5000 || edges != 12286079 {
		t.Errorf("%d graphs, %d edges, want 5000, 12286079", graphs, edges)
	}
	t.Logf("peak heap %.1f MB, CSR %.1f MB: %.2f×", float64(peak)/1e6, float64(csr)/1e6, float64(peak)/float64(csr))
	if peak > 3*uint64(csr) {
		t.Errorf("peak heap %d bytes, want at most three times the %d of the CSR", peak, csr)
	}
}
