package operators

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources/generate"
)

// A field is the nodes nearest to its end, and a label what breadth-first search from both ends says.
func TestPairLabels(t *testing.T) {
	const k = 6
	g, err := generate.ErdosRenyi(40, 50, 7)
	if err != nil {
		t.Fatal(err)
	}
	l := &pairLabeler{k: k}
	r := rand.New(rand.NewPCG(5, 5))
	for range 50 {
		members := slices.Repeat([]int32{-1}, 2*k)
		members[0], members[k] = r.Int32N(40), r.Int32N(40)
		cats := make([]int32, 2*k*3)
		l.label(g, members, cats)
		for end := range 2 { // the nodes nearest to an end
			var all, got []int32
			for v := range int32(40) {
				if d := hopsBetween(g, members[end*k], v); d < otherHops {
					all = append(all, d)
				}
			}
			slices.Sort(all)
			for _, v := range members[end*k : (end+1)*k] {
				if v >= 0 {
					got = append(got, hopsBetween(g, members[end*k], v))
				}
			}
			if !slices.Equal(got, all[:min(k, len(all))]) {
				t.Errorf("members at distances %v, want %v", got, all[:min(k, len(all))])
			}
		}
		for i, v := range members {
			want := []int32{-1, -1, -1}
			if v >= 0 {
				end := i / k
				a, b := hopsBetween(g, members[end*k], v), hopsBetween(g, members[(1-end)*k], v)
				degree := int32(0)
				for 2<<degree <= g.Degree(v) && degree < degreeSizes-1 {
					degree++
				}
				between := min(a, ownHops-1)*otherHops + min(b, otherHops-1)
				want = []int32{0, between, between*degreeSizes + degree}
			}
			if got := cats[3*i : 3*i+3]; !slices.Equal(got, want) {
				t.Fatalf("member %d of %v: %v, want %v", i, members, got, want)
			}
		}
	}
}

// hopsBetween is 1000 where there is no way.
func hopsBetween(g *graph.Graph, from, to int32) int32 {
	d := make([]int32, g.N())
	for i := range d {
		d[i] = 1000
	}
	d[from] = 0
	for range g.N() {
		for u := range int32(g.N()) {
			for _, v := range g.Adj(u) {
				d[v] = min(d[v], d[u]+1)
			}
		}
	}
	return d[to]
}
