package generate

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
)

func must(t testing.TB, g *graph.Graph, err error) *graph.Graph {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	return g
}

// degrees returns how many nodes have each degree.
func degrees(g *graph.Graph) map[int]int {
	d := map[int]int{}
	for v := range int32(g.N()) {
		d[g.Degree(v)]++
	}
	return d
}

func triangles(g *graph.Graph) (n int) {
	for u := range int32(g.N()) {
		for _, v := range g.Adj(u) {
			for _, w := range g.Adj(v) {
				if u < v && v < w && g.Entry(u, w) >= 0 {
					n++
				}
			}
		}
	}
	return n
}

func connected(g *graph.Graph) bool {
	if g.N() == 0 {
		return true
	}
	seen, queue := make([]bool, g.N()), []int32{0}
	seen[0] = true
	for i := 0; i < len(queue); i++ {
		for _, v := range g.Adj(queue[i]) {
			if !seen[v] {
				seen[v] = true
				queue = append(queue, v)
			}
		}
	}
	return len(queue) == g.N()
}

func TestRegular(t *testing.T) {
	type want struct{ n, m, triangles int }
	for _, c := range []struct {
		name    string
		g       func() (*graph.Graph, error)
		want    want
		degrees map[int]int
	}{
		{"grid 1×1", func() (*graph.Graph, error) { return Grid(1, 1) }, want{1, 0, 0}, map[int]int{0: 1}},
		{"grid 1×4", func() (*graph.Graph, error) { return Grid(1, 4) }, want{4, 3, 0}, map[int]int{1: 2, 2: 2}},
		// Every one of the six squares becomes a K4, with four triangles.
		{"grid 3×4", func() (*graph.Graph, error) { return Grid(3, 4) }, want{12, 29, 24}, map[int]int{3: 4, 5: 6, 8: 2}},
		{"torus 3×3", func() (*graph.Graph, error) { return Torus(3, 3) }, want{9, 18, 6}, map[int]int{4: 9}},
		{"torus 4×6", func() (*graph.Graph, error) { return Torus(4, 6) }, want{24, 48, 0}, map[int]int{4: 24}},
		{"ring of 3 edges", func() (*graph.Graph, error) { return RingOfCliques(3, 2) }, want{6, 6, 0}, map[int]int{2: 6}},
		{"ring of 4 K5", func() (*graph.Graph, error) { return RingOfCliques(4, 5) }, want{20, 44, 40}, map[int]int{4: 12, 5: 8}},
	} {
		g, err := c.g()
		g = must(t, g, err)
		if got := (want{g.N(), g.M(), triangles(g)}); got != c.want {
			t.Errorf("%s: nodes, edges, triangles %v, want %v", c.name, got, c.want)
		}
		if got := degrees(g); fmt.Sprint(got) != fmt.Sprint(c.degrees) {
			t.Errorf("%s: degrees %v, want %v", c.name, got, c.degrees)
		}
		if !connected(g) {
			t.Errorf("%s is not connected", c.name)
		}
	}
}

func TestGridIsRowMajor(t *testing.T) {
	g, err := Grid(3, 3)
	g = must(t, g, err)
	if got, want := g.Adj(4), []int32{0, 1, 2, 3, 5, 6, 7, 8}; !slices.Equal(got, want) {
		t.Errorf("the centre has neighbours %v, want %v", got, want)
	}
	if got, want := g.Adj(2), []int32{1, 4, 5}; !slices.Equal(got, want) {
		t.Errorf("the corner has neighbours %v, want %v", got, want)
	}
}

func TestRandomRegular(t *testing.T) {
	for _, c := range []struct{ n, d int }{{0, 0}, {1, 0}, {2, 1}, {4, 3}, {5, 4}, {6, 3}, {20, 4}, {50, 7}, {51, 4}} {
		for seed := range uint64(20) {
			g, err := RandomRegular(c.n, c.d, seed)
			g = must(t, g, err)
			if g.N() != c.n || c.n > 0 && degrees(g)[c.d] != c.n {
				t.Errorf("n=%d d=%d: %d nodes, degrees %v", c.n, c.d, g.N(), degrees(g))
			}
		}
	}
	// A random 4-regular graph has (d-1)³/6 = 4.5 triangles on average; the ring
	// it starts from has 200.
	total := 0
	for seed := range uint64(100) {
		g, err := RandomRegular(200, 4, seed)
		total += triangles(must(t, g, err))
	}
	if total < 350 || total > 550 {
		t.Errorf("%d triangles in 100 graphs, want about 450", total)
	}
}

func TestErdosRenyi(t *testing.T) {
	for _, c := range []struct{ n, m int }{{0, 0}, {1, 0}, {5, 10}, {5, 9}, {10, 22}, {10, 23}, {100, 200}} {
		for seed := range uint64(10) {
			g, err := ErdosRenyi(c.n, c.m, seed)
			if g = must(t, g, err); g.N() != c.n || g.M() != c.m {
				t.Errorf("%d nodes, %d edges, want %d, %d", g.N(), g.M(), c.n, c.m)
			}
		}
	}
	// All six graphs of 4 nodes and 5 edges are equally likely; both ways of
	// drawing are used, for 1 edge and for 5.
	for _, m := range []int{1, 5} {
		count := map[string]int{}
		for seed := range uint64(3000) {
			g, err := ErdosRenyi(4, m, seed)
			count[fmt.Sprint(must(t, g, err).Neighbors, g.Offsets)]++
		}
		for g, n := range count {
			if len(count) != 6 || n < 400 || n > 600 {
				t.Errorf("m=%d: %s came %d times of 3000, want about 500 of 6 graphs", m, g, n)
			}
		}
	}
}

func TestPreferentialAttachment(t *testing.T) {
	for _, c := range []struct{ n, m int }{{2, 1}, {5, 4}, {50, 1}, {60, 2}, {100, 3}} {
		g, err := PreferentialAttachment(c.n, c.m, 7)
		g = must(t, g, err)
		if want := c.m*(c.m+1)/2 + (c.n-c.m-1)*c.m; g.N() != c.n || g.M() != want || !connected(g) {
			t.Errorf("n=%d m=%d: %d nodes, %d edges, want %d", c.n, c.m, g.N(), g.M(), want)
		}
		for v := range int32(g.N()) {
			if g.Degree(v) < c.m {
				t.Errorf("n=%d m=%d: node %d has degree %d", c.n, c.m, v, g.Degree(v))
			}
		}
	}
	// Degrees follow P(d) = 2m(m+1)/(d(d+1)(d+2)): half of the nodes have the
	// smallest, m = 2, and the largest grows with √n.
	g, err := PreferentialAttachment(4000, 2, 1)
	g = must(t, g, err)
	largest := 0
	for d := range degrees(g) {
		largest = max(largest, d)
	}
	if two := degrees(g)[2]; two < 1850 || two > 2150 || largest < 60 {
		t.Errorf("%d of 4000 nodes have degree 2, want about 2000; the largest is %d", two, largest)
	}
}

func TestSmallWorld(t *testing.T) {
	ring, err := SmallWorld(40, 4, 0, 1)
	ring = must(t, ring, err)
	if degrees(ring)[4] != 40 || triangles(ring) != 40 {
		t.Errorf("ring: degrees %v, %d triangles", degrees(ring), triangles(ring))
	}
	for _, chance := range []float64{0.1, 0.5, 1} {
		g, err := SmallWorld(400, 6, chance, 1)
		g = must(t, g, err)
		moved := 0
		for u := range int32(400) {
			for _, v := range g.Adj(u) {
				if d := (v - u + 400) % 400; u < v && min(d, 400-d) > 3 {
					moved++
				}
			}
		}
		if want := int(chance * 1200); g.M() != 1200 || moved < want*8/10 || moved > want*12/10 {
			t.Errorf("chance %g: %d edges, %d moved, want 1200 and about %d", chance, g.M(), moved, want)
		}
	}
}

func TestDisturb(t *testing.T) {
	torus, err := Torus(5, 8)
	torus = must(t, torus, err)
	for _, c := range []struct {
		fraction float64
		m, kept  int
	}{{0, 80, 80}, {0.1, 80, 72}, {0.1, 85, 72}, {0, 60, 60}, {1, 80, 0}} {
		g, err := Disturb(torus, c.fraction, c.m, 3)
		g = must(t, g, err)
		kept := 0
		for u := range int32(40) {
			for _, v := range g.Adj(u) {
				if u < v && torus.Entry(u, v) >= 0 {
					kept++
				}
			}
		}
		// A removed edge may come back by chance.
		if g.M() != c.m || kept < c.kept || kept > c.kept+15 {
			t.Errorf("%+v: %d edges, %d of the torus", c, g.M(), kept)
		}
	}
}

func TestBadSizes(t *testing.T) {
	all := func(g *graph.Graph, err error) error { return err }
	g, err := Torus(3, 3)
	g = must(t, g, err)
	directed := *g
	directed.Directed = true
	for i, err := range []error{
		all(Grid(0, 3)), all(Grid(-1, -1)), all(Grid(1<<20, 1<<20)), all(Torus(2, 5)),
		all(RingOfCliques(2, 5)), all(RingOfCliques(3, 1)), all(RingOfCliques(1<<30, 1<<30)),
		all(RMAT(-1, 3, 0)), all(RMAT(29, 3, 0)), all(RMAT(4, -1, 0)), all(RMAT(4, 1<<30, 0)),
		all(RandomRegular(5, 3, 0)), all(RandomRegular(4, 4, 0)), all(RandomRegular(-1, 0, 0)), all(RandomRegular(4, -2, 0)),
		all(ErdosRenyi(4, 7, 0)), all(ErdosRenyi(-1, 0, 0)), all(ErdosRenyi(4, -1, 0)),
		all(PreferentialAttachment(3, 3, 0)), all(PreferentialAttachment(3, 0, 0)),
		all(SmallWorld(5, 3, 0, 0)), all(SmallWorld(4, 4, 0, 0)), all(SmallWorld(9, 4, 1.5, 0)), all(SmallWorld(9, 4, -1, 0)),
		all(Disturb(g, -1, 5, 0)), all(Disturb(g, 0, 100, 0)), all(Disturb(&directed, 0, 5, 0)),
	} {
		if err == nil {
			t.Errorf("case %d: no error", i)
		}
	}
}

// The graphs of a seed are part of the results that are published with it, so
// they must not change from one version to the next.
func TestSameBytes(t *testing.T) {
	h := sha256.New()
	for seed := range uint64(5) {
		for _, f := range []func() (*graph.Graph, error){
			func() (*graph.Graph, error) { return RandomRegular(30, 4, seed) },
			func() (*graph.Graph, error) { return ErdosRenyi(30, 60, seed) },
			func() (*graph.Graph, error) { return ErdosRenyi(10, 40, seed) },
			func() (*graph.Graph, error) { return PreferentialAttachment(30, 2, seed) },
			func() (*graph.Graph, error) { return SmallWorld(30, 4, 0.2, seed) },
		} {
			g, err := f()
			g = must(t, g, err)
			for _, x := range [][]int32{g.Offsets, g.Neighbors} {
				if err := binary.Write(h, binary.LittleEndian, x); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	const want = "072330a462003f21"
	if got := hex.EncodeToString(h.Sum(nil)[:8]); got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

func ExampleGrid() {
	g, err := Grid(3, 4) // an image of 3 × 4 pixels
	if err != nil {
		panic(err)
	}
	fmt.Println(g.N(), "pixels,", g.M(), "pairs of neighbours")
	fmt.Println("pixel 5 touches", g.Adj(5))
	// Output:
	// 12 pixels, 29 pairs of neighbours
	// pixel 5 touches [0 1 2 4 6 8 9 10]
}

func ExampleRingOfCliques() {
	g, err := RingOfCliques(3, 3)
	if err != nil {
		panic(err)
	}
	for v := range int32(g.N()) {
		fmt.Println(v, g.Adj(v))
	}
	// Output:
	// 0 [1 2 8]
	// 1 [0 2]
	// 2 [0 1 3]
	// 3 [2 4 5]
	// 4 [3 5]
	// 5 [3 4 6]
	// 6 [5 7 8]
	// 7 [6 8]
	// 8 [0 6 7]
}
