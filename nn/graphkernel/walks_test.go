package graphkernel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomLabelled is a graph of up to most nodes.
func randomLabelled(rng *rand.Rand, most int, nodes, edges, directed bool) LabelledGraph {
	n := rng.IntN(most + 1)
	g := LabelledGraph{Offsets: make([]int32, n+1), Directed: directed}
	label := make([]uint64, n*n) // 1 + that of an edge
	p := rng.Float64()
	for v := range n {
		for u := range v {
			if rng.Float64() < p {
				label[v*n+u] = 1 + rng.Uint64N(2)
				if label[u*n+v] = label[v*n+u]; directed && rng.IntN(2) == 0 {
					label[u*n+v] = 0
				}
			}
		}
	}
	for v := range n {
		for u := range n {
			if l := label[v*n+u]; l > 0 {
				g.Neighbors = append(g.Neighbors, int32(u))
				if edges {
					g.Edges = append(g.Edges, l<<60)
				}
			}
		}
		g.Offsets[v+1] = int32(len(g.Neighbors))
		if nodes {
			g.Nodes = append(g.Nodes, rng.Uint64N(3)<<40)
		}
	}
	if edges && g.Edges == nil {
		g.Edges = []uint64{}
	}
	return g
}

// productGraph is the matrix of the product graph, in full.
func productGraph(a, b LabelledGraph) [][]float64 {
	var pairs [][2]int
	for i := range a.N() {
		for j := range b.N() {
			if a.Nodes == nil || a.Nodes[i] == b.Nodes[j] {
				pairs = append(pairs, [2]int{i, j})
			}
		}
	}
	entry := func(g LabelledGraph, v, u int) (label uint64, ok bool) {
		for e := g.Offsets[v]; e < g.Offsets[v+1]; e++ {
			if int(g.Neighbors[e]) == u {
				if g.Edges != nil {
					label = g.Edges[e]
				}
				return label, true
			}
		}
		return 0, false
	}
	m := make([][]float64, len(pairs))
	for x, p := range pairs {
		m[x] = make([]float64, len(pairs))
		for y, q := range pairs {
			l, ok := entry(a, p[0], q[0])
			k, ok2 := entry(b, p[1], q[1])
			if ok && ok2 && l == k {
				m[x][y] = 1
			}
		}
	}
	return m
}

// sumOfInverse is Σ (I − decay·m)⁻¹, by elimination.
func sumOfInverse(m [][]float64, decay float64) float64 {
	n := len(m)
	a := make([][]float64, n)
	for i := range a {
		a[i] = make([]float64, n+1)
		a[i][n] = 1
		for j, x := range m[i] {
			a[i][j] = -decay * x
		}
		a[i][i]++
	}
	for i := range n {
		best := i
		for k := i; k < n; k++ {
			if math.Abs(a[k][i]) > math.Abs(a[best][i]) {
				best = k
			}
		}
		a[i], a[best] = a[best], a[i]
		for k := i + 1; k < n; k++ {
			f := a[k][i] / a[i][i]
			for j := i; j <= n; j++ {
				a[k][j] -= f * a[i][j]
			}
		}
	}
	x, sum := make([]float64, n), 0.0
	for i := n - 1; i >= 0; i-- {
		x[i] = a[i][n]
		for j := i + 1; j < n; j++ {
			x[i] -= a[i][j] * x[j]
		}
		x[i] /= a[i][i]
		sum += x[i]
	}
	return sum
}

// largest is the largest eigenvalue, by powers of I + m.
func largest(m [][]float64) float64 {
	v, at := make([]float64, len(m)), 0.0
	for i := range v {
		v[i] = 1
	}
	for range 1000 {
		w, top := make([]float64, len(m)), 0.0
		for i := range m {
			w[i] = v[i]
			for j, x := range m[i] {
				w[i] += x * v[j]
			}
			top = max(top, w[i])
		}
		for i := range w {
			w[i] /= top
		}
		v, at = w, top
	}
	return at - 1
}

func TestWalksAreTheInverse(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	ctx := context.Background()
	ended, endless := 0, 0
	for round := range 160 {
		nodes, edges, directed := round&1 != 0, round&2 != 0, round&4 != 0
		a, b := randomLabelled(rng, 7, nodes, edges, directed), randomLabelled(rng, 6, nodes, edges, directed)
		w := Walks{Decay: math.Pow(10, -1.6*rng.Float64())}
		m := productGraph(a, b)
		edge := 0.0
		if len(m) > 0 && round%4 == 0 { // slow: only now and then
			edge = w.Decay * largest(m)
		}
		got, err := compareWalks(ctx, w, a, b)
		if err != nil && !errors.Is(err, ErrDiverges) {
			t.Fatal(err)
		}
		if edge > 1.01 && err == nil || edge > 0 && edge < 0.95 && err != nil {
			t.Fatalf("decay times eigenvalue is %v: %v, %v", edge, got, err)
		}
		if err != nil {
			endless++
			continue
		}
		ended++
		want := sumOfInverse(m, w.Decay)
		if math.Abs(got-want) > 1e-6*want {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	if ended < 40 || endless < 8 {
		t.Fatalf("%d sums end and %d do not: the test shows little", ended, endless)
	}
}

// A Gram matrix of walks is symmetric, positive semi-definite, the same at any
// number of workers, and what Compare says.
func TestWalksGram(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 54))
	ctx := context.Background()
	for kind := range 8 {
		var graphs []LabelledGraph
		for range 25 {
			graphs = append(graphs, randomLabelled(rng, 8, kind&1 != 0, kind&2 != 0, kind&4 != 0))
		}
		w := Walks{Decay: 0.01}
		g, err := w.Gram(ctx, graphs)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Check(); err != nil {
			t.Fatal(err)
		}
		semidefinite(t, g)
		w.Workers = 3
		again, err := w.Gram(ctx, graphs)
		if err != nil || !slices.Equal(again.K, g.K) {
			t.Fatalf("3 workers give another matrix, %v", err)
		}
		for i := range graphs[:5] {
			for j := range graphs {
				x, err := compareWalks(ctx, w, graphs[i], graphs[j])
				if err != nil {
					t.Fatal(err)
				}
				if math.Abs(x-g.K[i*g.N+j]) > 1e-6*(1+x) {
					t.Fatalf("graphs %d and %d: %v alone, %v in Gram", i, j, x, g.K[i*g.N+j])
				}
			}
		}
	}
}

// compareWalks compares two graphs without each with itself, as Gram does.
func compareWalks(ctx context.Context, w Walks, a, b LabelledGraph) (x float64, err error) {
	sorted, err := w.prepare(ctx, []LabelledGraph{a, b})
	if err != nil {
		return 0, err
	}
	err = w.share(ctx, 1, func(s *walkSolver, _ int) (err error) {
		x, err = s.solve(ctx, &sorted[0], &sorted[1])
		return w.blame(err, 0, 1)
	})
	return x, err
}

// semidefinite looks for a vector with x·K·x < 0 by factoring K, with a little on
// its diagonal.
func semidefinite(t *testing.T, g *Gram) {
	t.Helper()
	n, a := g.N, slices.Clone(g.K)
	top := 0.0
	for i := range n {
		top = max(top, a[i*n+i])
	}
	for i := range n {
		a[i*n+i] += 1e-9 * (1 + top)
	}
	for i := range n {
		if !(a[i*n+i] > 0) {
			t.Fatalf("the matrix is not positive semi-definite: %v at row %d", a[i*n+i], i)
		}
		for k := i + 1; k < n; k++ {
			f := a[k*n+i] / a[i*n+i]
			for j := i; j < n; j++ {
				a[k*n+j] -= f * a[i*n+j]
			}
		}
	}
}

func TestWalksErrors(t *testing.T) {
	ctx := context.Background()
	pair := LabelledGraph{Offsets: []int32{0, 1, 2}, Neighbors: []int32{1, 0}}
	for want, c := range map[string]struct {
		w Walks
		g []LabelledGraph
	}{
		"graphkernel: walks: Decay is -1, want a positive number":                                                                {Walks{Decay: -1}, nil},
		"graphkernel: walks: Tolerance is 1, want 0 to less than 1":                                                              {Walks{Tolerance: 1}, nil},
		"graphkernel: walks: Rounds is -1, want 0 or more":                                                                       {Walks{Rounds: -1}, nil},
		"graphkernel: walks: graph 1: a neighbour is 7, want 0 to 0":                                                             {Walks{}, []LabelledGraph{pair, {Offsets: []int32{0, 1}, Neighbors: []int32{7}}}},
		"graphkernel: walks: graph 0: 1 labels of 2 nodes":                                                                       {Walks{}, []LabelledGraph{{Offsets: []int32{0, 1, 2}, Neighbors: []int32{1, 0}, Nodes: []uint64{1}}}},
		"graphkernel: walks: graph 1 is not of the kind of those before, directed, with labels of nodes or with labels of edges": {Walks{}, []LabelledGraph{pair, {Directed: true}}},
		"graphkernel: walks: graphs 0 and 0: the sum over walks diverges at a decay of 1; take a smaller one":                    {Walks{Decay: 1}, []LabelledGraph{pair}},
		"graphkernel: walks: graphs 1 and 1: the sum over walks diverges at a decay of 1.5; take a smaller one":                  {Walks{Decay: 1.5}, []LabelledGraph{{}, pair}},
		"graphkernel: walks: graphs 0 and 0: the sum over walks diverges at a decay of 0.9999999999; take a smaller one ":        {Walks{Decay: 0.9999999999}, []LabelledGraph{{Offsets: []int32{0, 1, 2}, Neighbors: []int32{1, 0}, Directed: true}}},
	} {
		if _, err := c.w.Gram(ctx, c.g); err == nil || err.Error() != strings.TrimSpace(want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	// Graphs that have no walk in common, in one list or in two, the first of which
	// may have nothing that tells.
	kinds := []LabelledGraph{
		pair, {Offsets: pair.Offsets, Neighbors: pair.Neighbors, Directed: true},
		{Offsets: pair.Offsets, Neighbors: pair.Neighbors, Edges: []uint64{0, 0}}, {Offsets: pair.Offsets, Neighbors: pair.Neighbors, Nodes: []uint64{0, 0}},
	}
	for i, a := range kinds {
		for j, b := range kinds {
			_, err := compareWalks(ctx, Walks{}, a, b)
			_, gram := Walks{}.Gram(ctx, []LabelledGraph{{Directed: a.Directed}, a, b})
			if (err == nil) != (i == j) || (gram == nil) != (i == j) {
				t.Errorf("kinds %d and %d: %v, %v", i, j, err, gram)
			}
		}
	}
	for _, g := range []LabelledGraph{
		{Offsets: []int32{0, 1, 1}, Neighbors: []int32{1}},
		{Offsets: []int32{0, 2, 3}, Neighbors: []int32{1, 1, 0}},
		{Offsets: pair.Offsets, Neighbors: pair.Neighbors, Edges: []uint64{1, 2}},
	} {
		if _, err := (Walks{}).Gram(ctx, []LabelledGraph{g}); err == nil || !strings.Contains(err.Error(), "graph 0 is undirected, and an edge is in the row of one end alone") {
			t.Errorf("%v of %v", err, g)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	one := LabelledGraph{Offsets: []int32{0, 1, 1}, Neighbors: []int32{1}} // that no arc reaches
	for _, graphs := range [][]LabelledGraph{{pair}, {pair, one}} {
		if _, err := (Walks{}).Gram(ended, graphs); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if g, err := (Walks{}).Gram(ctx, nil); err != nil || g.N != 0 {
		t.Error(g, err)
	}
}

// Arcs may repeat; each label of each is there and back as often.
func TestWalksSymmetric(t *testing.T) {
	type arc struct{ from, to, label int32 }
	rng := rand.New(rand.NewPCG(59, 60))
	seen := map[bool]int{}
	for range 2000 {
		n := 1 + rng.IntN(4)
		rows := make([][]arc, n)
		for range rng.IntN(5) {
			a := arc{int32(rng.IntN(n)), int32(rng.IntN(n)), int32(rng.IntN(2))}
			rows[a.from] = append(rows[a.from], a)
			if rng.IntN(8) > 0 {
				b := arc{a.to, a.from, a.label}
				if rng.IntN(8) == 0 {
					b.label = int32(rng.IntN(2))
				}
				rows[b.from] = append(rows[b.from], b)
			}
		}
		g, times := walkGraph{n: n, off: []int32{0}}, map[arc]int{}
		for _, row := range rows {
			for _, a := range row {
				g.nbr, g.types = append(g.nbr, a.to), append(g.types, a.label)
				times[a]++
				times[arc{a.to, a.from, a.label}]--
			}
			g.off = append(g.off, int32(len(g.nbr)))
		}
		want := true
		for _, d := range times {
			want = want && d == 0
		}
		seen[want]++
		if got := g.symmetric(); got != want {
			t.Fatalf("%v of %v, want %v", got, rows, want)
		}
	}
	if min(seen[true], seen[false]) < 200 {
		t.Fatal("the test shows little:", seen)
	}
}

// molecules are graphs of about the sizes, degrees and labels of NCI1: trees of 30
// nodes with a few rings, three quarters of the nodes of one label.
func molecules(rng *rand.Rand, n int) []LabelledGraph {
	graphs := make([]LabelledGraph, n)
	for i := range graphs {
		size := 20 + rng.IntN(20)
		adjacent := make([][]int32, size)
		join := func(u, v int) {
			if u != v && !slices.Contains(adjacent[u], int32(v)) && len(adjacent[u]) < 4 && len(adjacent[v]) < 4 {
				adjacent[u], adjacent[v] = append(adjacent[u], int32(v)), append(adjacent[v], int32(u))
			}
		}
		for v := 1; v < size; v++ {
			join(v, max(0, v-1-rng.IntN(3)))
		}
		for range 3 {
			u := rng.IntN(size)
			join(u, min(size-1, u+5))
		}
		g := LabelledGraph{Offsets: []int32{0}}
		for v := range size {
			slices.Sort(adjacent[v])
			g.Neighbors = append(g.Neighbors, adjacent[v]...)
			g.Offsets = append(g.Offsets, int32(len(g.Neighbors)))
			label := uint64(0)
			if rng.IntN(4) == 0 {
				label = 1 + uint64(rng.IntN(6)*rng.IntN(6)/6)
			}
			g.Nodes = append(g.Nodes, label)
		}
		graphs[i] = g
	}
	return graphs
}

// Pairs of molecules a second on one core.
func BenchmarkWalks(b *testing.B) {
	graphs := molecules(rand.New(rand.NewPCG(57, 58)), 40)
	for _, decay := range []float64{1e-6, 1e-3, 1e-1} {
		b.Run(fmt.Sprintf("decay %g", decay), func(b *testing.B) {
			for b.Loop() {
				if _, err := (Walks{Decay: decay}).Gram(context.Background(), graphs); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*len(graphs)*(len(graphs)+1)/2)/b.Elapsed().Seconds(), "pairs/s")
		})
	}
}
