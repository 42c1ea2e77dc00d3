package canon_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/operators/canon"
)

// brute is the definition: the order of greatest matrix, and of those the
// smallest sequence, among all permutations that respect the colours.
func brute(n int, codes []uint16, colors []int32) []int32 {
	var best []int32
	var bestMatrix []uint16
	order := make([]int32, 0, n)
	used := make([]bool, n)
	sorted := slices.Sorted(slices.Values(colors))
	var walk func()
	walk = func() {
		if len(order) == n {
			m := canon.Permute(codes, order)
			if best == nil || slices.Compare(m, bestMatrix) > 0 {
				best, bestMatrix = slices.Clone(order), m
			}
			return
		}
		for v := range n {
			if !used[v] && colors[v] == sorted[len(order)] {
				used[v] = true
				order = append(order, int32(v))
				walk()
				order = order[:len(order)-1]
				used[v] = false
			}
		}
	}
	walk()
	if best == nil {
		best = []int32{}
	}
	return best
}

func bitRows(n int, codes []uint16) []uint64 {
	rows := make([]uint64, n)
	for i, c := range codes {
		if c != 0 {
			rows[i/n] |= 1 << (i % n)
		}
	}
	return rows
}

// undirected returns the codes of the graph on n nodes whose upper triangle is
// mask, bit by bit.
func undirected(n int, mask uint) []uint16 {
	codes := make([]uint16, n*n)
	for u := range n {
		for v := u + 1; v < n; v++ {
			codes[u*n+v], codes[v*n+u] = uint16(mask&1), uint16(mask&1)
			mask >>= 1
		}
	}
	return codes
}

func randomColors(rng *rand.Rand, n, most int) []int32 {
	colors := make([]int32, n)
	for v := range colors {
		colors[v] = int32(rng.IntN(most))
	}
	return colors
}

func checkOrder(t *testing.T, name string, got, want []int32, q canon.Quality) {
	t.Helper()
	if q != canon.Exact || !slices.Equal(got, want) {
		t.Fatalf("%s: got %v (%v), want %v", name, got, q, want)
	}
}

// Every graph of up to five nodes in random colours, some of them unused;
// TestEveryColouring has the colourings of six.
func TestUndirectedEqualsBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var s canon.Solver
	for n := range 6 {
		for mask := uint(0); mask < 1<<(n*(n-1)/2); mask++ {
			codes := undirected(n, mask)
			colors := randomColors(rng, n, 1+int(mask)%3)
			want := brute(n, codes, colors)
			name := fmt.Sprintf("n=%d mask=%b colours %v", n, mask, colors)
			got, q := s.Bits(bitRows(n, codes), colors)
			checkOrder(t, name+" bits", got, want, q)
			got, q = s.Matrix(n, codes, colors)
			checkOrder(t, name+" matrix", got, want, q)
		}
	}
}

// Directed graphs: every one of up to four nodes, random ones of five and six;
// then with several codes.
func TestDirectedEqualsBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var s canon.Solver
	for n := range 5 {
		for mask := uint(0); mask < 1<<(n*(n-1)); mask++ {
			codes := make([]uint16, n*n)
			bit := mask
			for i := range codes {
				if i/n != i%n {
					codes[i] = uint16(bit & 1)
					bit >>= 1
				}
			}
			colors := randomColors(rng, n, 1+int(mask)%2)
			got, q := s.Matrix(n, codes, colors)
			checkOrder(t, fmt.Sprintf("n=%d mask=%b", n, mask), got, brute(n, codes, colors), q)
		}
	}
	for i := range 3000 {
		n, most := 3+i%4, 2+i%3
		codes := make([]uint16, n*n)
		for j := range codes {
			codes[j] = uint16(rng.IntN(most)) // loops too
		}
		colors := randomColors(rng, n, 1+i%2)
		got, q := s.Matrix(n, codes, colors)
		checkOrder(t, fmt.Sprintf("n=%d codes=%v colours %v", n, codes, colors), got, brute(n, codes, colors), q)
	}
}

// Undirected graphs with edge colours.
func TestEdgeColouredEqualsBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var s canon.Solver
	for i := range 2000 {
		n, most := 3+i%4, 2+i%3
		codes := make([]uint16, n*n)
		for u := range n {
			for v := range u {
				c := uint16(rng.IntN(most))
				codes[u*n+v], codes[v*n+u] = c, c
			}
		}
		colors := randomColors(rng, n, 1+i%2)
		got, q := s.Matrix(n, codes, colors)
		checkOrder(t, fmt.Sprintf("n=%d codes=%v colours %v", n, codes, colors), got, brute(n, codes, colors), q)
	}
}
