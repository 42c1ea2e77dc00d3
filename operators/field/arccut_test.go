package field_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/field"
)

// directions makes arcs of the edges of g: each of them of one direction, of the
// other or of both, by lot and with the given chances of the three.
func directions(rng *rand.Rand, g *graph.Graph, forth, back, both int) *graph.Graph {
	var list []graph.Edge
	for _, e := range arcs(g) {
		if e.U > e.V {
			continue
		}
		x := rng.IntN(forth + back + both)
		if x < forth || x >= forth+back {
			list = append(list, e)
		}
		if x >= forth {
			list = append(list, graph.Edge{U: e.V, V: e.U})
		}
	}
	return build(g.N(), true, list)
}

// Beside the hubs of directed graphs the last level is not induced; the general
// way does, and is the reference.
func TestDirectedHubsChangeNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	var list []named
	for i := range race.Share(10) {
		list = append(list,
			named{"crowd", crowd(rng, 1+rng.IntN(12), 100+rng.IntN(300), rng.IntN(300))},
			named{"rmat", rmat(6+i%5, 200<<(i%5), uint64(i))},
			named{"dense", random(rng, 150, 100+rng.IntN(2500), false)},
			named{"leaves", crowd(rng, 2, 200, 3)},
		)
	}
	for i, c := range list {
		g := directions(rng, c.g, i%4, 1, (i/4)%3)
		if i%3 == 1 {
			g = withNodeAttributes(rng, g, 1, i%2)
		}
		if i%4 == 2 {
			g = withEdgeAttributes(rng, g, 1, 0)
		}
		for _, dir := range []field.Direction{field.Both, field.Out, field.In} {
			for _, k := range []int{2, 5, 10, 25, 64, 65} {
				roots := permutation(rng, g.N())[:min(g.N(), 8)]
				sameAsGeneralBy(t, fmt.Sprint(c.name, " ", i, " ", dir), g, dir, field.Normalizer{K: k, IgnoreAttributes: i%5 == 0}, roots)
			}
		}
	}
}

func TestDirectedHubsOfOneGraphChangeNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 64))
	plain := rmat(12, 25_000, 3)
	for i, g := range []*graph.Graph{directions(rng, plain, 1, 1, 1), directions(rng, plain, 1, 0, 0)} {
		for _, k := range []int{3, 10, 30} {
			sameAsGeneral(t, fmt.Sprint("rmat ", i), g, field.Normalizer{K: k}, permutation(rng, g.N())[:30])
		}
	}
}
