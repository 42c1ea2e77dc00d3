package rows

import (
	"cmp"
	"slices"

	"github.com/sanflow/sanflow/internal/scratch"
)

// Arcs are the lines of one graph with their attributes, in their order in the input. Ends are numbered from
// 0 within the graph.
type Arcs struct {
	Ends []Edge
	Cat  []int32   // (lines, Cats), row-major
	Attr []float32 // (lines, Attrs), row-major

	Cats, Attrs int

	// Holds, if set, compares two lines of one edge. The smaller one defines the edge. Attributes are then
	// not copied.
	Holds func(i, j int32) int
}

// Reset empties a and allocates memory for that many lines.
func (a *Arcs) Reset(lines int) {
	a.Ends = slices.Grow(a.Ends[:0], lines)
	a.Cat, a.Attr = slices.Grow(a.Cat[:0], lines*a.Cats), slices.Grow(a.Attr[:0], lines*a.Attrs)
}

// compare compares the attributes of two lines, the discrete ones first.
func (a *Arcs) compare(i, j int32) int {
	if a.Holds != nil {
		return a.Holds(i, j)
	}
	return Compare(Values(a.Cat, i, a.Cats), Values(a.Attr, i, a.Attrs), Values(a.Cat, j, a.Cats), Values(a.Attr, j, a.Attrs))
}

// Values returns row i of rows of width values.
func Values[T any](x []T, i int32, width int) []T { return x[int(i)*width : (int(i)+1)*width] }

// Compare compares the attributes of two lines of one edge, the discrete ones first. The line with the
// smallest attributes defines the edge.
func Compare(cat []int32, attr []float32, otherCat []int32, otherAttr []float32) int {
	return cmp.Or(slices.Compare(cat, otherCat), slices.CompareFunc(attr, otherAttr, CompareNumbers))
}

// CompareNumbers compares two numbers. NaN, a missing number, is the largest and equals itself.
func CompareNumbers(x, y float32) int {
	if x != x || y != y {
		return -cmp.Compare(x, y)
	}
	return cmp.Compare(x, y)
}

// Graph is the rows of a graph and the attributes of their entries, in the form of graph.Graph.
type Graph struct {
	Offsets, Neighbors, EdgeCat []int32
	EdgeAttr                    []float32
}

// Csr converts the lines of a graph to rows in one goroutine, and reuses its memory for the next graph. Two
// counting sorts, by head and then by tail, order the lines: O(n + lines).
//
//	lines   1-0 0-1 2-1 1-2 1-1         -> 0-1 0-1 1-2 1-2   smaller end first
//	by head   1: {0-1, 0-1} 2: {1-2, 1-2}
//	by tail   0: {0-1, 0-1} 1: {1-2, 1-2}   lines of one edge are neighbours now
//	rows      0: {1} 1: {0, 2} 2: {1}       each edge in the rows of both its ends
type Csr struct {
	Counts  Counts
	Alive   func() error // if set, called regularly; its error ends Build
	Kept    []int32      // the line that defines each edge; edges are ordered by tail, then head
	Entries []int32      // the edge of each CSR entry, if lines have attributes or Holds is set

	head, tail, next []int32 // (n+1): ends of buckets
	byHead, byTail   []int32 // lines; those of a bucket keep their order in the input
}

// CsrBytes returns the most memory that Build takes for a graph of n nodes and lines with width attributes,
// besides the rows and the attributes of the graph.
func CsrBytes(n, lines, width int) int64 {
	if lines == 0 {
		return 0
	}
	b := 3*4*int64(n+1) + 3*4*int64(lines)
	if width > 0 {
		b += 2 * 4 * int64(lines)
	}
	return b + b/4 // the spare capacity of scratch.Zeros
}

// Build sets g to the graph of n nodes with the edges of a, and reuses the memory of g.
func (c *Csr) Build(n int, directed bool, a *Arcs, g *Graph) error {
	g.Offsets = scratch.Zeros(g.Offsets, n+1)
	g.Neighbors, g.EdgeCat, g.EdgeAttr = g.Neighbors[:0], g.EdgeCat[:0], g.EdgeAttr[:0]
	c.Kept, c.Entries, c.byTail = c.Kept[:0], c.Entries[:0], c.byTail[:0]
	if len(a.Ends) == 0 {
		return nil
	}
	if err := c.sortLines(n, directed, a); err != nil {
		return err
	}
	if err := c.edges(directed, a, g.Offsets[1:]); err != nil {
		return err
	}
	for v := range n {
		g.Offsets[v+1] += g.Offsets[v]
	}
	g.Neighbors = scratch.Zeros(g.Neighbors, int(g.Offsets[n]))
	wantEntry := a.Cats+a.Attrs > 0 || a.Holds != nil
	if wantEntry {
		c.Entries = scratch.Zeros(c.Entries, len(g.Neighbors))
	}
	free := append(c.next[:0], g.Offsets[:n]...)
	put := func(u, v, edge int32) {
		g.Neighbors[free[u]] = v
		if wantEntry {
			c.Entries[free[u]] = edge
		}
		free[u]++
	}
	// In this order every row gets its smaller neighbours before its larger ones, both ascending.
	for e, line := range c.Kept {
		if err := c.alive(e); err != nil {
			return err
		}
		u, v := tailHead(a.Ends[line], directed)
		put(u, v, int32(e))
		if !directed {
			put(v, u, int32(e))
		}
	}
	if a.Holds == nil {
		for _, e := range c.Entries {
			g.EdgeCat = append(g.EdgeCat, Values(a.Cat, c.Kept[e], a.Cats)...)
			g.EdgeAttr = append(g.EdgeAttr, Values(a.Attr, c.Kept[e], a.Attrs)...)
		}
	}
	return nil
}

// sortLines fills byTail. The lines of tail u are byTail[tail[u]:tail[u+1]], ascending by their heads.
func (c *Csr) sortLines(n int, directed bool, a *Arcs) error {
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
	c.byHead, c.byTail = scratch.Zeros(c.byHead, kept), scratch.Zeros(c.byTail, kept)

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
		u, _ := tailHead(a.Ends[i], directed)
		c.byTail[c.next[u]] = i
		c.next[u]++
	}
	return nil
}

// edges fills Kept, and counts the entries of each row.
func (c *Csr) edges(directed bool, a *Arcs, entries []int32) error {
	return c.Lines(directed, a, func(lines []int32) error {
		c.Kept = append(c.Kept, c.hold(lines, directed, a))
		u, v := tailHead(a.Ends[lines[0]], directed)
		entries[u]++
		if !directed {
			entries[v]++
		}
		return nil
	})
}

// Lines calls do for each edge of the last Build, in the order of Kept, with its lines in their order in the
// input.
func (c *Csr) Lines(directed bool, a *Arcs, do func(lines []int32) error) error {
	for from, to := 0, 0; from < len(c.byTail); from = to {
		if err := c.alive(from); err != nil {
			return err
		}
		u, v := tailHead(a.Ends[c.byTail[from]], directed)
		for to = from + 1; to < len(c.byTail); to++ {
			if w, x := tailHead(a.Ends[c.byTail[to]], directed); w != u || x != v {
				break
			}
		}
		if err := do(c.byTail[from:to]); err != nil {
			return err
		}
	}
	return nil
}

// hold returns the line that defines an edge, and counts the edge.
func (c *Csr) hold(lines []int32, directed bool, a *Arcs) int32 {
	kept, ways := lines[0], 0
	for at, i := range lines {
		way := 1
		if a.Ends[i].U > a.Ends[i].V {
			way = 2
		}
		if ways&way != 0 {
			c.Counts.Duplicates++
		}
		if ways |= way; at == 0 {
			continue
		}
		switch compared := a.compare(i, kept); {
		case compared < 0:
			kept = i
			fallthrough
		case compared > 0:
			c.Counts.Conflicts++
		}
	}
	c.Counts.Edges++
	if !directed && ways != 3 {
		c.Counts.OneWay++
	}
	return kept
}

// alive calls Alive once in a million steps.
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
