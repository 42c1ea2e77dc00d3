package operators_test

import (
	"slices"
	"testing"

	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators"
)

// TestShuffleUniform counts the orders of four rows under many seeds.
func TestShuffleUniform(t *testing.T) {
	race.Skip(t)
	const seeds = 2400 // 100 for each of 4! orders
	counts := map[[4]int64]int{}
	for seed := range uint64(seeds) {
		ids, _ := play(t, numbered(4, 3), operators.Shuffle{Size: 4, Seed: seed})
		counts[[4]int64(ids)]++
	}
	chi := 0.0
	for _, n := range counts {
		chi += float64(n-100) * float64(n-100) / 100
	}
	// 23 degrees of freedom: one uniform generator in 10 000 exceeds 58.
	if len(counts) != 24 || chi > 58 {
		t.Errorf("%d orders of 24, χ² is %.1f", len(counts), chi)
	}
}

// TestShuffleBuffer: with fewer places than rows, no row leaves before it has
// come, all rows leave, and the order is that of the seed however the stream is
// cut.
func TestShuffleBuffer(t *testing.T) {
	const n, size = 500, 40
	var first []int64
	for _, rows := range []int{1, 3, 64, 1000} {
		for _, out := range []int{1, 17, 0} {
			ids, sizes := play(t, numbered(n, rows), operators.Shuffle{Size: size, Seed: 3, Rows: out})
			if first == nil {
				first = ids
			}
			if !slices.Equal(ids, first) {
				t.Errorf("cut into %d rows, out %d: another order", rows, out)
			}
			want := out
			if out == 0 {
				want = 64
			}
			for i, s := range sizes {
				if s != want && (i < len(sizes)-1 || s > want) {
					t.Errorf("records of %v rows, want %d", sizes, want)
				}
			}
		}
	}
	moved := 0
	for i, id := range first {
		if int(id) > i+size {
			t.Errorf("row %d leaves as number %d", id, i)
		}
		if int(id) != i {
			moved++
		}
	}
	if moved < n*9/10 {
		t.Errorf("only %d of %d rows have moved", moved, n)
	}
	sorted := slices.Clone(first)
	slices.Sort(sorted)
	if !slices.Equal(sorted, upTo(n)) {
		t.Error("rows are lost or doubled")
	}
	if other, _ := play(t, numbered(n, 64), operators.Shuffle{Size: size, Seed: 4}); slices.Equal(other, first) {
		t.Error("another seed gives the same order")
	}
}
