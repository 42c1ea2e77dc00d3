package count_test

import (
	"math/rand/v2"
	"testing"

	"github.com/sanflow/sanflow/operators/count"
)

// The standard counters can be written and read, count every kind of graph, and
// do not depend on the order of nodes.
func TestStandard(t *testing.T) {
	for _, c := range count.Standard() {
		text, err := count.Format(c)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := count.Parse(text); err != nil || back.String() != c.String() {
			t.Fatalf("%s: %v, %v", text, back, err)
		}
	}
	for i, k := range kindsOfGraphs {
		rng := rand.New(rand.NewPCG(uint64(i), 23))
		for range 20 {
			g := random(rng, 12, k)
			perm := make([]int32, g.N())
			for i, v := range rng.Perm(g.N()) {
				perm[i] = int32(v)
			}
			a, b := counted(t, g, count.Standard()...), counted(t, g.Renumber(perm), count.Standard()...)
			if len(a) != len(b) {
				t.Fatalf("%d and %d different things", len(a), len(b))
			}
			for id, n := range a {
				if b[id] != n {
					t.Fatalf("%#x: %v and %v", id, n, b[id])
				}
			}
		}
	}
}
