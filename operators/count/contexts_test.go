package count_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/count"
)

func contextsOf(t *testing.T, c count.Counter, g *graph.Graph) (lists [][]uint64) {
	t.Helper()
	fork, err := count.Prepare(c)
	if err == nil {
		err = fork.(count.Contexter).Contexts(count.Input{Graph: g}, func(ids []uint64) {
			ids = slices.Clone(ids)
			slices.Sort(ids)
			lists = append(lists, ids)
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(lists, slices.Compare[[]uint64])
	return lists
}

// What stands together is what is counted, the same in any numbering.
func TestContexts(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	for i := range often(36) {
		g := random(rng, 9, kindsOfGraphs[i%len(kindsOfGraphs)])
		perm := make([]int32, g.N())
		for v, p := range rng.Perm(g.N()) {
			perm[v] = int32(p)
		}
		for _, c := range []count.Counter{
			count.WL{Height: 2}, count.Paths{},
		} {
			counts, lists := counted(t, g, c), contextsOf(t, c, g)
			if moved := contextsOf(t, c, g.Renumber(perm)); fmt.Sprint(moved) != fmt.Sprint(lists) {
				t.Fatalf("%v: %v, renumbered %v", c, lists, moved)
			}
			if len(counts) > 0 && len(lists) == 0 {
				t.Fatalf("%v: there are no contexts of %d things", c, len(counts))
			}
			for _, ids := range lists {
				for _, id := range ids {
					if counts[id] == 0 {
						t.Fatalf("%v: %#x stands with others, and was not counted", c, id)
					}
				}
			}
		}
		rounds, each := contextsOf(t, count.WL{Height: 2}, g), counted(t, g, count.WL{Height: 2})
		for _, ids := range rounds {
			for _, id := range ids {
				each[id]--
			}
		}
		for id, left := range each {
			if left != 0 {
				t.Fatalf("%#x stands together %v times too few", id, left)
			}
		}
	}
}
