package canon_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/operators/canon"
)

// Cells with types gives the order of Matrix, whatever hangs together.
func TestCellsOfTypesIsMatrix(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	var a, b canon.Solver
	for trial := range 20000 {
		n := 1 + rng.IntN(12)
		types, dense, classes := 1+rng.IntN(3), rng.Float64(), 1+rng.IntN(n)
		rows, codes, colors := make([]uint64, n), make([]uint16, n*n), make([]int32, n)
		for u := range n {
			colors[u] = int32(rng.IntN(classes))
			for v := range u {
				if rng.Float64() < dense {
					code := uint16(1 + rng.IntN(types))
					if trial%2 == 0 { // types that follow from the classes, as in a refined graph
						code = uint16(1 + (colors[u]+colors[v])%2)
					}
					rows[u], rows[v] = rows[u]|1<<v, rows[v]|1<<u
					codes[u*n+v], codes[v*n+u] = code, code
				}
			}
		}
		cells := make([]uint64, classes)
		for v, c := range colors {
			cells[c] |= 1 << v
		}
		cells = slices.DeleteFunc(cells, func(c uint64) bool { return c == 0 })
		want, q := a.Matrix(n, codes, colors)
		if q != canon.Exact {
			t.Fatalf("trial %d: Matrix is %v", trial, q)
		}
		var edges canon.Types
		for i, code := range codes {
			edges[i/n<<6|i%n] = uint8(code - 1) // 255 if there is none
		}
		got, q := b.Cells(rows, &edges, cells)
		if q != canon.Exact || !slices.Equal(got, want) {
			t.Fatalf("trial %d: %v, %v, want %v: codes %v, colours %v", trial, got, q, want, codes, colors)
		}
	}
}
