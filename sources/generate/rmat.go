package generate

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
)

// RMAT returns a recursive-matrix graph (Chakrabarti, Zhan and Faloutsos, R-MAT:
// A recursive model for graph mining, 2004): one of hubs beside hubs, like the
// large graphs of the web. Each of so many lines draws its two ends out of
// 0 … 2^scale-1 bit by bit, 0–0 with a chance of 0.57, 0–1 and 1–0 of 0.19 each
// and 1–1 of 0.05. Lines that join a node to itself and those that repeat another
// are dropped, and so are the nodes without a line, half of all and more; those
// that are left keep their order. 0 ≤ scale ≤ 28.
//
// The lines are drawn twice instead of kept: O(lines·scale) time, and 8 bytes a
// line and 8·2^scale bytes of memory.
func (by Generator) RMAT(scale, lines int, seed uint64) (*graph.Graph, error) {
	switch {
	case scale < 0 || scale > 28:
		return nil, fmt.Errorf("generate: recursive matrix of scale %d, want 0 to 28", scale)
	case lines < 0 || lines > math.MaxInt32/2:
		return nil, fmt.Errorf("generate: recursive matrix of %d lines, want 0 to %d", lines, math.MaxInt32/2)
	}
	s := by.stop()
	offsets := make([]int32, 1<<scale+2) // shifted by one while rows are filled
	each := func(line func(u, v int32)) {
		for u, v := range RMATLines(scale, lines, seed) {
			if !s.goOn(1) {
				return
			}
			if u != v {
				line(u, v)
			}
		}
	}
	each(func(u, v int32) { offsets[u+2]++; offsets[v+2]++ })
	for v := 2; v < len(offsets); v++ {
		offsets[v] += offsets[v-1]
	}
	neighbors := make([]int32, offsets[1<<scale+1])
	each(func(u, v int32) {
		neighbors[offsets[u+1]] = v
		offsets[u+1]++
		neighbors[offsets[v+1]] = u
		offsets[v+1]++
	})
	// offsets[v] is where the row of v begins now. Nodes alone go.
	number := make([]int32, 1<<scale)
	n, end := int32(0), int32(0)
	for v := range number {
		row := neighbors[offsets[v]:offsets[v+1]]
		if !s.goOn(1 + len(row)) {
			return nil, s.err
		}
		if len(row) == 0 {
			continue
		}
		slices.Sort(row)
		number[v] = n
		begin := end
		end += int32(copy(neighbors[end:], slices.Compact(row)))
		// The row before this one has been read.
		offsets[n] = begin
		n++
	}
	offsets[n] = end
	for i, v := range neighbors[:end] {
		neighbors[i] = number[v]
	}
	return &graph.Graph{Offsets: slices.Clip(offsets[:n+1]), Neighbors: neighbors[:end:end]}, nil
}

// RMATLines is the lines that RMAT draws, in the order in which it does: what a
// file of them would be like.
func RMATLines(scale, lines int, seed uint64) iter.Seq2[int32, int32] {
	// The chances, of 65 536.
	const a, b, c = 57 << 16 / 100, 19 << 16 / 100, 19 << 16 / 100
	return func(yield func(u, v int32) bool) {
		rng := rand.NewPCG(seed, uint64(scale))
		for range lines {
			u, v, r := int32(0), int32(0), uint64(0)
			for bit := range scale {
				if bit%4 == 0 {
					r = rng.Uint64()
				}
				x := int32(r & 0xffff)
				r >>= 16
				below := reaches(x, a+b)
				u, v = 2*u+below, 2*v+reaches(x, a)-below+reaches(x, a+b+c)
			}
			if !yield(u, v) {
				return
			}
		}
	}
}

// reaches is 1 if x ≥ least, else 0, without a branch that nobody could foresee.
func reaches(x, least int32) int32 { return int32(uint32(least-1-x) >> 31) }
