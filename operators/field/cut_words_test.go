package field

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

// Planes hold the numbers of neighbours, whichever way they are made.
func TestPlanes(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	for range 300 {
		rows := make([]uint64, 1+rng.IntN(maxWords))
		density := rng.Float64()
		for i := range rows {
			for j := range i {
				if rng.Float64() < density {
					rows[i] |= 1 << j
					rows[j] |= 1 << i
				}
			}
		}
		base, nodes := rng.IntN(len(rows)), rng.Uint64()
		nodes &= 1<<len(rows) - 1 // all ones for 64 rows
		from := (1<<len(rows) - 1) &^ (uint64(1)<<base - 1)
		var set, added planes
		set.set(rows, base, nodes)
		for m := nodes; m != 0; m &= m - 1 {
			added.add(rows[bits.TrailingZeros64(m)] & from)
		}
		for j := base; j < len(rows); j++ {
			for what, p := range map[string]planes{"set": set, "added": added} {
				got := 0
				for i := range p.n {
					got |= int(p.bit[i]>>j&1) << i
				}
				if want := bits.OnesCount64(rows[j] & nodes); got != want {
					t.Fatalf("%s: node %d has %d neighbours, want %d", what, j, got, want)
				}
			}
		}
	}
}
