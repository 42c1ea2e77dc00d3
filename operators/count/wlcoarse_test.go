package count_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/count"
)

// coarseTexts is the definition of WL with Triangles and Rounded, with colours
// as texts that hold all they stand for.
func coarseTexts(g *graph.Graph, w count.WL) map[string]float64 {
	round := func(x int) int {
		if w.Rounded && x > 0 {
			return 1 << int(math.Log2(float64(x)))
		}
		return x
	}
	arc := func(u, v int32) bool { return g.Entry(u, v) >= 0 }
	pair := func(u, v int32) bool { return arc(u, v) || arc(v, u) }
	n := int32(g.N())
	found := map[string]float64{}
	colors := make([]string, n)
	for v := range n {
		out, in, triangles := 0, 0, 0
		for u := range n {
			if arc(v, u) {
				out++
			}
			if arc(u, v) {
				in++
			}
			for x := range u {
				if u != v && x != v && pair(u, v) && pair(v, x) && pair(u, x) {
					triangles++
				}
			}
		}
		colors[v] = fmt.Sprint(round(out), " ", round(in))
		if g.NodeCats+g.SparseCard > 0 {
			colors[v] += nodeText(g, v)
		}
		if w.Triangles {
			colors[v] += fmt.Sprint(" △", round(triangles))
		}
		found["0 "+colors[v]]++
	}
	for h := range w.Height {
		next := make([]string, n)
		for v := range n {
			around := map[string]int{}
			for u := range n {
				if i := g.Entry(v, u); i >= 0 {
					around[edgeText(g, int32(i))+"→"+colors[u]]++
				}
				if i := g.Entry(u, v); i >= 0 && g.Directed {
					around[edgeText(g, int32(i))+"←"+colors[u]]++
				}
			}
			var list []string
			for c, n := range around {
				list = append(list, fmt.Sprint(round(n), "·", c))
			}
			slices.Sort(list)
			next[v] = "(" + colors[v] + "|" + strings.Join(list, ",") + ")"
			found[fmt.Sprint(h+1, " ", next[v])]++
		}
		colors = next
	}
	return found
}

func TestWLWithTrianglesAndRounded(t *testing.T) {
	for i, k := range kindsOfGraphs {
		rng := rand.New(rand.NewPCG(uint64(i), 17))
		for _, w := range []count.WL{
			{Height: 1, Triangles: true}, {Height: 2, Rounded: true}, {Height: 1, Triangles: true, Rounded: true}, {Triangles: true},
		} {
			seen := classes{}
			for range 150 {
				g := random(rng, 7, k)
				seen.check(t, counted(t, g, w), coarseTexts(g, w))
			}
		}
	}
}
