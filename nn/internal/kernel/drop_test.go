package kernel

import (
	"fmt"
	"slices"
	"testing"
)

func TestDrop(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		r := newRand()
		for _, n := range append(lengths, 1000) {
			for _, limit := range []uint16{0, 1, 1000, 0x7fff, 0x8000, 0xffff} {
				name := fmt.Sprintf("n=%d, limit=%d", n, limit)
				x, y, draws := random(r, n), newGuarded(n), make([]uint16, n)
				want := make([]float32, n)
				for i := range draws {
					if draws[i] = uint16(r.Uint32()); i%3 == 0 {
						draws[i] = limit - uint16(i%2) // at the limit, and just below
					}
					if draws[i] >= limit {
						want[i] = 3 * x[i]
					}
				}
				Drop(y.x, x, draws, limit, 3)
				if !slices.Equal(y.x, want) {
					t.Fatalf("%s: %v, want %v", name, y.x, want)
				}
				y.check(t, name, all)
				if Drop(x, x, draws, limit, 3); !slices.Equal(x, want) {
					t.Fatalf("%s in place: %v, want %v", name, x, want)
				}
			}
		}
	})
	x := make([]float32, 4)
	mustPanic(t, "Drop", func() { Drop(x, x, make([]uint16, 3), 1, 1) })
	mustPanic(t, "Drop", func() { Drop(x[:3], x, make([]uint16, 4), 1, 1) })
}

func BenchmarkDrop(b *testing.B) {
	r := newRand()
	x, y, draws := random(r, 4096), make([]float32, 4096), make([]uint16, 4096)
	for i := range draws {
		draws[i] = uint16(r.Uint32())
	}
	benchValues(b, "n=4096", len(x), func() { Drop(y, x, draws, 1<<15, 2) })
}
