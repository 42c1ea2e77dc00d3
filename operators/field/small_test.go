package field

import (
	"slices"
	"testing"

	"github.com/sanflow/sanflow/operators/internal/refine"
)

// Two problems have the same key only if they are the same: for all graphs of up
// to six nodes that stand as a breadth-first search leaves them.
func TestSmallKeysDiffer(t *testing.T) {
	seen := map[uint64]bool{}
	for n := 1; n <= 6; n++ {
		for edges := range uint64(1) << (n * (n - 1) / 2) {
			rows := make([]uint64, n)
			for i, at := 1, 0; i < n; i++ {
				for j := range i {
					bit := edges >> at & 1
					rows[i] |= bit << j
					rows[j] |= bit << i
					at++
				}
			}
			dist, connected := levelsOf(rows)
			if !connected || !slices.IsSorted(dist) {
				continue
			}
			for _, k := range []int{1, 7, 64} {
				for kind := smallWhole; kind <= smallRank; kind++ {
					key := smallKey(kind, k, refine.Starts(dist), rows)
					if key == 0 || seen[key] {
						t.Fatalf("key %x of %b, k=%d, kind %d, stands for another problem", key, rows, k, kind)
					}
					seen[key] = true
				}
			}
		}
	}
	if len(seen) < 1000 {
		t.Errorf("only %d keys", len(seen))
	}
}

// A complete graph of eleven nodes fills the word, and rows that contradict the
// levels have no key.
func TestSmallKeysFit(t *testing.T) {
	rows, dist := make([]uint64, smallNodes), make([]uint8, smallNodes)
	for i := range rows {
		rows[i] = (1<<smallNodes - 1) &^ (1 << i)
		dist[i] = uint8(min(i, 1))
	}
	starts := refine.Starts(dist)
	key := smallKey(smallWhole, maxWords, starts, rows)
	if key>>63 != 1 {
		t.Errorf("key %x does not begin with its mark", key)
	}
	rows[5], rows[7] = rows[5]&^(1<<7), rows[7]&^(1<<5)
	if smallKey(smallWhole, maxWords, starts, rows) == key {
		t.Error("an edge makes no difference")
	}
	rows[0] &^= 1 << 3
	if smallKey(smallWhole, maxWords, starts, rows) != 0 {
		t.Error("a node of the first level that is no neighbour of the root has a key")
	}
}

// levelsOf returns the distances from node 0, and whether there are all.
func levelsOf(rows []uint64) (dist []uint8, connected bool) {
	dist = make([]uint8, len(rows))
	seen, level := uint64(1), uint64(1)
	for d := uint8(1); level != 0; d++ {
		next := uint64(0)
		for v, row := range rows {
			if level>>v&1 == 1 {
				next |= row
			}
		}
		level = next &^ seen
		seen |= level
		for v := range rows {
			if level>>v&1 == 1 {
				dist[v] = d
			}
		}
	}
	return dist, seen == 1<<len(rows)-1
}
