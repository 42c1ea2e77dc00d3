package count_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/count"
)

// nodeText and edgeText write labels in full.
func nodeText(g *graph.Graph, v int32) string {
	if g.NodeCats+g.SparseCard == 0 {
		in := 0
		for _, u := range g.Neighbors {
			if u == v {
				in++
			}
		}
		if !g.Directed {
			return fmt.Sprint("degree ", g.Degree(v))
		}
		return fmt.Sprint("degrees ", g.Degree(v), " ", in)
	}
	return fmt.Sprint(g.NodeCat[int(v)*g.NodeCats:int(v+1)*g.NodeCats], g.Sparse(v))
}

func edgeText(g *graph.Graph, i int32) string {
	return fmt.Sprint(g.EdgeCat[int(i)*g.EdgeCats : int(i+1)*g.EdgeCats])
}

// wlTexts is the definition, with colours as texts that hold all they stand for.
func wlTexts(g *graph.Graph, height int) map[string]float64 {
	found := map[string]float64{}
	colors := make([]string, g.N())
	for v := range colors {
		colors[v] = nodeText(g, int32(v))
		found["0 "+colors[v]]++
	}
	for h := range height {
		next := make([]string, g.N())
		for v := range int32(g.N()) {
			var out, in []string
			for u := range int32(g.N()) {
				if i := g.Entry(v, u); i >= 0 {
					out = append(out, edgeText(g, int32(i))+"→"+colors[u])
				}
				if i := g.Entry(u, v); i >= 0 && g.Directed {
					in = append(in, edgeText(g, int32(i))+"←"+colors[u])
				}
			}
			slices.Sort(out)
			slices.Sort(in)
			next[v] = "(" + colors[v] + "|" + strings.Join(out, ",") + "|" + strings.Join(in, ",") + ")"
			found[fmt.Sprint(h+1, " ", next[v])]++
		}
		colors = next
	}
	return found
}

func TestWLIsItsDefinition(t *testing.T) {
	for i, k := range kindsOfGraphs {
		rng := rand.New(rand.NewPCG(uint64(i), 11))
		for _, height := range []int{0, 1, 3} {
			seen := classes{}
			for range often(40) {
				g := random(rng, 6, k)
				seen.check(t, counted(t, g, count.WL{Height: height}), wlTexts(g, height))
			}
		}
	}
}

// Every graph of up to six nodes, 2¹⁵ of them and the smaller ones: as many
// different bags of colours as there are different texts.
func TestWLOfEveryGraph(t *testing.T) {
	seen := classes{}
	for n := range 6 {
		for mask := range uint(1) << (n * (n - 1) / 2) {
			g := undirected(n, mask)
			seen.check(t, counted(t, g, count.WL{Height: 2}), wlTexts(g, 2))
		}
	}
}

func TestLabels(t *testing.T) {
	for i, k := range kindsOfGraphs {
		rng := rand.New(rand.NewPCG(uint64(i), 12))
		seen := classes{}
		for range often(20) {
			g := random(rng, 6, k)
			seen.check(t, counted(t, g, count.Labels{}), wlTexts(g, 0))
			if m := counted(t, g, count.Size{}); g.M() > 0 && len(m) != 2 || g.N() > 0 && len(m) == 0 {
				t.Fatal(m)
			}
		}
	}
}

// Coarse colours are those of the graph without the other attributes, and Labels.Each counts what a loop over the attributes does;
// graphs whose nodes have one attribute have neither.
func TestCoarse(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 17))
	some := 0
	for i := range 90 {
		g := findGraph(rng, i%2 == 0)
		less := *g
		less.NodeCats, less.NodeCat, less.EdgeCats, less.EdgeCat, less.SparseCard = 1, nil, 0, nil, 0
		truth := map[string]float64{}
		for v := range int32(g.N()) {
			for c := range g.NodeCats {
				x, first := g.NodeCat[int(v)*g.NodeCats+c], g.NodeCat[int(v)*g.NodeCats]
				if truth[fmt.Sprint("node ", c, x)]++; c > 0 {
					truth[fmt.Sprint("both ", first, c, x)]++
				} else {
					less.NodeCat = append(less.NodeCat, x)
				}
			}
			for e := g.Offsets[v]; e < g.Offsets[v+1] && g.EdgeCats > 0; e++ {
				if g.Directed || g.Neighbors[e] > v {
					truth[fmt.Sprint("edge ", g.EdgeCat[e])]++
				}
			}
		}
		labels, each := counted(t, g, count.Labels{}), counted(t, g, count.Labels{Each: true})
		one, two := counted(t, g, count.WL{Height: 3, Coarse: 1}), counted(t, g, count.WL{Height: 3, Coarse: 2})
		if g.NodeCats < 2 {
			if len(one)+len(two) > 0 || len(each) != len(labels) {
				t.Errorf("%d and %d colours, %d labels of %d", len(one), len(two), len(each), len(labels))
			}
			continue
		}
		some++
		for id := range labels {
			delete(each, id)
		}
		for _, c := range []struct {
			got, want []float64
		}{
			{sortedValues(each), sortedValues(truth)}, {sortedValues(two), sortedValues(counted(t, &less, count.WL{Height: 3}))},
		} {
			if !slices.Equal(c.got, c.want) {
				t.Errorf("%v, want %v", c.got, c.want)
			}
		}
		less.EdgeCats, less.EdgeCat = g.EdgeCats, g.EdgeCat
		if got, want := sortedValues(one), sortedValues(counted(t, &less, count.WL{Height: 3})); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if some < 20 {
		t.Errorf("%d graphs have several attributes", some)
	}
}
