package canon

import (
	"cmp"
	"slices"

	"github.com/sanflow/sanflow/operators/internal/refine"
)

// refined is the fallback search. Of all ways to refine the colours and to individualise nodes of
// the first remaining class it takes the one with the greatest trace, and of these the greatest
// matrix (McKay and Piperno 2014, Practical graph isomorphism II). The order depends on structure
// alone, but its matrix is not the greatest of all orders.
type refined struct {
	refiner refine.Refiner
	search  refine.Search
	rows    refine.Rows
	n       int
	codes   []uint16
	best    []int32
	matrix  []uint16 // matrix of best; empty until it is needed
	other   []uint16
}

// run returns the order, the number of visited branches, and whether the budget sufficed.
func (f *refined) run(n int, codes []uint16, colors []int32, budget int, stop func() bool) (order []int32, visited int, done bool) {
	f.n, f.codes = n, codes
	f.write()
	r := &f.refiner
	r.Stop = stop
	r.Reset(n)
	r.SplitFunc(func(u, v int32) int {
		return cmp.Or(cmp.Compare(colors[u], colors[v]), cmp.Compare(f.at(v, v), f.at(u, u)))
	})
	r.QueueAll()
	r.Refine(f.rows)
	f.best = f.best[:0]
	for v := range int32(n) { // the order if the search stops before its first leaf
		f.best = append(f.best, v)
	}
	f.search.Budget = budget
	visited, done = f.search.Run(r, f.rows, f)
	r.Stop, f.codes = nil, nil
	return f.best, visited, done
}

func (f *refined) at(u, v int32) uint16 { return f.codes[int(u)*f.n+int(v)] }

// write sets the rows of the graph. Arcs from and to a node are separate relations. A simple graph
// has no codes, since refinement recognises more of its symmetry.
func (f *refined) write() {
	g := &f.rows
	g.Off = append(g.Off[:0], 0)
	g.Nbr, g.Code = g.Nbr[:0], g.Code[:0]
	simple := true
	for u := range int32(f.n) {
		for v := range int32(f.n) {
			out, in := f.at(u, v), f.at(v, u)
			if u != v && out|in != 0 {
				g.Nbr, g.Code = append(g.Nbr, v), append(g.Code, uint32(out)<<16|uint32(in))
				simple = simple && out == 1 && in == 1
			}
		}
		g.Off = append(g.Off, int32(len(g.Nbr)))
	}
	if simple {
		g.Code = nil
	}
}

// Keep implements refine.Leaves.
func (f *refined) Keep(p *refine.Partition) {
	f.best = append(f.best[:0], p.Elems...)
	for i := 0; i < len(f.best); {
		twins := f.best[i : i+p.Size(f.best[i])]
		slices.Sort(twins)
		i += len(twins)
	}
	f.matrix = f.matrix[:0]
}

// Compare implements refine.Leaves.
func (f *refined) Compare(p *refine.Partition) int {
	if len(f.matrix) == 0 {
		f.matrix = f.permute(f.matrix, f.best)
	}
	f.other = f.permute(f.other, p.Elems)
	return slices.Compare(f.other, f.matrix)
}

func (f *refined) permute(matrix []uint16, order []int32) []uint16 {
	matrix = matrix[:0]
	for _, u := range order {
		for _, v := range order {
			matrix = append(matrix, f.at(u, v))
		}
	}
	return matrix
}
