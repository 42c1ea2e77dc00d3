package reading

import (
	"cmp"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
)

// Arcs is the lines of an edge file that belong to one graph, in file order:
// line i joins u[i] and v[i], which are numbered from 0 within the graph.
type Arcs struct {
	U, V []int32
	Cat  []int32   // (lines, cats), row-major
	Attr []float32 // (lines, attrs), row-major

	Cats, Attrs int
}

// Reset makes room for that many lines.
func (a *Arcs) Reset(lines int) {
	a.U, a.V = slices.Grow(a.U[:0], lines), slices.Grow(a.V[:0], lines)
	a.Cat, a.Attr = slices.Grow(a.Cat[:0], lines*a.Cats), slices.Grow(a.Attr[:0], lines*a.Attrs)
}

// compare compares the attributes of two lines: the discrete ones first.
func (a *Arcs) compare(i, j int32) int {
	return cmp.Or(slices.Compare(Row(a.Cat, i, a.Cats), Row(a.Cat, j, a.Cats)),
		slices.Compare(Row(a.Attr, i, a.Attrs), Row(a.Attr, j, a.Attrs)))
}

func Row[T any](x []T, i int32, width int) []T { return x[int(i)*width : (int(i)+1)*width] }

// counts have the fields of sources.EdgeCounts.
type counts struct {
	Edges, SelfLoops, Duplicates, OneWay, Conflicts int64
}

// Csr turns arcs into graphs, and keeps its working memory from one to the
// next. Two counting sorts, by head and then by tail, order the rows without a
// comparison: O(n + lines).
//
//	lines   1-0 0-1 2-1 1-2 1-1         -> 0-1 0-1 1-2 1-2   smaller end first
//	by head   1: {0-1, 0-1} 2: {1-2, 1-2}
//	by tail   0: {1} 1: {2}             repeats are neighbours now, and fall
//	rows      0: {1} 1: {0, 2} 2: {1}   each edge in the rows of both its ends
type Csr struct {
	Counts counts
	Alive  func() error // if set, asked now and then; its error ends build
	Room   Room         // what was charged for the memory below

	head, tail []int32 // n+1 bucket ends
	byHead     []int32 // lines by head, in file order within a head
	upper      []int32 // line of each edge that holds, by tail, then head
	seen       []uint8 // directions seen of each edge in upper
	next       []int32
	entry      []int32 // line of each CSR entry, where lines have attributes
}

const forth, back = 1, 2 // bits of seen

// CsrBytes is what build takes at most for a graph of n nodes and so many lines
// with so many attributes, beside the rows and the attributes of the graph.
func CsrBytes(n, lines, width int) int64 {
	if lines == 0 {
		return 0
	}
	b := 3*4*int64(n+1) + 9*int64(lines)
	if width > 0 {
		b += 2 * 4 * int64(lines)
	}
	return b + b/4 // zeros
}

// Build sets g to the graph of n nodes with the edges of a; g borrows from c
// and is valid until the next call. Node attributes are left alone.
func (c *Csr) Build(n int, directed bool, a *Arcs, g *graph.Graph) error {
	g.Directed, g.EdgeCats, g.EdgeAttrs = directed, a.Cats, a.Attrs
	g.Offsets = Zeros(g.Offsets, n+1)
	g.Neighbors, g.EdgeCat, g.EdgeAttr = g.Neighbors[:0], g.EdgeCat[:0], g.EdgeAttr[:0]
	if len(a.U) == 0 {
		return nil
	}
	p := Pulse{Alive: c.Alive}
	if err := c.sortLines(n, directed, a, &p); err != nil {
		return err
	}
	ends := func(i int32) (u, v int32) { return tailHead(a.U[i], a.V[i], directed) }

	for u := range n {
		if err := p.Beat(1 + int(c.next[u]-c.tail[u])); err != nil {
			return err
		}
		for e := c.tail[u]; e < c.next[u]; e++ {
			_, v := ends(c.upper[e])
			g.Offsets[u+1]++
			if !directed {
				g.Offsets[v+1]++
				if c.seen[e] != forth|back {
					c.Counts.OneWay++
				}
			}
			c.Counts.Edges++
		}
	}
	for v := range n {
		g.Offsets[v+1] += g.Offsets[v]
	}
	g.Neighbors = Zeros(g.Neighbors, int(g.Offsets[n]))
	wantEntry := a.Cats+a.Attrs > 0
	if c.entry = c.entry[:0]; wantEntry {
		c.entry = Zeros(c.entry, len(g.Neighbors))
	}
	free := append(c.head[:0], g.Offsets[:n]...) // head is done with
	put := func(u, v, line int32) {
		g.Neighbors[free[u]] = v
		if wantEntry {
			c.entry[free[u]] = line
		}
		free[u]++
	}
	// In this order every row gets its smaller neighbours before its larger
	// ones, and both ascending.
	for u := range int32(n) {
		if err := p.Beat(1 + int(c.next[u]-c.tail[u])); err != nil {
			return err
		}
		for e := c.tail[u]; e < c.next[u]; e++ {
			_, v := ends(c.upper[e])
			put(u, v, c.upper[e])
			if !directed {
				put(v, u, c.upper[e])
			}
		}
	}
	for _, i := range c.entry {
		g.EdgeCat = append(g.EdgeCat, Row(a.Cat, i, a.Cats)...)
		g.EdgeAttr = append(g.EdgeAttr, Row(a.Attr, i, a.Attrs)...)
	}
	return nil
}

// sortLines fills upper: the line that holds of every edge u–v with u < v, or of
// every arc u→v, stands in upper[tail[u]:next[u]], ascending by v.
func (c *Csr) sortLines(n int, directed bool, a *Arcs, p *Pulse) error {
	c.head, c.tail = Zeros(c.head, n+1), Zeros(c.tail, n+1)
	for i := range a.U {
		if err := p.Beat(1); err != nil {
			return err
		}
		if a.U[i] == a.V[i] {
			c.Counts.SelfLoops++
			continue
		}
		u, v := tailHead(a.U[i], a.V[i], directed)
		c.tail[u+1]++
		c.head[v+1]++
	}
	for v := range n {
		c.head[v+1] += c.head[v]
		c.tail[v+1] += c.tail[v]
	}
	kept := int(c.head[n])
	c.byHead, c.upper, c.seen = Zeros(c.byHead, kept), Zeros(c.upper, kept), Zeros(c.seen, kept)

	c.next = append(c.next[:0], c.head[:n]...)
	for i := range a.U {
		if err := p.Beat(1); err != nil {
			return err
		}
		if a.U[i] != a.V[i] {
			_, v := tailHead(a.U[i], a.V[i], directed)
			c.byHead[c.next[v]] = int32(i)
			c.next[v]++
		}
	}
	c.next = append(c.next[:0], c.tail[:n]...)
	for _, i := range c.byHead {
		if err := p.Beat(1); err != nil {
			return err
		}
		u, v := tailHead(a.U[i], a.V[i], directed)
		way := uint8(forth)
		if u != a.U[i] {
			way = back
		}
		if e := c.next[u] - 1; e >= c.tail[u] {
			first := c.upper[e]
			if _, w := tailHead(a.U[first], a.V[first], directed); w == v {
				c.repeat(a, e, i, way)
				continue
			}
		}
		c.upper[c.next[u]], c.seen[c.next[u]] = i, way
		c.next[u]++
	}
	return nil
}

// repeat counts line i, which names edge e again.
func (c *Csr) repeat(a *Arcs, e, i int32, way uint8) {
	if c.seen[e]&way != 0 {
		c.Counts.Duplicates++
	}
	c.seen[e] |= way
	switch compared := a.compare(i, c.upper[e]); {
	case compared < 0:
		c.upper[e] = i
		fallthrough
	case compared > 0:
		c.Counts.Conflicts++
	}
}

func tailHead(u, v int32, directed bool) (tail, head int32) {
	if directed || u < v {
		return u, v
	}
	return v, u
}
