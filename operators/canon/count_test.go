package canon_test

import (
	"testing"

	"github.com/sanflow/sanflow/operators/canon"
)

// extend returns one graph of each isomorphism class on n nodes, made from
// those on n-1 nodes.
func extend(s *canon.Solver, smaller [][]uint64, n int) [][]uint64 {
	seen := map[[7]uint64]bool{}
	var out [][]uint64
	for _, g := range smaller {
		for mask := uint64(0); mask < 1<<(n-1); mask++ {
			rows := append(append([]uint64(nil), g...), mask)
			for v := range n - 1 {
				rows[v] |= mask >> v & 1 << (n - 1)
			}
			form := formOf(s, rows, nil)
			if !seen[form] {
				seen[form] = true
				out = append(out, rows)
			}
		}
	}
	return out
}

// formOf returns the rows of the canonical form.
func formOf(s *canon.Solver, rows []uint64, colors []int32) (form [7]uint64) {
	order, _ := s.Bits(rows, colors)
	for i, u := range order {
		for j, v := range order {
			form[i] |= rows[u] >> v & 1 << j
		}
	}
	return form
}

func connected(rows []uint64) bool {
	reached := uint64(1)
	for range rows {
		for v := range rows {
			if reached>>v&1 == 1 {
				reached |= rows[v]
			}
		}
	}
	return reached == 1<<len(rows)-1
}

// The numbers of graphs, of connected graphs and of rooted connected graphs on n
// nodes: OEIS A000088, A001349 and A126100.
func TestNumbersOfGraphs(t *testing.T) {
	want := [][3]int{1: {1, 1, 1}, 2: {2, 1, 1}, 3: {4, 2, 3}, 4: {11, 6, 11}, 5: {34, 21, 58}, 6: {156, 112, 407}, 7: {1044, 853, 4306}}
	var s canon.Solver
	graphs := [][]uint64{{}}
	for n := 1; n <= 7; n++ {
		graphs = extend(&s, graphs, n)
		joined := 0
		rooted := map[[7]uint64]bool{}
		for _, g := range graphs {
			if !connected(g) {
				continue
			}
			joined++
			for root := range n {
				colors := make([]int32, n)
				for v := range colors {
					colors[v] = 1
				}
				colors[root] = 0
				rooted[formOf(&s, g, colors)] = true
			}
		}
		if got := [3]int{len(graphs), joined, len(rooted)}; got != want[n] {
			t.Errorf("n=%d: %v graphs, connected, rooted; want %v", n, got, want[n])
		}
	}
}
