package field_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
)

// drawGraph draws a graph of the kinds that ties are made of: copies of one
// part, twins, leaves, long paths, nodes alone, edges given twice and loops,
// and attributes of all kinds, few values each.
func drawGraph(t *rapid.T) *graph.Graph {
	n := rapid.IntRange(1, 9).Draw(t, "nodes of a part")
	node := rapid.Int32Range(0, int32(n-1))
	edges := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) graph.Edge {
		return graph.Edge{U: node.Draw(t, "u"), V: node.Draw(t, "v")}
	}), 0, 2*n).Draw(t, "edges of a part")
	part, m := int32(n), len(edges)
	for range rapid.IntRange(0, 3).Draw(t, "copies") {
		for _, e := range edges[:m] {
			edges = append(edges, graph.Edge{U: e.U + int32(n), V: e.V + int32(n)})
		}
		if rapid.Bool().Draw(t, "tied to the first") {
			edges = append(edges, graph.Edge{U: 0, V: int32(n)})
		}
		n += int(part)
	}
	for range rapid.IntRange(0, 6).Draw(t, "more nodes") {
		u, v := rapid.Int32Range(0, int32(n-1)).Draw(t, "next to"), int32(n)
		n++
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0: // alone
		case 1:
			edges = append(edges, graph.Edge{U: u, V: v})
		case 2: // a path
			edges = append(edges, graph.Edge{U: u, V: v}, graph.Edge{U: v + 1, V: v}, graph.Edge{U: v + 1, V: v + 2})
			n += 2
		case 3: // a twin
			for _, e := range edges[:len(edges):len(edges)] {
				switch u {
				case e.U:
					edges = append(edges, graph.Edge{U: v, V: e.V})
				case e.V:
					edges = append(edges, graph.Edge{U: e.U, V: v})
				}
			}
		}
	}
	g := build(n, rapid.Bool().Draw(t, "directed"), edges)
	drawAttributes(t, g)
	return g
}

var values = []float32{0, float32(math.Copysign(0, -1)), 1, -1, float32(math.Inf(1)), float32(math.NaN())}

func drawAttributes(t *rapid.T, g *graph.Graph) {
	few := rapid.Int32Range(0, 2)
	value := rapid.SampledFrom(values[:rapid.SampledFrom([]int{1, 2, 4, len(values)}).Draw(t, "values")])
	g.NodeCats, g.NodeAttrs = rapid.IntRange(0, 2).Draw(t, "node cats"), rapid.IntRange(0, 2).Draw(t, "node attrs")
	g.EdgeCats, g.EdgeAttrs = rapid.IntRange(0, 1).Draw(t, "edge cats"), rapid.IntRange(0, 1).Draw(t, "edge attrs")
	for range g.N() * g.NodeCats {
		g.NodeCat = append(g.NodeCat, few.Draw(t, "node cat"))
	}
	for range g.N() * g.NodeAttrs {
		g.NodeAttr = append(g.NodeAttr, value.Draw(t, "node attr"))
	}
	if rapid.Bool().Draw(t, "sparse") {
		g.SparseCard, g.SparseOffsets = 3, []int32{0}
		for range g.N() {
			for i := range int32(3) {
				if rapid.Bool().Draw(t, "index") {
					g.NodeSparse = append(g.NodeSparse, i)
				}
			}
			g.SparseOffsets = append(g.SparseOffsets, int32(len(g.NodeSparse)))
		}
	}
	g.EdgeCat = make([]int32, len(g.Neighbors)*g.EdgeCats)
	g.EdgeAttr = make([]float32, len(g.Neighbors)*g.EdgeAttrs)
	for u := range int32(g.N()) {
		for _, v := range g.Adj(u) {
			e, same := g.Entry(u, v), -1
			if !g.Directed && v < u {
				same = g.Entry(v, u)
			}
			if g.EdgeCats > 0 {
				if same >= 0 {
					g.EdgeCat[e] = g.EdgeCat[same]
				} else {
					g.EdgeCat[e] = few.Draw(t, "edge cat")
				}
			}
			if g.EdgeAttrs > 0 {
				if same >= 0 {
					g.EdgeAttr[e] = g.EdgeAttr[same]
				} else {
					g.EdgeAttr[e] = value.Draw(t, "edge attr")
				}
			}
		}
	}
}

// bytesOf writes all tensors of a field as they would be exported.
func bytesOf(g *graph.Graph, members []int32) []byte {
	x := tensorsOf(g, members)
	var b bytes.Buffer
	for _, part := range []any{x.real, x.nodeCats, x.nodeAttrs, x.adjacency, x.edgeCats, x.edgeAttrs} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			panic(err)
		}
	}
	for _, v := range members {
		if v >= 0 && g.SparseCard > 0 {
			fmt.Fprint(&b, g.Sparse(v))
		}
	}
	return b.Bytes()
}

// The promise, on random graphs.
func TestRenumberingChangesNoByte(t *testing.T) {
	labelings := []labeling.Labeling{
		nil, labeling.WeisfeilerLehman{Rounds: 1}, labeling.WeisfeilerLehman{Attributes: true}, labeling.Degree,
		labeling.Betweenness, labeling.PageRank, labeling.Closeness, labeling.Harmonic, labeling.Core,
		labeling.Clustering, labeling.Eigenvector, labeling.Canonical,
	}
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		z := field.Normalizer{
			K:       rapid.SampledFrom([]int{1, 2, 3, 4, 5, 8, 13}).Draw(t, "k"),
			By:      rapid.SampledFrom(labelings).Draw(t, "labeling"),
			Uniform: rapid.Bool().Draw(t, "uniform"),
		}
		if rapid.Bool().Draw(t, "cache") {
			z.Cache = field.NewCache(1 << 20)
		}
		dir := rapid.SampledFrom([]field.Direction{field.Both, field.Out, field.In}).Draw(t, "direction")
		var global labeling.Labeling
		if z.By != nil && z.By != labeling.Canonical && rapid.Bool().Draw(t, "global") {
			global = z.By // Canonical tells automorphic nodes apart
		}
		var perm []int32
		for _, p := range rapid.Permutation(sequence(g.N())).Draw(t, "perm") {
			perm = append(perm, int32(p))
		}
		h := g.Renumber(perm)
		want, err := allFields(g, dir, &z, global)
		if err != nil {
			t.Skip(err.Error()) // an eigenvector that does not converge
		}
		got, err := allFields(h, dir, &z, global)
		if err != nil {
			t.Fatalf("only the renumbered graph fails: %v", err)
		}
		if z.Stats.CropFallback+z.Stats.Partial > 0 {
			t.Fatalf("fallbacks: %+v", z.Stats)
		}
		for v := range want {
			if !bytes.Equal(bytesOf(g, want[v]), bytesOf(h, got[perm[v]])) {
				t.Fatalf("root %d has %v, renumbered %v\n%+v\n%+v", v, want[v], got[perm[v]],
					tensorsOf(g, want[v]), tensorsOf(h, got[perm[v]]))
			}
		}
	})
}

func sequence(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// allFields returns the members of the field of every node.
func allFields(g *graph.Graph, dir field.Direction, z *field.Normalizer, global labeling.Labeling) ([][]int32, error) {
	var labels []float64
	if global != nil {
		labels = make([]float64, g.N())
		if err := labeling.Compute(global, labeling.Input{Graph: g}, labels); err != nil {
			return nil, err
		}
	}
	ix := field.NewIndex(g, dir)
	var a field.Assembler
	out := make([][]int32, g.N())
	for v := range int32(g.N()) {
		hood, dist := a.Assemble(ix, v, z.K)
		out[v] = make([]int32, z.K)
		if err := z.Normalize(ix, hood, dist, labels, out[v]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
