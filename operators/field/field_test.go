package field_test

import (
	"errors"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
)

func Example() {
	// A triangle 0, 1, 2 with a tail 2–3–4.
	g, err := graph.New(5, false, []graph.Edge{{U: 0, V: 1}, {U: 0, V: 2}, {U: 1, V: 2}, {U: 2, V: 3}, {U: 3, V: 4}})
	if err != nil {
		log.Fatal(err)
	}
	ix := field.NewIndex(g, field.Both)
	var walk field.Assembler
	norm := field.Normalizer{K: 3}
	members := make([]int32, norm.K)
	for _, root := range []int32{2, 4} {
		hood, dist := walk.Assemble(ix, root, norm.K)
		if err := norm.Normalize(ix, hood, dist, nil, members); err != nil {
			log.Fatal(err)
		}
		fmt.Println(hood, dist, "→", members)
	}
	// Output:
	// [2 0 1 3] [0 1 1 1] → [2 0 3]
	// [4 3 2] [0 1 2] → [4 3 2]
}

func TestAssemble(t *testing.T) {
	directed := build(5, true, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 3, V: 1}, {U: 4, V: 0}})
	tests := []struct {
		name string
		g    *graph.Graph
		dir  field.Direction
		root int32
		k    int
		hood []int32
		dist []uint8
	}{
		{"whole level", star(6), field.Both, 0, 3, []int32{0, 1, 2, 3, 4, 5}, []uint8{0, 1, 1, 1, 1, 1}},
		{"only the root", star(6), field.Both, 3, 1, []int32{3}, []uint8{0}},
		{"two levels", star(4), field.Both, 3, 3, []int32{3, 0, 1, 2}, []uint8{0, 1, 2, 2}},
		{"small component", build(5, false, path(3)), field.Both, 2, 9, []int32{2, 1, 0}, []uint8{0, 1, 2}},
		{"both ways", directed, field.Both, 1, 9, []int32{1, 0, 2, 3, 4}, []uint8{0, 1, 1, 1, 2}},
		{"out", directed, field.Out, 0, 9, []int32{0, 1, 2}, []uint8{0, 1, 2}},
		{"in", directed, field.In, 1, 9, []int32{1, 0, 3, 4}, []uint8{0, 1, 1, 2}},
	}
	var a field.Assembler
	for _, c := range tests {
		hood, dist := a.Assemble(field.NewIndex(c.g, c.dir), c.root, c.k)
		if !slices.Equal(hood, c.hood) || !slices.Equal(dist, c.dist) {
			t.Errorf("%s: %v at %v, want %v at %v", c.name, hood, dist, c.hood, c.dist)
		}
	}
}

// Levels wide enough for the radix sort ascend too, and the longest path fits.
func TestAssembleWideAndDeep(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	g := random(rng, 100_000, 150_000, false)
	ix := field.NewIndex(g, field.Both)
	var a field.Assembler
	deep := field.NewIndex(build(1000, false, path(1000)), field.Both)
	if hood, dist := a.Assemble(deep, 0, field.MaxK); len(hood) != 256 || dist[255] != 255 {
		t.Errorf("a path gives %d nodes at up to %d", len(hood), dist[len(dist)-1])
	}
	edges := make([]graph.Edge, 0, 60_000)
	for _, p := range rng.Perm(60_000) {
		edges = append(edges, graph.Edge{U: int32(60_000 + p%7), V: int32(p)}, graph.Edge{U: 69_999, V: int32(60_000 + p%7)})
	}
	wide := build(70_000, false, edges)
	for _, c := range []struct {
		ix   *field.Index
		root int32
	}{{ix, 5}, {field.NewIndex(wide, field.Both), 69_999}} {
		hood, dist := a.Assemble(c.ix, c.root, field.MaxK)
		for i := 1; i < len(hood); i++ {
			if dist[i] < dist[i-1] || dist[i] == dist[i-1] && hood[i] <= hood[i-1] {
				t.Fatalf("position %d: node %d at %d after node %d at %d", i, hood[i], dist[i], hood[i-1], dist[i-1])
			}
		}
	}
}

func TestDummies(t *testing.T) {
	g := withNodeAttributes(rand.New(rand.NewPCG(1, 1)), build(3, false, path(3)), 1, 1)
	z := field.Normalizer{K: 5}
	got := fields(t, g, field.Both, &z, nil)
	if fmt.Sprint(got[0]) != "[0 1 2 -1 -1]" {
		t.Errorf("field of node 0 is %v", got[0])
	}
	x := tensorsOf(g, got[0])
	if x.nodeCats[3] != -1 || x.nodeAttrs[4] != 0 || x.adjacency[5*3] != 0 || x.adjacency[1] != 1 {
		t.Errorf("tensors %+v", x)
	}
}

// Attributes come after the labeling: they break ties, and smaller ones are
// first.
func TestAttributesBreakTies(t *testing.T) {
	g := star(5)
	g.NodeCats, g.NodeCat = 1, []int32{0, 2, 1, 2, 0}
	z := field.Normalizer{K: 5}
	if got := fields(t, g, field.Both, &z, nil)[0]; !slices.Equal(got, []int32{0, 4, 2, 1, 3}) {
		t.Errorf("field %v, want [0 4 2 1 3]", got)
	}
	z.K = 3
	if got := fields(t, g, field.Both, &z, nil)[0]; !slices.Equal(got, []int32{0, 4, 2}) {
		t.Errorf("cut field %v, want [0 4 2]", got)
	}
	z.IgnoreAttributes = true
	if got := fields(t, g, field.Both, &z, nil)[0]; !slices.Equal(got, []int32{0, 1, 2}) {
		t.Errorf("without attributes %v, want [0 1 2]", got)
	}
}

func TestGlobalLabels(t *testing.T) {
	g := star(5)
	ix := field.NewIndex(g, field.Both)
	var a field.Assembler
	z := field.Normalizer{K: 3}
	members := make([]int32, 3)
	hood, dist := a.Assemble(ix, 0, 3)
	if err := z.Normalize(ix, hood, dist, []float64{0, 1, 4, 2, 3}, members); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(members, []int32{0, 2, 4}) {
		t.Errorf("%v, want [0 2 4]", members)
	}
}

type notANumber struct{}

func (notANumber) String() string { return "nan" }
func (notANumber) Label(_ labeling.Input, labels []float64) error {
	labels[0] = math.NaN()
	return nil
}

func TestErrors(t *testing.T) {
	ix := field.NewIndex(star(4), field.Both)
	z := field.Normalizer{K: 2}
	members := make([]int32, 2)
	if err := z.Normalize(ix, nil, nil, nil, members); !errors.Is(err, field.ErrNoRoot) {
		t.Errorf("no nodes: %v", err)
	}
	z.By = notANumber{}
	if err := z.Normalize(ix, []int32{0, 1, 2, 3}, []uint8{0, 1, 1, 1}, nil, members); err == nil {
		t.Error("a label that is no number passes")
	}
}

// One Index, Assembler and Normalizer serve graphs of all kinds in random order, with other sizes,
// directions, bounds and settings each time. Fields and counts are those of fresh ones.
func TestScratchDoesNotLeak(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	list := variants()
	for range 4 {
		// Neighbourhoods of hubs do not fit words, and the cut reads the graph itself.
		plain := crowd(rng, 1+rng.IntN(6), 100+rng.IntN(100), rng.IntN(150))
		for _, g := range []*graph.Graph{plain, directions(rng, plain, 1, 1, 1), directions(rng, plain, 1, 0, 0)} {
			list = append(list, named{"crowd", g}, named{"crowd, nodes", withNodeAttributes(rng, g, 1, 1)},
				named{"crowd, edges", withEdgeAttributes(rng, g, 1, 0)})
		}
	}
	var ix field.Index
	var a field.Assembler
	var shared field.Normalizer
	cache := field.NewCache(1 << 20)
	for range race.Share(400) {
		c := list[rng.IntN(len(list))]
		k := []int{1, 3, 5, 12, 30, 64, 70}[rng.IntN(7)]
		dir, bound := []field.Direction{field.Both, field.Out, field.In}[rng.IntN(3)], rng.IntN(4)*32
		fresh := field.Normalizer{K: k, Uniform: rng.IntN(8) == 0, IgnoreAttributes: rng.IntN(4) == 0}
		shared.K, shared.Uniform, shared.IgnoreAttributes = k, fresh.Uniform, fresh.IgnoreAttributes
		shared.Cache, shared.Stats = []*field.Cache{nil, cache}[rng.IntN(2)], field.Stats{}
		ix.Reset(c.g, dir)
		other := field.NewIndex(c.g, dir)
		if bound >= k {
			ix.SetBound(bound)
			other.SetBound(bound)
		}
		got, want := make([]int32, k), make([]int32, k)
		for _, root := range permutation(rng, c.g.N())[:min(c.g.N(), 20)] {
			hood, dist := new(field.Assembler).Assemble(other, root, k)
			if err := fresh.Normalize(other, hood, dist, nil, want); err != nil {
				t.Fatal(err)
			}
			hood, dist = a.Assemble(&ix, root, k)
			if err := shared.Normalize(&ix, hood, dist, nil, got); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s, k=%d, %v, bound %d, root %d: %v, with a fresh normalizer %v", c.name, k, dir, bound, root, got, want)
			}
		}
		if counted(shared.Stats) != counted(fresh.Stats) {
			t.Fatalf("%s, k=%d, %v, bound %d: counts %+v, with a fresh normalizer %+v", c.name, k, dir, bound, shared.Stats, fresh.Stats)
		}
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, c := range corpus() {
		ix := field.NewIndex(c.g, field.Both)
		var a field.Assembler
		z := field.Normalizer{K: 10}
		members := make([]int32, 10)
		run := func() {
			for v := range int32(c.g.N()) {
				hood, dist := a.Assemble(ix, v, 10)
				if err := z.Normalize(ix, hood, dist, nil, members); err != nil {
					t.Fatal(err)
				}
			}
		}
		run()
		if n := testing.AllocsPerRun(3, run); n > 0 {
			t.Errorf("%s: %v allocations for %d fields, want 0", c.name, n, c.g.N())
		}
	}
}
