package field_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
)

// oracle is Algorithms 2 and 4 with the settled ambiguities, written down as
// plainly as possible: maps, recursion, all permutations. It returns nil where
// the cut parts nodes of equal rank and structure has to decide.
type oracle struct {
	g   *graph.Graph
	dir field.Direction
	k   int
	by  labeling.Labeling
}

func (o oracle) neighbours(u int32) []int32 {
	var out []int32
	for v := range int32(o.g.N()) {
		if o.g.Entry(u, v) >= 0 && o.dir != field.In || o.g.Entry(v, u) >= 0 && (o.dir != field.Out || !o.g.Directed) {
			out = append(out, v)
		}
	}
	return out
}

func (o oracle) field(root int32) []int32 {
	dist := map[int32]int{root: 0}
	hood, level := []int32{root}, []int32{root}
	for len(hood) < o.k && len(level) > 0 {
		var next []int32
		for _, u := range level {
			for _, v := range o.neighbours(u) {
				if _, seen := dist[v]; !seen {
					dist[v] = dist[u] + 1
					next = append(next, v)
				}
			}
		}
		slices.Sort(next)
		hood = append(hood, next...)
		level = next
	}
	rank := o.rank(hood, dist)
	if len(hood) > o.k {
		slices.SortStableFunc(hood, func(u, v int32) int { return rank[u] - rank[v] })
		if rank[hood[o.k-1]] == rank[hood[o.k]] {
			return nil
		}
		hood = hood[:o.k]
		slices.SortFunc(hood, func(u, v int32) int { return (dist[u]-dist[v])<<20 + int(u-v) })
		rank = o.rank(hood, dist)
	}
	members := o.canonical(hood, rank)
	for len(members) < o.k {
		members = append(members, -1)
	}
	return members
}

// rank computes ℓ on the induced graph and returns, for each node, how many
// nodes are ranked before it.
func (o oracle) rank(nodes []int32, dist map[int32]int) map[int32]int {
	var edges []graph.Edge
	d := make([]uint8, len(nodes))
	for i, u := range nodes {
		d[i] = uint8(dist[u])
		for j, v := range nodes {
			if o.g.Entry(u, v) >= 0 {
				edges = append(edges, graph.Edge{U: int32(i), V: int32(j)})
			}
		}
	}
	induced := build(len(nodes), o.g.Directed, edges)
	labels := make([]float64, len(nodes))
	if err := labeling.Compute(o.by, labeling.Input{Graph: induced, Dist: d}, labels); err != nil {
		panic(err)
	}
	rank := map[int32]int{}
	for i, u := range nodes {
		rank[u] = 0
		for j := range nodes {
			if d[j] < d[i] || d[j] == d[i] && labels[j] > labels[i] {
				rank[u]++
			}
		}
	}
	return rank
}

// canonical tries every order that respects rank, then attributes, and keeps the
// greatest matrix; the first one found is the smallest sequence of numbers.
func (o oracle) canonical(nodes []int32, rank map[int32]int) []int32 {
	g := o.g
	attributes := func(v int32) []float64 {
		var a []float64
		for c := range g.NodeCats {
			a = append(a, float64(g.NodeCat[int(v)*g.NodeCats+c]))
		}
		for c := range g.NodeAttrs {
			a = append(a, float64(g.NodeAttr[int(v)*g.NodeAttrs+c]))
		}
		return a
	}
	compare := func(u, v int32) int {
		if c := rank[u] - rank[v]; c != 0 {
			return c
		}
		return slices.Compare(attributes(u), attributes(v))
	}
	entry := func(u, v int32) []float64 {
		e := g.Entry(u, v)
		if e < 0 {
			return nil
		}
		a := []float64{1}
		for c := range g.EdgeCats {
			a = append(a, float64(g.EdgeCat[e*g.EdgeCats+c]))
		}
		for c := range g.EdgeAttrs {
			a = append(a, float64(g.EdgeAttr[e*g.EdgeAttrs+c]))
		}
		return a
	}
	cells := slices.Clone(nodes)
	slices.SortStableFunc(cells, compare)
	byID := slices.Sorted(slices.Values(nodes))
	var best, order []int32
	var bestMatrix [][]float64
	var walk func()
	walk = func() {
		if len(order) == len(nodes) {
			var m [][]float64
			for _, u := range order {
				for _, v := range order {
					m = append(m, entry(u, v))
				}
			}
			if best == nil || slices.CompareFunc(m, bestMatrix, slices.Compare) > 0 {
				best, bestMatrix = slices.Clone(order), m
			}
			return
		}
		for _, v := range byID {
			if compare(v, cells[len(order)]) == 0 && !slices.Contains(order, v) {
				order = append(order, v)
				walk()
				order = order[:len(order)-1]
			}
		}
	}
	walk()
	return best
}

func TestFieldsEqualTheOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	checked, skipped := 0, 0
	for i := range race.Share(400) {
		n := 1 + rng.IntN(14)
		g := random(rng, n, rng.IntN(2*n+1), i%3 == 2)
		if i%2 == 1 {
			g = withNodeAttributes(rng, g, i%3, 1)
		}
		if i%5 == 1 {
			g = withEdgeAttributes(rng, g, 1, i%2)
		}
		for _, by := range []labeling.Labeling{labeling.Degree, labeling.WL, labeling.Betweenness} {
			for _, k := range []int{1, 3, 6} {
				dir := field.Direction(i % 4 % 3)
				z := field.Normalizer{K: k, By: by}
				got := fields(t, g, dir, &z, nil)
				for v := range int32(n) {
					want := oracle{g, dir, k, by}.field(v)
					if want == nil {
						skipped++
						continue
					}
					checked++
					if !slices.Equal(got[v], want) {
						t.Fatalf("graph %d, %v, k=%d, %v: root %d gives %v, want %v", i, by, k, dir, v, got[v], want)
					}
				}
			}
		}
	}
	t.Logf("%d fields equal, %d left to structure", checked, skipped)
}

// The cut chooses among nodes of equal rank only.
func TestCutRespectsTheRanking(t *testing.T) {
	for _, c := range corpus() {
		for _, k := range []int{4, 9} {
			z := field.Normalizer{K: k, By: labeling.Degree}
			all := fields(t, c.g, field.Both, &z, nil)
			ix := field.NewIndex(c.g, field.Both)
			var a field.Assembler
			for v := range int32(c.g.N()) {
				hood, dist := a.Assemble(ix, v, k)
				d := map[int32]int{}
				for i, u := range hood {
					d[u] = int(dist[i])
				}
				rank := oracle{c.g, field.Both, k, labeling.Degree}.rank(hood, d)
				worst, best := -1, len(hood)
				for _, u := range hood {
					if slices.Contains(all[v], u) {
						worst = max(worst, rank[u])
					} else {
						best = min(best, rank[u])
					}
				}
				if worst > best {
					t.Errorf("%s, k=%d, root %d: kept rank %d and dropped %d", c.name, k, v, worst, best)
				}
			}
		}
	}
}

// Theorem 3: on an image, a grid with eight neighbours, the field of every
// inner pixel is one fixed permutation of the patch around it.
func TestTheorem3(t *testing.T) {
	for _, side := range []int{3, 5, 7} {
		t.Run(fmt.Sprintf("%d×%d", side, side), func(t *testing.T) {
			const rows, cols = 20, 23
			z := field.Normalizer{K: side * side}
			all := fields(t, grid(rows, cols, 8, false), field.Both, &z, nil)
			r := side / 2
			var first []int32
			for y := r; y < rows-r; y++ {
				for x := r; x < cols-r; x++ {
					root := int32(y*cols + x)
					var offsets []int32
					for _, v := range all[root] {
						offsets = append(offsets, v-root)
					}
					if first == nil {
						first = offsets
						sorted := slices.Sorted(slices.Values(offsets))
						if len(slices.Compact(sorted)) != side*side {
							t.Fatalf("not a patch: %v", offsets)
						}
						for _, o := range sorted {
							dy := (int(o) + r*cols + r) / cols
							dx := (int(o) + r*cols + r) % cols
							if dy >= side || dx >= side {
								t.Fatalf("%v lies outside the patch", o)
							}
						}
					}
					if !slices.Equal(offsets, first) {
						t.Fatalf("pixel (%d, %d) has %v, the first one %v", x, y, offsets, first)
					}
				}
			}
		})
	}
}
