package operators_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/tu"
)

// dataFile returns the path of a file of the benchmark data, or skips.
func dataFile(tb testing.TB, elem ...string) string {
	tb.Helper()
	dir := os.Getenv("SANFLOW_DATA")
	if dir == "" {
		tb.Skip("needs the benchmark data; set SANFLOW_DATA")
	}
	path := filepath.Join(append([]string{dir}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("needs the benchmark data; it is not in SANFLOW_DATA: %v", err)
	}
	return path
}

// renumbered runs src up to a sink that takes the first most graphs, and returns
// them as they are and with every graph renumbered, and the permutations.
func renumbered(t *testing.T, src flow.Source, most int) (plain, moved sources.Graphs, perms [][]int32) {
	t.Helper()
	var all sinks.Collect
	defer all.Release()
	if err := flow.From(src).To(&all).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(61, 62))
	for _, rec := range all.Records() {
		layout, err := record.LayoutOf(rec.Schema())
		if err != nil {
			t.Fatal(err)
		}
		layout.Classes, layout.NodeClasses, layout.Real = nil, nil, false
		plain.Layout, moved.Layout = layout, layout
		graphs, err := record.GraphsOf(rec)
		if err != nil {
			t.Fatal(err)
		}
		for row := 0; row < graphs.Len() && len(perms) < most; row++ {
			var g graph.Graph
			graphs.At(row, &g)
			same, perm := make([]int32, g.N()), make([]int32, g.N())
			for v, p := range rng.Perm(g.N()) {
				same[v], perm[v] = int32(v), int32(p)
			}
			perms = append(perms, perm)
			plain.Items = append(plain.Items, sources.Item{Graph: g.Renumber(same)})
			moved.Items = append(moved.Items, sources.Item{Graph: g.Renumber(perm)})
		}
	}
	plain.Rows, moved.Rows = 16, 16
	return plain, moved, perms
}

// tensors returns the columns that Normalize makes, except those that hold node
// numbers.
func tensors(t *testing.T, src flow.Source, workers int, ops ...flow.Operator) []arrow.Record {
	t.Helper()
	var all sinks.Collect
	t.Cleanup(all.Release)
	p := flow.From(src).With(flow.Options{Workers: workers})
	for _, op := range ops {
		p = p.Via(op)
	}
	if err := p.To(&all).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	var out []arrow.Record
	for _, rec := range all.Records() {
		var fields []arrow.Field
		var columns []arrow.Array
		for i, f := range rec.Schema().Fields() {
			switch f.Name {
			case record.NodesCat, record.Nodes, record.EdgesCat, record.Edges, record.Mask, record.GraphID:
				fields, columns = append(fields, f), append(columns, rec.Column(i))
			}
		}
		out = append(out, array.NewRecord(arrow.NewSchema(fields, nil), columns, rec.NumRows()))
	}
	return out
}

func sameRecords(t *testing.T, got, want []arrow.Record) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i, rec := range want {
		for j, f := range rec.Schema().Fields() {
			if !array.Equal(got[i].Column(j), rec.Column(j)) {
				t.Fatalf("record %d: column %s differs", i, f.Name)
			}
		}
	}
}

// The same graphs in other numberings give the same tensors to the last byte,
// on any number of workers: molecules with node and edge types, proteins with 29
// continuous attributes, social graphs without any.
func TestRenumberedCollections(t *testing.T) {
	for _, c := range []struct {
		name string
		most int
		by   labeling.Labeling // selects
		norm labeling.Labeling
	}{
		{"MUTAG", 1000, labeling.Betweenness, labeling.WL},
		{"MUTAG", 100, labeling.WL, labeling.Canonical},
		{"PTC_MR", 1000, labeling.WL, labeling.WL},
		{"PTC_MR", 100, labeling.PageRank, labeling.Betweenness},
		{"PROTEINS_full", 60, labeling.Degree, labeling.WL},
		{"PROTEINS_full", 30, labeling.Attribute{Column: 3}, labeling.Attribute{Discrete: true}},
		{"IMDB-BINARY", 150, labeling.Harmonic, labeling.WeisfeilerLehman{Rounds: 2}},
		{"IMDB-BINARY", 60, labeling.Core, labeling.Clustering},
	} {
		t.Run(fmt.Sprintf("%s by %s and %s", c.name, c.by, c.norm), func(t *testing.T) {
			plain, moved, _ := renumbered(t, tu.Source{Path: dataFile(t, "tu", c.name+".zip")}, c.most)
			for _, global := range []bool{false, true} {
				if global && c.norm == labeling.Canonical {
					continue // tells automorphic nodes of the whole graph apart
				}
				ops := []flow.Operator{
					operators.Select{W: 20, By: c.by, Stride: 2},
					operators.Assemble{K: 8},
					operators.Normalize{By: c.norm, Global: global, Edges: true, Mask: true},
				}
				want := tensors(t, plain, 1, ops...)
				sameRecords(t, tensors(t, plain, 3, ops...), want)
				sameRecords(t, tensors(t, moved, 3, ops...), want)
			}
		})
	}
}

// The same without data: generated graphs, every labeling that selects by
// structure alone.
func TestRenumberedFamilies(t *testing.T) {
	plain, moved, _ := renumbered(t, sources.Families{Graphs: 40}, 40)
	for _, name := range labeling.Names() {
		by, err := labeling.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		ops := []flow.Operator{
			operators.Channel{By: labeling.NormalizedDegree},
			operators.Select{W: 12, By: by},
			operators.Assemble{K: 7},
			operators.Normalize{By: by, Edges: true},
		}
		want := tensors(t, plain, 1, ops...)
		sameRecords(t, tensors(t, plain, 3, ops...), want)
		sameRecords(t, tensors(t, moved, 2, ops...), want)
	}
}

// One large graph, by a sample of its nodes as roots.
func TestRenumberedGraphs(t *testing.T) {
	for _, c := range []struct {
		name     string
		directed bool
		k, roots int
		norm     labeling.Labeling
		global   bool
	}{
		{"power", false, 10, 1000, labeling.WL, false},
		{"power", false, 25, 200, labeling.Betweenness, false},
		{"power", false, 10, 1000, labeling.PageRank, true},
		{"polblogs", true, 10, 300, labeling.WL, false},
		{"polblogs", true, 10, 300, labeling.Degree, true},
		{"polbooks", false, 25, 105, labeling.Closeness, false},
		{"astro-ph", false, 10, 1000, labeling.WL, false},
		{"astro-ph", false, 50, 100, labeling.WL, false},
		{"astro-ph", false, 10, 1000, labeling.Eigenvector, true},
		{"email-Enron", false, 10, 300, labeling.WL, false},
		{"email-Enron", false, 10, 1000, labeling.Core, true},
	} {
		t.Run(fmt.Sprintf("%s by %s, k=%d", c.name, c.norm, c.k), func(t *testing.T) {
			src := sources.EdgeList{Path: dataFile(t, "graphs", c.name+".edges.gz"), Directed: c.directed}
			plain, moved, perms := renumbered(t, src, 1)
			rng := rand.New(rand.NewPCG(63, 64))
			roots, images := make([]int32, c.roots), make([]int32, c.roots)
			for i := range roots {
				roots[i] = rng.Int32N(int32(len(perms[0])))
				images[i] = perms[0][roots[i]]
			}
			run := func(src flow.Source, roots []int32, workers int) []arrow.Record {
				return tensors(t, src, workers, operators.Roots{Nodes: roots}, operators.Chunk{Size: 128},
					operators.Assemble{K: c.k}, operators.Normalize{By: c.norm, Global: c.global, Edges: true, Mask: true})
			}
			want := run(plain, roots, 1)
			sameRecords(t, run(plain, roots, 3), want)
			sameRecords(t, run(moved, images, 3), want)
		})
	}
}
