package rows

import (
	"cmp"
	"slices"

	"github.com/sanflow/sanflow/internal/scratch"
)

// Arcs are the lines of one graph with their attributes, in the order in which they came. Their ends are numbered
// from 0 within the graph.
type Arcs struct {
	Ends []Edge
	Cat  []int32   // (lines, Cats), row-major
	Attr []float32 // (lines, Attrs), row-major

	Cats, Attrs int

	// Holds, if set, compares two lines that name one edge: the smaller one holds.
	Holds func(i, j int32) int
}

// Reset makes room for that many lines.
func (a *Arcs) Reset(lines int) {
	a.Ends = slices.Grow(a.Ends[:0], lines)
	a.Cat, a.Attr = slices.Grow(a.Cat[:0], lines*a.Cats), slices.Grow(a.Attr[:0], lines*a.Attrs)
}

// compare compares the attributes of two lines: the discrete ones first.
func (a *Arcs) compare(i, j int32) int {
	if a.Holds != nil {
		return a.Holds(i, j)
	}
	return Compare(Values(a.Cat, i, a.Cats), Values(a.Attr, i, a.Attrs), Values(a.Cat, j, a.Cats), Values(a.Attr, j, a.Attrs))
}

// Values returns row i of rows of so many values.
func Values[T any](x []T, i int32, width int) []T { return x[int(i)*width : (int(i)+1)*width] }

// Compare compares the attributes of two lines that name one edge, the discrete ones first. The line with the smallest
// attributes holds.
func Compare(cat []int32, attr []float32, otherCat []int32, otherAttr []float32) int {
	return cmp.Or(slices.Compare(cat, otherCat), slices.CompareFunc(attr, otherAttr, CompareNumbers))
}

// CompareNumbers compares two numbers of which NaN, a missing one, is the largest and equals itself.
func CompareNumbers(x, y float32) int {
	if x != x || y != y {
		return -cmp.Compare(x, y)
	}
	return cmp.Compare(x, y)
}

// Graph is the rows of a graph, and the attributes of their entries, as graph.Graph has them.
type Graph struct {
	Offsets, Neighbors, EdgeCat []int32
	EdgeAttr                    []float32
}

// Csr turns the lines of small graphs into rows, on one processor, and keeps its working memory from one to the
// next. Two counting sorts, by head and then by tail, order the rows without a comparison: O(n + lines).
//
//	lines   1-0 0-1 2-1 1-2 1-1         -> 0-1 0-1 1-2 1-2   smaller end first
//	by head   1: {0-1, 0-1} 2: {1-2, 1-2}
//	by tail   0: {1} 1: {2}             repeats are neighbours now, and fall
//	rows      0: {1} 1: {0, 2} 2: {1}   each edge in the rows of both its ends
type Csr struct {
	Counts Counts
	Alive  func() error // if set, asked now and then; its error ends Build

	head, tail []int32 // n+1 bucket ends
	byHead     []int32 // lines by head, in the order in which they came within a head
	upper      []int32 // line of each edge that holds, by tail, then head
	seen       []uint8 // directions seen of each edge in upper
	next       []int32
	entry      []int32 // line of each CSR entry, where lines have attributes
}

const forth, back = 1, 2 // bits of seen

// CsrBytes is what Build takes at most for a graph of n nodes and so many lines
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

// Build makes g the graph of n nodes with the edges of a, in the memory of g if there is room.
func (c *Csr) Build(n int, directed bool, a *Arcs, g *Graph) error {
	g.Offsets = scratch.Zeros(g.Offsets, n+1)
	g.Neighbors, g.EdgeCat, g.EdgeAttr = g.Neighbors[:0], g.EdgeCat[:0], g.EdgeAttr[:0]
	if len(a.Ends) == 0 {
		return nil
	}
	if err := c.sortLines(n, directed, a, g.Offsets[1:]); err != nil {
		return err
	}
	for v := range n {
		g.Offsets[v+1] += g.Offsets[v]
	}
	g.Neighbors = scratch.Zeros(g.Neighbors, int(g.Offsets[n]))
	wantEntry := a.Cats+a.Attrs > 0
	if c.entry = c.entry[:0]; wantEntry {
		c.entry = scratch.Zeros(c.entry, len(g.Neighbors))
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
		for e := c.tail[u]; e < c.next[u]; e++ {
			if err := c.alive(int(e)); err != nil {
				return err
			}
			_, v := tailHead(a.Ends[c.upper[e]], directed)
			put(u, v, c.upper[e])
			if !directed {
				put(v, u, c.upper[e])
			}
		}
	}
	for _, i := range c.entry {
		g.EdgeCat = append(g.EdgeCat, Values(a.Cat, i, a.Cats)...)
		g.EdgeAttr = append(g.EdgeAttr, Values(a.Attr, i, a.Attrs)...)
	}
	return nil
}

// sortLines fills upper: the line that holds of every edge u–v with u < v, or of
// every arc u→v, stands in upper[tail[u]:next[u]], ascending by v. It counts the entries of each row.
func (c *Csr) sortLines(n int, directed bool, a *Arcs, entries []int32) error {
	c.head, c.tail = scratch.Zeros(c.head, n+1), scratch.Zeros(c.tail, n+1)
	for i, x := range a.Ends {
		if err := c.alive(i); err != nil {
			return err
		}
		if x.U == x.V {
			c.Counts.SelfLoops++
			continue
		}
		u, v := tailHead(x, directed)
		c.tail[u+1]++
		c.head[v+1]++
	}
	for v := range n {
		c.head[v+1] += c.head[v]
		c.tail[v+1] += c.tail[v]
	}
	kept := int(c.head[n])
	c.byHead, c.upper, c.seen = scratch.Zeros(c.byHead, kept), scratch.Zeros(c.upper, kept), scratch.Zeros(c.seen, kept)

	c.next = append(c.next[:0], c.head[:n]...)
	for i, x := range a.Ends {
		if err := c.alive(i); err != nil {
			return err
		}
		if x.U != x.V {
			_, v := tailHead(x, directed)
			c.byHead[c.next[v]] = int32(i)
			c.next[v]++
		}
	}
	c.next = append(c.next[:0], c.tail[:n]...)
	for at, i := range c.byHead {
		if err := c.alive(at); err != nil {
			return err
		}
		u, v := tailHead(a.Ends[i], directed)
		way := uint8(forth)
		if u != a.Ends[i].U {
			way = back
		}
		if e := c.next[u] - 1; e >= c.tail[u] {
			if _, w := tailHead(a.Ends[c.upper[e]], directed); w == v {
				c.repeat(a, e, i, way)
				continue
			}
		}
		c.upper[c.next[u]], c.seen[c.next[u]] = i, way
		c.next[u]++
		c.Counts.Edges++
		entries[u]++
		if !directed {
			c.Counts.OneWay++
			entries[v]++
		}
	}
	return nil
}

// repeat counts line i, which names edge e again.
func (c *Csr) repeat(a *Arcs, e, i int32, way uint8) {
	switch {
	case c.seen[e]&way != 0:
		c.Counts.Duplicates++
	default:
		c.Counts.OneWay--
		c.seen[e] |= way
	}
	switch compared := a.compare(i, c.upper[e]); {
	case compared < 0:
		c.upper[e] = i
		fallthrough
	case compared > 0:
		c.Counts.Conflicts++
	}
}

// alive asks Alive once in a million steps.
func (c *Csr) alive(step int) error {
	if step&(1<<20-1) < 1<<20-1 || c.Alive == nil {
		return nil
	}
	return c.Alive()
}

func tailHead(x Edge, directed bool) (tail, head int32) {
	if directed || x.U < x.V {
		return x.U, x.V
	}
	return x.V, x.U
}
