package choose

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators/canon"
)

// mostMatrix is the most nodes of a graph that package canon orders, which takes O(n²) memory.
const mostMatrix = 1 << 12

// equal returns, for each graph, the number of the first graph that is equal to it: isomorphic, with
// the same attributes of nodes and edges and the same direction. Ids of nodes do not count. sums are the
// hashes of their colours.
//
// Colours of WL, hashed, are compared first. Graphs that share them are put into canonical order, by
// the colours if no two nodes share one, else by canon.Form, and compared by the SHA-256 of all that
// they have. Two different graphs are taken as equal only if SHA-256 collides. Equal graphs may be
// taken as different if nodes share colours and there are more than 4096 of them, or canon.Form ends
// as canon.Partial: if their numberings differ, such copies are missed.
// O(rounds·(n + m)) per graph, and the cost of canon.Form for a graph with the colours of another.
func equal(graphs []graph.Graph) (first []int32, sums []uint64) {
	first, sums = make([]int32, len(graphs)), make([]uint64, len(graphs))
	bySum := map[uint64][]int32{} // numbers of graphs, ascending
	for i := range graphs {
		first[i] = int32(i)
		sums[i] = sumOf(&graphs[i], colours(&graphs[i]))
		bySum[sums[i]] = append(bySum[sums[i]], int32(i))
	}
	for _, alike := range bySum {
		if len(alike) == 1 {
			continue
		}
		seen := map[[sha256.Size]byte]int32{}
		for _, i := range alike {
			key := canonical(&graphs[i])
			if other, ok := seen[key]; ok {
				first[i] = other
			} else {
				seen[key] = i
			}
		}
	}
	return first, sums
}

// colours returns the stable colours of WL, as hashes that do not depend on the numbering.
func colours(g *graph.Graph) []uint64 {
	n := g.N()
	color, next := make([]uint64, n), make([]uint64, n)
	for v := range color {
		h := uint64(0)
		for _, x := range g.NodeCat[v*g.NodeCats : (v+1)*g.NodeCats] {
			h = validation.Seed(h, uint64(x))
		}
		for _, x := range g.NodeAttr[v*g.NodeAttrs : (v+1)*g.NodeAttrs] {
			h = validation.Seed(h, bits(x))
		}
		for _, x := range g.Sparse(int32(v)) {
			h = validation.Seed(h, uint64(x), 1)
		}
		color[v] = h
	}
	distinct := func() int { return len(slices.Compact(slices.Sorted(slices.Values(color)))) }
	for before, now := 0, distinct(); now > before && now < n; before, now = now, distinct() {
		for v, c := range color {
			next[v] = validation.Seed(c, 2)
		}
		for u := range int32(n) {
			for i := g.Offsets[u]; i < g.Offsets[u+1]; i++ {
				h, v := uint64(3), g.Neighbors[i]
				for _, x := range g.EdgeCat[int(i)*g.EdgeCats : int(i+1)*g.EdgeCats] {
					h = validation.Seed(h, uint64(x))
				}
				for _, x := range g.EdgeAttr[int(i)*g.EdgeAttrs : int(i+1)*g.EdgeAttrs] {
					h = validation.Seed(h, bits(x))
				}
				next[u] += validation.Seed(h, color[v])
				if g.Directed {
					next[v] += validation.Seed(h, color[u], 4)
				}
			}
		}
		color, next = next, color
	}
	return color
}

// bits returns the bits of a number, the same for 0 and -0.
func bits(x float32) uint64 { return uint64(math.Float32bits(x + 0)) }

// sumOf returns a hash of the colours and the size of a graph.
func sumOf(g *graph.Graph, color []uint64) uint64 {
	sum := uint64(0)
	for _, c := range color {
		sum += validation.Seed(c, 5)
	}
	return validation.Seed(sum, uint64(g.N()), uint64(len(g.Neighbors)))
}

// canonical returns the SHA-256 of a graph in canonical order.
func canonical(g *graph.Graph) [sha256.Size]byte {
	color := colours(g)
	ranks := slices.Compact(slices.Sorted(slices.Values(color)))
	rank := make([]int32, len(color))
	order := make([]int32, len(color)) // used if canon.Form is not called or fails
	for v, c := range color {
		at, _ := slices.BinarySearch(ranks, c)
		rank[v], order[v] = int32(at), int32(v)
	}
	slices.SortStableFunc(order, func(u, v int32) int { return cmp.Compare(rank[u], rank[v]) })
	if len(ranks) < len(color) && len(color) <= mostMatrix {
		if form, _, err := canon.Form(g, rank); err == nil {
			order = form
		}
	}
	perm := make([]int32, len(order))
	for i, v := range order {
		perm[v] = int32(i)
	}
	h, sum := g.Renumber(perm), sha256.New()
	for _, part := range []any{h.Offsets, h.Neighbors, h.NodeCat, h.EdgeCat, h.SparseOffsets, h.NodeSparse, zeroed(h.NodeAttr), zeroed(h.EdgeAttr)} {
		_ = binary.Write(sum, binary.LittleEndian, part) // a hash returns no error
	}
	return [sha256.Size]byte(sum.Sum(nil))
}

// zeroed replaces -0 by 0.
func zeroed(x []float32) []float32 {
	for i := range x {
		x[i] += 0
	}
	return x
}

// dealGroups deals rows as Deal does, with all rows of a group in one part. It deals the largest groups first,
// each to the part that lacks most of its share of the classes. No part is empty.
func dealGroups(rows, class, group []int32, rng *rand.Rand) (parts [3][]int32) {
	of, total := map[int32][]int32{}, map[int32]float64{}
	for _, row := range rows {
		of[group[row]] = append(of[group[row]], row)
		total[class[row]]++
	}
	var order []int32
	for _, row := range rows {
		if of[group[row]][0] == row {
			order = append(order, group[row])
		}
	}
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(len(of[b]), len(of[a])) })
	share := [3]float64{4. / 6, 1. / 6, 1. / 6}
	var has [3]map[int32]float64
	for p := range has {
		has[p] = map[int32]float64{}
	}
	for i, g := range order {
		empty := 0
		for _, part := range parts {
			if len(part) == 0 {
				empty++
			}
		}
		best, least := -1, 0.
		for p, part := range parts {
			if empty == len(order)-i && len(part) > 0 {
				continue
			}
			fill := 0. // how full of these classes the part would be, summed over the rows of the group
			for k, row := range of[g] {
				fill += (has[p][class[row]] + float64(k+1)) / (share[p] * total[class[row]])
			}
			if best < 0 || fill < least {
				best, least = p, fill
			}
		}
		parts[best] = append(parts[best], of[g]...)
		for _, row := range of[g] {
			has[best][class[row]]++
		}
	}
	for _, part := range parts {
		slices.Sort(part)
	}
	return parts
}
