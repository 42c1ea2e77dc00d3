package count_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/count"
)

// numbered returns a random graph with continuous attributes.
func numbered(rng *rand.Rand, channels int, labels bool) *graph.Graph {
	g := random(rng, 12, kindOfGraph{nodes: labels, directed: rng.IntN(3) == 0})
	g.NodeAttrs, g.EdgeAttrs = channels, 1
	for range g.N() * channels {
		g.NodeAttr = append(g.NodeAttr, float32(rng.NormFloat64()*math.Exp(4*rng.NormFloat64())))
	}
	for range g.Neighbors {
		g.EdgeAttr = append(g.EdgeAttr, float32(rng.IntN(3)))
	}
	return g
}

// byHand is what Attributes says it counts of the nodes, and of the edges if there are
// no nodes to ask, as texts; the numbers of the whole graph are left out.
func byHand(g *graph.Graph, attr []float32, channels, rows int, nodes bool) map[string]float64 {
	all := map[string]float64{}
	for c := range channels {
		var x []float64
		for i := range rows {
			x = append(x, float64(attr[i*channels+c]))
		}
		mean, most := 0.0, 0.0
		for _, v := range x {
			mean += v / float64(len(x))
			most = max(most, math.Abs(v))
		}
		variance := 0.0
		for _, v := range x {
			variance += (v - mean) * (v - mean) / float64(len(x))
		}
		spread := math.Sqrt(variance)
		if spread < most/(1<<20) {
			spread = most / 4
		}
		wide := 0.5 // of nothing but zeros, any will do
		if spread > 0 {
			wide = math.Exp2(math.Floor(math.Log2(spread)) + 1)
		}
		for step, w := range []float64{wide, wide / 2, wide / 4} {
			in := func(i int32) float64 { return math.Floor(x[i] / w) }
			for i := range int32(rows) {
				all[fmt.Sprint(c, w, in(i))]++
				if !nodes || step == 2 {
					continue
				}
				if g.NodeCats > 0 {
					all[fmt.Sprint(c, w, in(i), "label", g.NodeCat[int(i)*g.NodeCats:(int(i)+1)*g.NodeCats])]++
				}
				for _, u := range g.Adj(i) {
					pair := []float64{in(i), in(u)}
					if !g.Directed && in(u) > in(i) {
						continue
					}
					all[fmt.Sprint(c, w, "arc", pair)]++
				}
			}
		}
	}
	return all
}

// Attributes counts what it says, by a count that keeps texts.
func TestAttributesByHand(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for i := range often(200) {
		g := numbered(rng, 1+i%3, i%2 == 0)
		if g.N() == 0 {
			continue
		}
		var want []float64
		for _, x := range []map[string]float64{
			byHand(g, g.NodeAttr, g.NodeAttrs, g.N(), true), byHand(g, g.EdgeAttr, g.EdgeAttrs, len(g.Neighbors), false),
		} {
			want = append(want, sortedValues(x)...)
		}
		// Each number of the whole graph has eight ids, or one if it is 0.
		tiles := 0
		for _, x := range wholeGraph(g) {
			if tiles += 8; x == 0 {
				tiles -= 7
			}
		}
		for range tiles {
			want = append(want, 1)
		}
		slices.Sort(want)
		if got := sortedValues(counted(t, g, count.Attributes{})); !slices.Equal(got, want) {
			t.Fatalf("graph %d: counts %v, want %v", i, got, want)
		}
	}
}

// wholeGraph returns the numbers of each channel: mean, deviation, least, middle, most.
func wholeGraph(g *graph.Graph) (all []float64) {
	add := func(attr []float32, channels, rows int) {
		for c := range channels {
			var x []float64
			for i := range rows {
				x = append(x, float64(attr[i*channels+c]))
			}
			if len(x) == 0 {
				continue
			}
			slices.Sort(x)
			mean, variance := 0.0, 0.0
			for _, v := range x {
				mean += v / float64(len(x))
			}
			for _, v := range x {
				variance += (v - mean) * (v - mean) / float64(len(x))
			}
			all = append(all, mean, variance, x[0], x[len(x)/2], x[len(x)-1])
		}
	}
	add(g.NodeAttr, g.NodeAttrs, g.N())
	add(g.EdgeAttr, g.EdgeAttrs, len(g.Neighbors))
	return all
}

// Graphs whose values are twice as large are looked at alike: as many ids, counted as
// often, for there is no scale to be told.
func TestAttributesHaveNoScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for range often(50) {
		g := numbered(rng, 2, true)
		big := *g
		big.NodeAttr = nil
		for _, x := range g.NodeAttr {
			big.NodeAttr = append(big.NodeAttr, x*1024)
		}
		a, b := counted(t, g, count.Attributes{}), counted(t, &big, count.Attributes{})
		if !slices.Equal(sortedValues(a), sortedValues(b)) {
			t.Fatalf("%v, of 1024 times the values %v", a, b)
		}
	}
}

// Near graphs have much in common, and far ones little.
func TestAttributesNearness(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	base := undirected(6, 0b101101110101011)
	with := func(at func(v int) float64) map[uint64]float64 {
		g := *base
		g.NodeAttrs = 1
		for v := range g.N() {
			g.NodeAttr = append(g.NodeAttr, float32(at(v)))
		}
		return counted(t, &g, count.Attributes{})
	}
	common := func(a, b map[uint64]float64) (n int) {
		for id := range a {
			if _, ok := b[id]; ok {
				n++
			}
		}
		return n
	}
	near, far := 0, 0
	for range 200 {
		x := make([]float64, 6)
		for v := range x {
			x[v] = 10 * rng.NormFloat64()
		}
		a := with(func(v int) float64 { return x[v] })
		near += common(a, with(func(v int) float64 { return x[v] + 0.1*rng.NormFloat64() }))
		far += common(a, with(func(v int) float64 { return 10 * rng.NormFloat64() }))
	}
	if near < 2*far {
		t.Errorf("graphs of nearly the same values have %d ids in common, and any two %d", near, far)
	}
}

// Values that are no numbers have a word of their own, and spoil nothing.
func TestAttributesNotFinite(t *testing.T) {
	g := undirected(4, 0b111111)
	g.NodeAttrs = 1
	g.NodeAttr = []float32{1, float32(math.NaN()), float32(math.Inf(1)), 2}
	a := counted(t, g, count.Attributes{})
	g.NodeAttr[1], g.NodeAttr[2] = g.NodeAttr[2], g.NodeAttr[1]
	if b := counted(t, g, count.Attributes{}); len(a) < 20 || !reflect.DeepEqual(a, b) {
		t.Errorf("%v and %v", a, b)
	}
	g.NodeAttr = []float32{float32(math.NaN()), float32(math.NaN()), float32(math.NaN()), float32(math.NaN())}
	if len(counted(t, g, count.Attributes{})) == 0 {
		t.Error("nothing is counted where no value is a number")
	}
}

// Of many channels each has a say, and the cost does not grow past MostChannels.
func TestAttributesManyChannels(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	g := undirected(5, 0b1011011101)
	g.NodeAttrs = 3 * count.MostChannels
	for range g.N() * g.NodeAttrs {
		g.NodeAttr = append(g.NodeAttr, rng.Float32())
	}
	a := counted(t, g, count.Attributes{})
	for c := range g.NodeAttrs {
		h := *g
		h.NodeAttr = slices.Clone(g.NodeAttr)
		h.NodeAttr[c] += 1000
		if reflect.DeepEqual(a, counted(t, &h, count.Attributes{})) {
			t.Fatalf("channel %d has no say", c)
		}
	}
	one := *g
	one.NodeAttrs, one.NodeAttr = count.MostChannels, g.NodeAttr[:g.N()*count.MostChannels]
	if few := counted(t, &one, count.Attributes{}); len(a) > 2*len(few) {
		t.Errorf("%d ids of %d channels, %d of %d", len(a), g.NodeAttrs, len(few), one.NodeAttrs)
	}
}

// The ids of every version are these, by their sum modulo 2⁶⁴.
func TestAttributesGolden(t *testing.T) {
	g := &graph.Graph{Offsets: []int32{0, 1, 2}, Neighbors: []int32{1, 0}, NodeAttrs: 1, NodeAttr: []float32{0, 1.5}}
	ids := counted(t, g, count.Attributes{})
	sum := uint64(0)
	for id, n := range ids {
		sum += id * uint64(n)
	}
	if len(ids) != 41 || sum != 0xc7259ecb1f3072b9 {
		t.Errorf("%d ids with the sum %#x", len(ids), sum)
	}
}
