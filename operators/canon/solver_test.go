package canon_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/canon"
)

// Bits and Matrix agree beyond the reach of brute force.
func TestBitsEqualsMatrix(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var s canon.Solver
	for i := range 400 {
		n := 8 + rng.IntN(40)
		h := randomRegular(uint64(i), n, 2+i%3)
		codes := h.codes()
		colors := randomColors(rng, n, 1+i%4)
		a, qa := s.Bits(bitRows(n, codes), colors)
		a = slices.Clone(a)
		b, qb := s.Matrix(n, codes, colors)
		if !slices.Equal(a, b) || qa != qb {
			t.Fatalf("n=%d seed %d: %v (%v) and %v (%v)", n, i, a, qa, b, qb)
		}
	}
}

// When the first budget is used up, the refined colours still hide the
// numbering; a budget of one branch shows what is left.
func TestFallback(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	h := spider(2, 3, 4, 5, 6, 7, 8)
	s := canon.Solver{Budget: 100}
	order, q := s.Bits(bitRows(h.n, h.codes()), nil)
	if q != canon.Refined {
		t.Fatalf("%v after %d branches, want refined", q, s.Visited)
	}
	want := canon.Permute(h.codes(), order)
	for range 5 {
		perm := make([]int32, h.n)
		for i, p := range rng.Perm(h.n) {
			perm[i] = int32(p)
		}
		moved := canon.Permute(h.codes(), perm)
		order, q := s.Bits(bitRows(h.n, moved), nil)
		if q != canon.Refined || !slices.Equal(canon.Permute(moved, order), want) {
			t.Errorf("renumbered: %v, another matrix", q)
		}
		order, q = s.Matrix(h.n, moved, nil)
		if q != canon.Refined || !slices.Equal(canon.Permute(moved, order), want) {
			t.Errorf("renumbered, as matrix: %v, another matrix", q)
		}
	}
	// Partial results are permutations, and the same every time.
	s.Budget = 1
	p := paley(29)
	order, q = s.Bits(bitRows(p.n, p.codes()), nil)
	first := slices.Clone(order)
	again, _ := s.Bits(bitRows(p.n, p.codes()), nil)
	if q != canon.Partial || !slices.Equal(first, again) {
		t.Errorf("%v: %v, then %v", q, first, again)
	}
	if slices.Sort(first); len(first) != p.n || first[0] != 0 || first[p.n-1] != int32(p.n-1) {
		t.Errorf("no permutation: %v", first)
	}
}

// Colours may be any numbers; only their order counts.
func TestColours(t *testing.T) {
	var s canon.Solver
	codes := spider(1, 2, 2).codes()
	n := 6
	a, _ := s.Matrix(n, codes, []int32{2, 0, 1, 1, 1, 0})
	a = slices.Clone(a)
	b, _ := s.Matrix(n, codes, []int32{70, -5, 9, 9, 9, -5})
	if !slices.Equal(a, b) {
		t.Errorf("%v and %v", a, b)
	}
}

func TestFormSeesEdgeTypesAndDirection(t *testing.T) {
	// A path 0–1–2–3 whose first edge is of type 1: the form starts there.
	g, err := graph.New(4, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 3}})
	if err != nil {
		t.Fatal(err)
	}
	g.EdgeCats = 1
	g.EdgeCat = []int32{1, 1, 0, 0, 0, 0}
	order, q, err := canon.Form(g, nil)
	if err != nil || q != canon.Exact || !slices.Equal(order, []int32{1, 0, 2, 3}) {
		t.Errorf("%v %v %v, want [1 0 2 3]", order, q, err)
	}
	// Arcs all point away from node 2.
	g, err = graph.New(3, true, []graph.Edge{{U: 2, V: 0}, {U: 2, V: 1}})
	if err != nil {
		t.Fatal(err)
	}
	order, _, err = canon.Form(g, nil)
	if err != nil || !slices.Equal(order, []int32{2, 0, 1}) {
		t.Errorf("%v %v, want [2 0 1]", order, err)
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	var s canon.Solver
	h := petersen()
	rows, codes := bitRows(h.n, h.codes()), h.codes()
	run := func() {
		s.Bits(rows, nil)
		s.Matrix(h.n, codes, nil)
	}
	run()
	if a := testing.AllocsPerRun(20, run); a != 0 {
		t.Errorf("%v allocations, want 0", a)
	}
}

func BenchmarkForm(b *testing.B) {
	for _, h := range hardGraphs() {
		b.Run(h.name, func(b *testing.B) {
			var s canon.Solver
			rows := bitRows(h.n, h.codes())
			b.ReportAllocs()
			for b.Loop() {
				s.Bits(rows, nil)
			}
			b.ReportMetric(float64(s.Visited), "branches/op")
		})
	}
}

func TestFormColours(t *testing.T) {
	g, err := graph.New(3, false, []graph.Edge{{U: 0, V: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, colors := range [][]int32{{}, {1, 2}, {1, 2, 3, 4}} {
		if _, _, err := canon.Form(g, colors); err == nil {
			t.Errorf("%d colours do for 3 nodes", len(colors))
		}
	}
	if _, _, err := canon.Form(g, []int32{-7, 1 << 30, -7}); err != nil {
		t.Errorf("any numbers are colours: %v", err)
	}
}
