package count

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
)

// The neighbours of a root are counted, however many they are. A farther ring of more nodes than are
// looked at ends the words of a root, to which it does not matter how many more there are: neither their
// number nor which were met first.
func TestAroundBesideHub(t *testing.T) {
	for _, leaves := range []int32{MostAround - 1, MostAround, 50 * MostAround} {
		var star []graph.Edge
		for v := range leaves {
			star = append(star, graph.Edge{U: 0, V: v + 1})
		}
		g, err := graph.New(int(leaves)+1, false, star)
		if err != nil {
			t.Fatal(err)
		}
		g.SparseCard = 1
		for v := range leaves + 2 {
			g.SparseOffsets = append(g.SparseOffsets, v)
		}
		g.NodeSparse = make([]int32, leaves+1)
		w := aroundCounter{Around: Around{Hops: 3}}
		for _, root := range []int32{0, 1, leaves} {
			var bag Bag
			if err := w.Count(Input{Graph: g, Roots: []int32{root}}, &bag); err != nil {
				t.Fatal(err)
			}
			want := map[uint64]float64{uint64(kindAround.Add(0).Add(0)): 1} // the root
			ring := uint64(1)
			if root > 0 {
				want[uint64(kindAround.Add(ring).Add(0))] = 1 // the hub
				ring++
			}
			if leaves < MostAround || root == 0 {
				want[uint64(kindAround.Add(ring).Add(0))] = float64(leaves + 1 - int32(ring))
			}
			got := map[uint64]float64{}
			for _, e := range bag.Entries() {
				got[e.ID] = e.Count
			}
			if !maps.Equal(got, want) || root > 0 && len(w.around) > MostAround || slices.Contains(w.seen, true) {
				t.Errorf("%d leaves, root %d: words %v around %d nodes, want %v around %d at most", leaves, root, got, len(w.around), want, MostAround)
			}
		}
	}
}

// Words are the sparse attributes of the nodes up to two hops away, by the hops.
func TestAround(t *testing.T) {
	g := attributed(randomGraph(t, 60, 110))
	for root := range int32(60) {
		want := map[uint64]float64{}
		for v := range int32(60) {
			d := distance(g, root, v)
			if d > 2 {
				continue
			}
			for _, word := range g.Sparse(v) {
				want[uint64(kindAround.Add(uint64(d)).Add(uint64(word)))]++
			}
		}
		ids, counts, err := Of(Input{Graph: g, Roots: []int32{root}}, Around{Hops: 2})
		if err != nil {
			t.Fatal(err)
		}
		got := map[uint64]float64{}
		for i, id := range ids {
			got[id] = counts[i]
		}
		if !maps.Equal(got, want) {
			t.Errorf("root %d: words %v, want %v", root, got, want)
		}
	}
}

// With Beliefs the words of the root and its neighbours say how many of the others around are expected to be of each class, with what the
// node is: sums of sums over all pairs of edges. The beliefs of the root itself, and of what is two edges from all neighbours, are in none.
func TestAroundBeliefs(t *testing.T) {
	g := randomGraph(t, 60, 400)
	rng := rand.New(rand.NewPCG(21, 22))
	g.NodeCats, g.NodeAttrs = 1, 3
	for range 60 {
		g.NodeCat = append(g.NodeCat, rng.Int32N(3))
		g.NodeAttr = append(g.NodeAttr, rng.Float32(), float32(rng.IntN(256))/255, float32(rng.IntN(256))/255)
	}
	around := Around{Hops: 2, Beliefs: 2, Bins: Bins{Nodes: []Cuts{{0.3, 0.7}, Sixteenths(), Sixteenths()}}}
	texts := map[string]bool{}
	for root := range int32(60) {
		want := map[string]float64{}
		for _, v := range append([]int32{root}, g.Adj(root)...) {
			where := "of the root: "
			if v != root {
				where = "at distance 1: "
			}
			kind := "below 0.3"
			if x := g.NodeAttr[3*v]; x >= 0.3 && x < 0.7 {
				kind = "in [0.3, 0.7)"
			} else if x >= 0.7 {
				kind = "from 0.7"
			}
			for c := range int32(2) {
				sum := 0.
				for u := range int32(60) {
					if u != root && g.Entry(v, u) >= 0 {
						sum += float64(g.NodeAttr[3*u+1+c])
					}
				}
				about := math.Floor(2*sum+0.5) / 2
				for step := 8.; step <= sum; step *= math.Pow(2, 0.25) {
					about = step
				}
				if r := 2*sum - math.Floor(2*sum); math.Abs(r-0.5) < 1e-5 || about > 8 && math.Abs(sum/about-1) < 1e-5 {
					t.Fatal("a sum is at the edge of an interval: take another seed")
				}
				expected := fmt.Sprintf("about %.3g of number %d around", about, c+1)
				for _, of := range []string{"", fmt.Sprintf("degree %s, ", doublingText(uint64(bits.Len(uint(g.Degree(v)))))), fmt.Sprintf("%d, ", g.NodeCat[v]), "number 0 " + kind + ", "} {
					want[where+of+expected]++
				}
			}
		}
		got, ids := map[string]float64{}, map[string]uint64{}
		if _, err := Find(around, Input{Graph: g, Roots: []int32{root}}, Dictionary{}, func(o Occurrence) {
			if text := o.Text(); strings.HasSuffix(text, " around") {
				if id, ok := ids[text]; ok && id != o.ID {
					t.Errorf("%s: two ids", text)
				}
				got[text], ids[text], texts[text] = got[text]+o.Count, o.ID, true
			}
		}); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got, want) {
			t.Errorf("root %d: words %v, want %v", root, got, want)
		}
		words, counts, err := Of(Input{Graph: g, Roots: []int32{root}}, around)
		if err != nil {
			t.Fatal(err)
		}
		for text, id := range ids {
			if at := slices.Index(words, id); at < 0 || counts[at] != want[text] {
				t.Errorf("root %d, %s: not counted as found", root, text)
			}
		}
		other := *g // with other beliefs of the root
		other.NodeAttr = slices.Clone(g.NodeAttr)
		copy(other.NodeAttr[3*root+1:], []float32{0.5, 0.5})
		at := slices.DeleteFunc(slices.Clone(words), func(id uint64) bool { return !slices.Contains(slices.Collect(maps.Values(ids)), id) })
		again, _, err := Of(Input{Graph: &other, Roots: []int32{root}}, around)
		if err != nil || slices.ContainsFunc(at, func(id uint64) bool { return !slices.Contains(again, id) }) {
			t.Errorf("root %d: its own beliefs are in words of what is around: %v", root, err)
		}
	}
	if len(texts) < 50 {
		t.Errorf("%d different words", len(texts))
	}
}

// With Ways each word is there once more, with the attributes of the two edges that begin a shortest way to the node.
// Many attributes are told apart up to the last.
func TestAroundWays(t *testing.T) {
	g := attributed(randomGraph(t, 60, 140))
	rng := rand.New(rand.NewPCG(11, 12))
	g.EdgeCats, g.EdgeCat = 2, make([]int32, 2*len(g.Neighbors))
	for u := range int32(60) {
		for i, v := range g.Adj(u) {
			e, back := int(g.Offsets[u])+i, g.Entry(v, u)
			if x := rng.Int32N(5); u < v {
				g.EdgeCat[2*e], g.EdgeCat[2*e+1] = []int32{0, 1, 2, 15, 90}[x], rng.Int32N(5)
				copy(g.EdgeCat[2*back:2*back+2], g.EdgeCat[2*e:])
			}
		}
	}
	var far [60][60]int32
	for u := range int32(60) {
		for v := range int32(60) {
			far[u][v] = distance(g, u, v)
		}
	}
	for root := range int32(60) {
		want := map[uint64]float64{}
		for v := range int32(60) {
			d := far[root][v]
			if d < 1 || d > 3 {
				continue
			}
			ways := uint64(0)
			for i, u := range g.Adj(root) {
				first := 4 * min(g.EdgeCat[2*(int(g.Offsets[root])+i)], 15)
				if d == 1 && u == v {
					ways |= 1 << (first + 3)
				}
				for j, w := range g.Adj(u) {
					if d > 1 && far[root][w] == 2 && far[w][v] == d-2 {
						ways |= 1 << (first + min(g.EdgeCat[2*(int(g.Offsets[u])+j)+1], 3))
					}
				}
			}
			for _, word := range g.Sparse(v) {
				want[uint64(kindAround.Add(uint64(d)).Add(ways).Add(1<<32).Add(uint64(word)))]++
			}
		}
		plain, _, err := Of(Input{Graph: g, Roots: []int32{root}}, Around{Hops: 3})
		if err != nil {
			t.Fatal(err)
		}
		ids, counts, err := Of(Input{Graph: g, Roots: []int32{root}}, Around{Hops: 3, Ways: true})
		if err != nil {
			t.Fatal(err)
		}
		got := map[uint64]float64{}
		for i, id := range ids {
			if !slices.Contains(plain, id) {
				got[id] = counts[i]
			}
		}
		if !maps.Equal(got, want) || len(ids) != len(plain)+len(got) {
			t.Errorf("root %d: words %v, want %v", root, got, want)
		}
	}
}

// What cannot be counted around is an error.
// Numbers are counted in intervals between quantiles of some nodes, with those of neighbours and edges, and Find finds the same, by the
// names of the attributes. A missing number has a word of its own, and a constant none.
func TestAroundNumbers(t *testing.T) {
	g, err := graph.New(4, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 3}})
	if err != nil {
		t.Fatal(err)
	}
	none := float32(math.NaN())
	g.NodeAttrs, g.NodeAttr = 3, []float32{0, -1, 7, 1, 0.5, 7, 0, none, 7, 1, 100, 7} // a flag, a number, a constant
	g.EdgeAttrs, g.EdgeAttr = 1, []float32{5, 5, 1, 1, 2, 2}
	bins := BinsOf(g, slices.Repeat([]int32{0, 1, 2}, leastIn)) // an interval has enough values
	if want := (Bins{Nodes: []Cuts{{0.5}, {-0.2}, nil}, Edges: []Cuts{{2, 4}}}); !reflect.DeepEqual(bins, want) {
		t.Fatalf("bins %v, want %v", bins, want)
	}
	around := Around{Hops: 1, Bins: bins}
	name := func(name string) func(int) (string, float64) {
		return func(c int) (string, float64) { return fmt.Sprint(name, c), 0 }
	}
	for root, want := range [][]string{
		1: {
			"of the root: degree 2-3", "of the root: x0 from 0.5", "of the root: x1 from -0.2", "of the root: edge y0 from 4", "of the root: edge y0 below 2",
			"at distance 1: degree 1", "at distance 1: degree 2-3", "at distance 1: x0 below 0.5", "at distance 1: x1 below -0.2", "at distance 1: x1 missing",
		},
		3: {
			"of the root: degree 1", "of the root: x0 from 0.5", "of the root: x1 from -0.2", "of the root: edge y0 in [2, 4)",
			"at distance 1: degree 2-3", "at distance 1: x0 below 0.5", "at distance 1: x1 missing",
		},
	} {
		if want == nil {
			continue
		}
		in := Input{Graph: g, Roots: []int32{int32(root)}}
		ids, counts, err := Of(in, around)
		if err != nil {
			t.Fatal(err)
		}
		got, found := map[uint64]float64{}, map[uint64]float64{}
		for i, id := range ids {
			got[id] = float64(counts[i])
		}
		var texts []string
		if _, err := Find(around, in, Dictionary{NodeNumber: name("x"), EdgeNumber: name("y")}, func(o Occurrence) {
			if found[o.ID] == 0 {
				texts = append(texts, o.Text())
			}
			found[o.ID] += o.Count
		}); err != nil || !maps.Equal(found, got) {
			t.Errorf("found %v, %v, want %v", found, err, got)
		}
		slices.Sort(texts)
		slices.Sort(want)
		if !slices.Equal(texts, want) {
			t.Errorf("root %d has %q, want %q", root, texts, want)
		}
	}
	if _, _, err := Of(Input{Graph: g, Roots: []int32{1}}, Around{Bins: Bins{Nodes: []Cuts{{1}}}}); err == nil {
		t.Error("cuts of one of three channels were taken")
	}
}

// Quantiles divide any values into intervals of about equally many, wherever equal values permit it, and the words of a
// number are those of the intervals that hold it.
func TestQuantiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		values := make([]float32, r.IntN(2000))
		for i := range values {
			switch x := r.NormFloat64(); r.IntN(3) {
			case 0:
				values[i] = float32(math.Exp(3 * x))
			case 1:
				values[i] = float32(math.Round(x))
			default:
				values[i] = float32(x) * 1e-3
			}
		}
		cuts := Quantiles(slices.Clone(values))
		if err := cuts.Check(); err != nil || len(cuts) > MostCuts {
			t.Fatalf("%d cuts, %v", len(cuts), err)
		}
		shuffled := slices.Clone(values)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if !slices.Equal(Quantiles(append(shuffled, float32(math.NaN()))), cuts) {
			t.Fatal("the cuts depend on the order")
		}
		in, most := make([]int, len(cuts)+1), map[float32]int{}
		for _, x := range values {
			at, seen := 0, 0
			for at < len(cuts) && cuts[at] <= x {
				at++
			}
			in[at]++
			most[x]++
			cuts.Words(7, x, 0, func(id Hash, low, high float64) {
				if !(low <= float64(x) && float64(x) < high) {
					t.Fatalf("%v is in [%v, %v)", x, low, high)
				}
				seen++
			})
			if seen > 3 || seen == 0 && len(cuts) > 0 {
				t.Fatalf("%v has %d words of %d cuts", x, seen, len(cuts))
			}
		}
		// An interval ends at a quantile, or within the equal values there.
		apart, equal := len(values)/(min(MostCuts, len(values)/leastIn)+1)+1, 0
		for _, n := range most {
			equal = max(equal, n)
		}
		bound := apart + 2*equal
		if n := slices.Max(in); n > bound {
			t.Errorf("an interval has %d of %d values, want at most %d", n, len(values), bound)
		}
	}
}

func TestRootErrors(t *testing.T) {
	g := randomGraph(t, 5, 6)
	directed := &graph.Graph{Directed: true, Offsets: []int32{0, 0}}
	for want, c := range map[string]struct {
		in Input
		of Counter
	}{
		"around(hops=3): there are no roots":            {Input{Graph: g}, Around{}},
		"Hops is -1":                                    {Input{Graph: g}, Around{Hops: -1}},
		"and Beliefs is 7":                              {Input{Graph: g, Roots: []int32{0}}, Around{Beliefs: 7}},
		"pair: there are no roots":                      {Input{Graph: g}, Pair{}},
		"the roots are [1], want two nodes":             {Input{Graph: g, Roots: []int32{1}}, Pair{}},
		"the roots are [1 -1], want two nodes":          {Input{Graph: g, Roots: []int32{1, -1}}, Pair{}},
		"the graph is directed, want an undirected one": {Input{Graph: directed, Roots: []int32{0, 0}}, Pair{}},
	} {
		if _, _, err := Of(c.in, c.of); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}
