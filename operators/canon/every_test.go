package canon_test

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/canon"
)

// packed is the matrix of an undirected graph in some order as one number: its
// rows above the diagonal, one after the other. Of two orders of one graph the one
// with the greater matrix has the greater number.
func packed(rows []uint64, order []int32) (x uint64) {
	for i, u := range order {
		for _, v := range order[i+1:] {
			x = x<<1 | rows[u]>>v&1
		}
	}
	return x
}

// permutations lists the permutations of 0 … n-1 in ascending order.
func permutations(n int) [][]int32 {
	if n == 0 {
		return [][]int32{{}}
	}
	var all [][]int32
	for first := range int32(n) {
		for _, p := range permutations(n - 1) {
			q := []int32{first}
			for _, v := range p {
				if v >= first {
					v++
				}
				q = append(q, v)
			}
			all = append(all, q)
		}
	}
	return all
}

// colorings lists the ways to put n nodes into ordered classes.
func colorings(n int) [][]int32 {
	var all [][]int32
	colors := make([]int32, n)
	var walk func(v int)
	walk = func(v int) {
		if v == n {
			used := uint(0)
			for _, c := range colors {
				used |= 1 << c
			}
			if used&(used+1) == 0 { // none left out
				all = append(all, slices.Clone(colors))
			}
			return
		}
		for c := range int32(n) {
			colors[v] = c
			walk(v + 1)
		}
	}
	walk(0)
	return all
}

// respecting returns those of the orders that have the colours ascend.
func respecting(orders [][]int32, colors []int32) [][]int32 {
	var out [][]int32
	for _, o := range orders {
		if slices.IsSortedFunc(o, func(u, v int32) int { return int(colors[u] - colors[v]) }) {
			out = append(out, o)
		}
	}
	return out
}

// best returns the first order of greatest matrix: the definition.
func best(rows []uint64, orders [][]int32) []int32 {
	var order []int32
	var most uint64
	for _, o := range orders {
		if x := packed(rows, o); order == nil || x > most {
			order, most = o, x
		}
	}
	return order
}

func rowsOf(n int, mask uint) []uint64 { return bitRows(n, undirected(n, mask)) }

func checkEvery(t *testing.T, s *canon.Solver, n int, mask uint, colors []int32, orders [][]int32) {
	t.Helper()
	rows := rowsOf(n, mask)
	want := best(rows, orders)
	got, q := s.Bits(rows, colors)
	if q != canon.Exact || !slices.Equal(got, want) {
		t.Fatalf("n=%d mask=%b colours %v: bits give %v (%v), want %v", n, mask, colors, got, q, want)
	}
	got, q = s.Matrix(n, undirected(n, mask), colors)
	if q != canon.Exact || !slices.Equal(got, want) {
		t.Fatalf("n=%d mask=%b colours %v: the matrix gives %v (%v), want %v", n, mask, colors, got, q, want)
	}
}

// Every adjacency matrix of up to six nodes, 2¹⁵ of them, against all
// permutations.
func TestEveryGraph(t *testing.T) {
	race.Skip(t)
	var s canon.Solver
	for n := range 7 {
		orders := permutations(n)
		step := uint(1)
		if n == 6 && testing.Short() {
			step = 31
		}
		for mask := uint(0); mask < 1<<(n*(n-1)/2); mask += step {
			checkEvery(t, &s, n, mask, nil, orders)
		}
	}
}

// One graph of each of the 156 isomorphism classes on six nodes, and of those
// on fewer, in a random numbering, under every colouring: for six nodes every
// seventh of the 4683.
func TestEveryColouring(t *testing.T) {
	var s canon.Solver
	rng := rand.New(rand.NewPCG(71, 72))
	for n := range 7 {
		var classes []uint
		seen := map[uint64]bool{}
		for mask := uint(0); mask < 1<<(n*(n-1)/2); mask++ {
			rows := rowsOf(n, mask)
			order, _ := s.Bits(rows, nil)
			if form := packed(rows, order); !seen[form] {
				seen[form] = true
				classes = append(classes, mask)
			}
		}
		if want := []int{1, 1, 2, 4, 11, 34, 156}[n]; len(classes) != want {
			t.Fatalf("n=%d: %d classes, want %d", n, len(classes), want)
		}
		orders := permutations(n)
		for i, colors := range colorings(n) {
			if n == 6 && i%7 > 0 { // all of them take 2 s, and 20 under -race
				continue
			}
			some := respecting(orders, colors)
			for _, mask := range classes {
				checkEvery(t, &s, n, shuffled(rng, n, mask), colors, some)
			}
		}
	}
}

// shuffled returns the graph in another numbering.
func shuffled(rng *rand.Rand, n int, mask uint) uint {
	var pairs [][2]int
	for u := range n {
		for v := u + 1; v < n; v++ {
			pairs = append(pairs, [2]int{u, v})
		}
	}
	p := rng.Perm(n)
	moved := uint(0)
	for m := mask; m != 0; m &= m - 1 {
		e := pairs[bits.TrailingZeros(m)]
		u, v := min(p[e[0]], p[e[1]]), max(p[e[0]], p[e[1]])
		moved |= 1 << slices.Index(pairs, [2]int{u, v})
	}
	return moved
}
