package dynamic

// Bytes is the memory that g takes, with the room in its rows that is empty.
func Bytes(g *Graph) int64 {
	k := &g.kept
	return 44*int64(cap(k.slots)) + 20*int64(len(k.last)) + 4*int64(cap(k.cat)+cap(k.attr)+cap(k.free)) + g.out.Bytes() + g.in.Bytes() + 4*int64(cap(g.class)+cap(g.flat.NodeCat)+cap(g.flat.NodeAttr))
}

// Occurrences returns how often the edge u–v, or the arc u→v, occurs in the graph.
func (g *Graph) Occurrences(u, v int32) (n int) {
	if !g.Has(u, v) {
		return 0
	}
	last := g.kept.of(g.key(u, v))
	if last == none {
		return 1
	}
	g.kept.chain(last, func(int32) { n++ })
	return n
}
