package canon

import "github.com/sanflow/sanflow/operators/internal/refine"

// refiner computes stable colourings for the fallback.
type refiner struct {
	r    refine.Refiner
	rows refine.Rows
	out  []int32
}

// colors returns the stable refinement of the given colours, each colour the
// place of the first node of its class. Arcs that leave and arcs that arrive
// are relations of their own.
func (f *refiner) colors(n int, codes []uint16, colors []int32) []int32 {
	g := &f.rows
	g.Off = append(g.Off[:0], 0)
	g.Nbr, g.Code = g.Nbr[:0], g.Code[:0]
	for u := range n {
		for v := range n {
			if c := codes[u*n+v]; c != 0 {
				g.Nbr, g.Code = append(g.Nbr, int32(v)), append(g.Code, 2*uint32(c))
			}
			if c := codes[v*n+u]; c != 0 {
				g.Nbr, g.Code = append(g.Nbr, int32(v)), append(g.Code, 2*uint32(c)+1)
			}
		}
		g.Off = append(g.Off, int32(len(g.Nbr)))
	}
	f.r.Reset(n)
	f.r.SplitFunc(func(u, v int32) int { return int(colors[u]) - int(colors[v]) })
	f.r.QueueAll()
	f.r.Refine(*g)
	f.out = resize(f.out, n)
	for v := range f.out {
		f.out[v] = int32(f.r.Start(int32(v)))
	}
	return f.out
}
