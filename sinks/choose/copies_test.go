package choose

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sources/tu"
)

// permutations returns all orders of n numbers.
func permutations(n int) (all [][]int32) {
	if n == 0 {
		return [][]int32{{}}
	}
	for _, p := range permutations(n - 1) {
		for at := 0; at <= len(p); at++ {
			all = append(all, slices.Insert(slices.Clone(p), at, int32(n-1)))
		}
	}
	return all
}

// text has all that a graph has.
func text(g *graph.Graph) string {
	return fmt.Sprint(g.Directed, g.Offsets, g.Neighbors, g.NodeCat, g.NodeAttr, g.EdgeCat, g.EdgeAttr, g.SparseOffsets, g.NodeSparse)
}

// drawn returns a random graph, with few attributes, so that many are equal.
func drawn(t *testing.T, r *rand.Rand, n int, directed bool, kind int) graph.Graph {
	var edges []graph.Edge
	for u := range int32(n) {
		for v := range int32(n) {
			if (u < v || directed && u != v) && r.IntN(2) == 0 {
				edges = append(edges, graph.Edge{U: u, V: v})
			}
		}
	}
	g, err := graph.New(n, directed, edges)
	if err != nil {
		t.Fatal(err)
	}
	switch kind {
	case 1:
		g.NodeCats = 1
		for range n {
			g.NodeCat = append(g.NodeCat, int32(r.IntN(2)))
		}
	case 2:
		g.NodeAttrs = 1
		for range n {
			g.NodeAttr = append(g.NodeAttr, float32(r.IntN(2))-0.5)
		}
	case 3, 4:
		g.EdgeCat, g.EdgeCats = make([]int32, len(g.Neighbors)), 1
		if kind == 4 {
			g.EdgeAttr, g.EdgeAttrs, g.EdgeCat, g.EdgeCats = make([]float32, len(g.Neighbors)), 1, nil, 0
		}
		for u := range int32(n) {
			for _, v := range g.Adj(u) {
				x := r.IntN(2)
				for _, at := range []int{g.Entry(u, v), g.Entry(v, u)} {
					if at < 0 || directed && at != g.Entry(u, v) {
						continue
					}
					if kind == 3 {
						g.EdgeCat[at] = int32(x)
					} else {
						g.EdgeAttr[at] = float32(x)
					}
				}
			}
		}
	case 5:
		g.SparseCard, g.SparseOffsets = 2, []int32{0}
		for range n {
			if r.IntN(2) == 0 {
				g.NodeSparse = append(g.NodeSparse, 1)
			}
			g.SparseOffsets = append(g.SparseOffsets, int32(len(g.NodeSparse)))
		}
	}
	return *g
}

// Graphs are equal if and only if one of all renumberings makes them the same.
func TestEqualBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for kind := range 6 {
		for _, directed := range []bool{false, true} {
			var all []graph.Graph
			least := map[string]int32{}
			var want []int32
			for i := range 120 {
				g := drawn(t, r, 2+r.IntN(3), directed, kind)
				all = append(all, g)
				first := ""
				for _, p := range permutations(g.N()) {
					if s := text(g.Renumber(p)); first == "" || s < first {
						first = s
					}
				}
				if _, ok := least[first]; !ok {
					least[first] = int32(i)
				}
				want = append(want, least[first])
			}
			if got, _ := equal(all); !slices.Equal(got, want) {
				t.Errorf("attributes %d, directed %v: %v, want %v", kind, directed, got, want)
			}
			if len(least) == len(all) {
				t.Error("no two graphs are equal")
			}
		}
	}
}

// Graphs that colours do not tell apart are different, and their renumberings are equal.
func TestEqualOfRegularGraphs(t *testing.T) {
	race.Skip(t)
	of := func(n int, joined func(u, v int) bool) graph.Graph {
		var edges []graph.Edge
		for u := range n {
			for v := range u {
				if joined(u, v) {
					edges = append(edges, graph.Edge{U: int32(u), V: int32(v)})
				}
			}
		}
		g, err := graph.New(n, false, edges)
		if err != nil {
			t.Fatal(err)
		}
		return *g
	}
	ring := func(n, u, v, step int) bool { return (u-v+n)%n == step || (v-u+n)%n == step }
	different := []graph.Graph{
		of(6, func(u, v int) bool { return ring(6, u, v, 1) }),
		of(6, func(u, v int) bool { return u/3 == v/3 }),                                     // two triangles
		of(6, func(u, v int) bool { return u%2 != v%2 }),                                     // K3,3
		of(6, func(u, v int) bool { return u/3 == v/3 || u%3 == v%3 }),                       // prism
		of(16, func(u, v int) bool { return u/4 == v/4 || u%4 == v%4 }),                      // rook's graph
		of(16, func(u, v int) bool { a, b := (u/4-v/4+4)%4, (u-v+16)%4; return shri(a, b) }), // Shrikhande
		of(200, func(u, v int) bool { return ring(200, u, v, 1) }),
		of(200, func(u, v int) bool { return u/100 == v/100 && ring(100, u%100, v%100, 1) }),
		of(100, func(u, v int) bool { return true }),
		of(100, func(u, v int) bool { return v == 0 }),
		of(3, func(u, v int) bool { return false }),
		of(0, nil),
	}
	all, r := slices.Clone(different), rand.New(rand.NewPCG(4, 4))
	for range 3 {
		for _, g := range different {
			perm := make([]int32, g.N())
			for i, p := range r.Perm(g.N()) {
				perm[i] = int32(p)
			}
			all = append(all, *g.Renumber(perm))
		}
	}
	firsts, _ := equal(all)
	for i, first := range firsts {
		if int(first) != i%len(different) {
			t.Errorf("graph %d is equal to %d", i, first)
		}
	}
}

// shri reports whether nodes of the torus are joined in the Shrikhande graph.
func shri(a, b int) bool {
	return a == 0 && b%2 == 1 || b == 0 && a%2 == 1 || a == b && a%2 == 1
}

// Groups get into one part, classes are even, and the order of rows does not matter to either.
func TestDealGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for trial := range 300 {
		n, classes := 3+r.IntN(60), 1+r.IntN(3)
		class, group := make([]int32, n), make([]int32, n)
		for i := range n {
			class[i], group[i] = int32(r.IntN(classes+1))-1, int32(i)
			if i > 0 && r.IntN(2) == 0 {
				group[i] = group[r.IntN(i)]
			}
		}
		train, valid, test, err := deal(class, group, nil, uint64(trial))
		part, different, known := map[int32]int{}, map[int32]bool{}, 0
		for i, c := range class {
			if c >= 0 {
				different[group[i]] = true
				known++
			}
		}
		if few := known < 6; few != (err != nil) {
			t.Fatalf("%d rows, %d different: %v", known, len(different), err)
		} else if few {
			continue
		}
		dealt := 0
		for p, rows := range [][]int32{train, valid, test} {
			if len(rows) == 0 || !slices.IsSorted(rows) {
				t.Fatalf("part %d of %d rows in %d groups: %v", p, known, len(different), rows)
			}
			for _, row := range rows {
				dealt++
				if class[row] < 0 || len(different) >= 6 && part[group[row]] > 0 && part[group[row]] != p+1 {
					t.Fatalf("row %d is of no class, or its group in two parts", row)
				}
				part[group[row]] = p + 1
			}
		}
		if dealt != known {
			t.Fatalf("%d of %d rows are dealt", dealt, known)
		}
	}
	class, group := make([]int32, 600), make([]int32, 600)
	for i := range class {
		class[i], group[i] = int32(i%7/5), int32(i/3*3)
	}
	_, valid, test, err := deal(class, group, nil, 1)
	if err != nil || min(len(valid), len(test)) < 96 || max(len(valid), len(test)) > 104 {
		t.Errorf("%d and %d of 600 rows: %v", len(valid), len(test), err)
	}
}

// What the search for copies costs beside reading; -v shows it.
func TestEqualCost(t *testing.T) {
	path := filepath.Join(os.Getenv("SANFLOW_DATA"), "tu", "NCI1.zip")
	if _, err := os.Stat(path); err != nil {
		t.Skip("NCI1 is not there: ", err)
	}
	start := time.Now()
	all, err := Collect(t.Context(), flow.From(tu.Source{Path: path}))
	if err != nil {
		t.Fatal(err)
	}
	defer all.Release()
	repeated, _ := all.Repeated(nil, nil)
	t.Logf("%d of %d graphs of NCI1 are equal to an earlier one, %v with reading", repeated, len(all.Class), time.Since(start))
	train, valid, test, err := all.Deal(nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, shared := all.Repeated(test, append(train, valid...)); shared > 0 {
		t.Errorf("%d graphs of the test part have a copy elsewhere", shared)
	}
}
