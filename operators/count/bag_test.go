package count_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/operators/count"
)

// Entries ascend, whatever the ids are: hashes, small numbers, or all of the same
// highest bits.
func TestBagEntriesAscend(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var bag count.Bag
	for _, n := range []int{0, 1, 7, 8, 9, 64, 1000, 20000, 3} {
		for _, mask := range []uint64{^uint64(0), 0xff, 0xffff << 40, 1 << 63} {
			bag.Reset()
			want := map[uint64]float64{}
			for range n {
				id := rng.Uint64() & mask
				want[id]++
				bag.Add(id, 1)
			}
			for range 2 { // and again, when more was added
				got := bag.Entries()
				if len(got) != len(want) || !slices.IsSortedFunc(got, func(a, b count.Entry) int { return cmp.Compare(a.ID, b.ID) }) {
					t.Fatalf("n=%d, mask %#x: %d entries, want %d, ascending", n, mask, len(got), len(want))
				}
				for _, e := range got {
					if e.Count != want[e.ID] {
						t.Fatalf("n=%d, mask %#x: %#x has the count %v, want %v", n, mask, e.ID, e.Count, want[e.ID])
					}
				}
				want[mask]++
				bag.Add(mask, 1)
			}
		}
	}
}
