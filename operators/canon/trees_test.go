package canon_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/operators/canon"
)

// Copies of a tree whose nodes are coloured by what hangs below them, colours in any order and with another edge
// now and then, get the order that the search on the matrix gives.
func TestCopiesOfTreesAreOrderedAsBySearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	for range 3000 {
		classes := 2 + rng.IntN(5)
		parent, count := make([]int, classes), make([]int, classes)
		count[0] = 2 + rng.IntN(3)
		for c := 1; c < classes; c++ {
			parent[c] = rng.IntN(c)
			count[c] = count[parent[c]] * (1 + rng.IntN(2))
		}
		var class, number []int32 // by node: its class, and its number in that
		for c, n := range count {
			for i := range n {
				class, number = append(class, int32(c)), append(number, int32(i))
			}
		}
		n := len(class)
		if n > 24 {
			continue
		}
		name, color := rng.Perm(n), rng.Perm(classes)
		rows, codes, colors := make([]uint64, n), make([]uint16, n*n), make([]int32, n)
		join := func(u, v int) {
			u, v = name[u], name[v]
			rows[u], rows[v] = rows[u]|1<<v, rows[v]|1<<u
			codes[u*n+v], codes[v*n+u] = 1, 1
		}
		for v, c := range class {
			colors[name[v]] = int32(color[c])
			for u, d := range class {
				if c > 0 && int(d) == parent[c] && int(number[u]) == int(number[v])*count[d]/count[c] {
					join(u, v)
				}
			}
		}
		if u, v := rng.IntN(n), rng.IntN(n); u != v && rng.IntN(3) == 0 {
			join(u, v)
		}
		var a, b canon.Solver
		got, _ := a.Bits(rows, colors)
		if want, _ := b.Matrix(n, codes, colors); !slices.Equal(got, want) {
			t.Fatalf("rows %b, colours %v: %v, want %v", rows, colors, got, want)
		}
	}
}
