package dynamic

// Bytes is the memory that g takes, with the room in its rows that is empty.
func Bytes(g *Graph) int64 {
	return g.out.Bytes() + g.in.Bytes() + 4*int64(cap(g.class)+cap(g.flat.NodeCat)+cap(g.flat.NodeAttr))
}
