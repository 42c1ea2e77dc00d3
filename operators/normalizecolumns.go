package operators

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/internal/note"
)

// outputs returns the columns that the settings and the layout require, in order and without the
// suffix.
func (z *normalizer) outputs() []output {
	l, w, k := z.layout, z.w, z.K
	all := []output{written(record.Members, []int{w, k}, nil, &z.members)}
	cats, write := l.NodeCat, func(g *graph.Graph, out []int32) { field.NodeCats(g, z.field[:z.used*k], front(z, out, -1)) }
	if z.Distances > 0 {
		cats, write = append([]record.Channel{{Name: "distance", Card: z.Distances}}, l.NodeCat...), z.distances
	}
	if d := len(cats); d > 0 {
		all = append(all, tensor(record.NodesCat, []int{w, k, d}, cats, write))
	}
	if c := len(l.NodeAttr); c > 0 {
		write := func(g *graph.Graph, out []float32) { field.NodeAttrs(g, z.field[:z.used*k], front(z, out, 0)) }
		all = append(all, tensor(record.Nodes, []int{w, k, c}, l.NodeAttr, write))
	}
	d, c := len(l.EdgeCat), len(l.EdgeAttr)
	if z.Edges && d > 0 {
		all = append(all, tensor(record.EdgesCat, []int{w, k, k, d}, l.EdgeCat, ofEdges(z, field.EdgeCats, -1)))
	}
	if z.Edges && c > 0 {
		all = append(all, tensor(record.Edges, []int{w, k, k, c}, l.EdgeAttr, ofEdges(z, field.EdgeAttrs, 0)))
	}
	if z.Edges && d+c == 0 {
		all = append(all, written(record.Edges, []int{w, k, k, 1}, []record.Channel{{Name: "edge"}}, &z.adjacent))
	}
	if z.Mask {
		all = append(all, tensor(record.Mask, []int{w, k}, nil, z.mask))
	}
	if l.NodeSparse.Card > 0 {
		all = append(all, z.sparse())
	}
	if len(l.NodeClasses) > 0 {
		all = append(all, z.targets())
	}
	if l.NodeIDs != graph.NoIDs {
		all = append(all, z.idsOf(record.RootIDs, []int{w}, func() []int32 { return z.hoods.root }))
		if z.MemberIDs {
			all = append(all, z.idsOf(record.MemberIDs, []int{w, k}, func() []int32 { return z.field }))
		}
	}
	return all
}

// output is a column that Normalize adds.
type output struct {
	field arrow.Field
	// begin returns the empty column, and a function that appends a row, nil if fields writes the column.
	begin func(mem memory.Allocator) (column, func(g *graph.Graph, row int))
}

// tensor is an output of fixed size. write sets all values of a row.
func tensor[T record.Value](name string, shape []int, channels []record.Channel, write func(g *graph.Graph, out []T)) output {
	return output{record.TensorField[T](name, shape, channels), func(mem memory.Allocator) (column, func(*graph.Graph, int)) {
		b := record.NewFixed[T](mem, size(shape))
		return b, func(g *graph.Graph, _ int) { write(g, b.Extend(1)) }
	}}
}

// written is an output of fixed size whose values fields writes through builder.
func written[T record.Value](name string, shape []int, channels []record.Channel, builder **record.Fixed[T]) output {
	return output{record.TensorField[T](name, shape, channels), func(mem memory.Allocator) (column, func(*graph.Graph, int)) {
		*builder = record.NewFixed[T](mem, size(shape))
		return *builder, nil
	}}
}

// size returns the number of values of a tensor.
func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// sparse is the output of the sparse attributes of the members.
func (z *normalizer) sparse() output {
	return output{record.SparseField(record.NodesSparse, []int{z.w, z.K}, z.layout.NodeSparse), func(mem memory.Allocator) (column, func(*graph.Graph, int)) {
		b := record.NewNested[int32](mem)
		return b, func(g *graph.Graph, _ int) {
			for _, v := range z.field {
				var set []int32
				if v >= 0 {
					set = g.Sparse(v)
				}
				b.Append(set)
			}
			b.EndRow()
		}
	}}
}

// targets is the output of the classes of the roots, -1 for zero fields.
func (z *normalizer) targets() output {
	return output{record.ClassesField(record.RootTarget, []int{z.w}, z.layout.NodeClasses), func(mem memory.Allocator) (column, func(*graph.Graph, int)) {
		b := record.NewLists[int32](mem)
		return b, func(*graph.Graph, int) {
			out := b.Grow(z.w)
			for i, root := range z.hoods.root {
				out[i] = -1
				if root >= 0 {
					out[i] = z.class(root)
				}
			}
		}
	}}
}

// idsOf is an output of the ids of nodes: 0, or the empty string, for -1.
func (z *normalizer) idsOf(name string, shape []int, nodes func() []int32) output {
	kind := z.layout.NodeIDs
	return output{record.IDsField(name, shape, kind), func(mem memory.Allocator) (column, func(*graph.Graph, int)) {
		b := record.NewIDs(mem, kind)
		return b, func(_ *graph.Graph, row int) { b.AppendOf(z.now.graphs.Row(row).NodeID, nodes()) }
	}}
}

// distances writes the distance and then the discrete attributes of each member.
func (z *normalizer) distances(g *graph.Graph, out []int32) {
	d := 1 + g.NodeCats
	out = front(z, out, -1)
	for i, v := range z.field[:z.used*z.K] {
		cell := out[i*d : (i+1)*d]
		if v < 0 {
			for j := range cell {
				cell[j] = -1
			}
			continue
		}
		cell[0] = min(int32(z.hops[i]), int32(z.Distances)-1)
		copy(cell[1:], g.NodeCat[int(v)*g.NodeCats:][:g.NodeCats])
	}
}

// mask writes 1 for a node, 0 for a dummy.
func (z *normalizer) mask(_ *graph.Graph, out []uint8) {
	for i, v := range z.field {
		out[i] = uint8(1 + min(v, 0)) // a dummy is -1
	}
}

// front sets the zero fields at the end of a row to none and returns the values of the other
// fields.
func front[T record.Value](z *normalizer, out []T, none T) []T {
	n := len(out) / z.w * z.used
	fill(out[n:], nil, none)
	return out[:n]
}

// ofEdges returns a function that writes the result of gather for the edges of each field.
func ofEdges[T record.Value](z *normalizer, gather func(g *graph.Graph, entry []int32, out []T), none T) func(*graph.Graph, []T) {
	return func(g *graph.Graph, out []T) {
		front(z, out, none)
		for i := range z.used {
			gather(g, z.entries(i), out[len(out)/z.w*i:])
		}
	}
}

// twice reports whether two columns need the CSR positions of edges, which are then looked up once.
func (z *normalizer) twice() bool {
	return z.Edges && len(z.layout.EdgeCat) > 0 && len(z.layout.EdgeAttr) > 0
}

// entries returns the CSR positions of the edges of field i, (k, k).
func (z *normalizer) entries(i int) []int32 {
	k, kk := z.K, z.K*z.K
	if z.twice() {
		return z.entry[i*kk : (i+1)*kk]
	}
	z.finder.EdgesOf(z.ix, z.field[i*k:(i+1)*k], z.entry)
	return z.entry
}

// notes implements noter.
func (z *normalizer) notes(add func(event string, n int64)) {
	s := z.norm.Stats
	z.norm.Stats = field.Stats{}
	all := [...]struct {
		event string
		n     int64
	}{
		{note.Fields, s.Fields}, {note.CropFallback, s.CropFallback}, {note.CanonFallback, s.Partial}, {note.Refined, s.Refined},
		{note.Searches, s.Searches}, {note.Canon, s.Canon}, {note.CacheLookups, s.CacheLookups}, {note.CacheHits, s.CacheHits},
	}
	for _, c := range all {
		if c.n != 0 || !z.noted { // zero counts are added once only, since add takes a lock
			add(c.event, c.n)
		}
	}
	z.noted = true
}
