package sources

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// arcs is the lines of an edge file that belong to one graph, in file order:
// line i joins u[i] and v[i], which are numbered from 0 within the graph.
type arcs struct {
	u, v []int32
	cat  []int32   // (lines, cats), row-major
	attr []float32 // (lines, attrs), row-major

	cats, attrs int
}

// reset makes room for that many lines.
func (a *arcs) reset(lines int) {
	a.u, a.v = slices.Grow(a.u[:0], lines), slices.Grow(a.v[:0], lines)
	a.cat, a.attr = slices.Grow(a.cat[:0], lines*a.cats), slices.Grow(a.attr[:0], lines*a.attrs)
}

// compare compares the attributes of two lines: the discrete ones first.
func (a *arcs) compare(i, j int32) int {
	return cmp.Or(slices.Compare(row(a.cat, i, a.cats), row(a.cat, j, a.cats)),
		slices.Compare(row(a.attr, i, a.attrs), row(a.attr, j, a.attrs)))
}

func row[T any](x []T, i int32, width int) []T { return x[int(i)*width : (int(i)+1)*width] }

// EdgeCounts counts the lines of an edge file by their outcome.
//
// Of parallel edges, which are lines with the same ends, in either direction of an undirected graph,
// every source keeps the line with the smallest attributes: the discrete ones in the order of their
// channels, then the continuous ones. So graphs do not depend on the order of lines.
type EdgeCounts struct {
	Edges      int64 // edges of the graphs: unordered pairs, or arcs of directed graphs
	SelfLoops  int64 // lines that join a node to itself: dropped
	Duplicates int64 // lines that repeat an earlier one, in the same direction: dropped
	OneWay     int64 // undirected edges listed in one direction only: the other was added
	Conflicts  int64 // lines whose attributes differ from the smallest of the lines before them of the edge
}

// repeated returns how many of the lines, the number of which is given, name an edge that another
// line names. It is 0 where each undirected edge has two lines, one in each direction, with the
// same attributes.
func (c EdgeCounts) repeated(lines int64) int64 {
	n := lines - c.SelfLoops - c.Edges
	if n == c.Edges && c.OneWay+c.Duplicates+c.Conflicts == 0 {
		return 0
	}
	return n
}

// repeatedNote is the line of a report about repeated lines, and "" if there are none.
func (c EdgeCounts) repeatedNote(lines int64) string {
	n := c.repeated(lines)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("repeated rows: %d of %d name an edge that another row names, the one with the smallest attributes is kept", n, lines)
}

// notes returns the lines of a report about lines of a file that are no edges of their own.
func (c EdgeCounts) notes(lines int64, file string) (notes []string) {
	if c.SelfLoops > 0 {
		notes = append(notes, fmt.Sprintf("left out: %d of %d rows of %s join a node to itself", c.SelfLoops, lines, file))
	}
	if note := c.repeatedNote(lines); note != "" {
		notes = append(notes, note)
	}
	return notes
}

// csr turns arcs into graphs, and keeps its working memory from one to the
// next. Two counting sorts, by head and then by tail, order the rows without a
// comparison: O(n + lines).
//
//	lines   1-0 0-1 2-1 1-2 1-1         -> 0-1 0-1 1-2 1-2   smaller end first
//	by head   1: {0-1, 0-1} 2: {1-2, 1-2}
//	by tail   0: {1} 1: {2}             repeats are neighbours now, and fall
//	rows      0: {1} 1: {0, 2} 2: {1}   each edge in the rows of both its ends
type csr struct {
	counts EdgeCounts
	alive  func() error // if set, asked now and then; its error ends build
	room   reading.Room // what was charged for the memory below

	head, tail []int32 // n+1 bucket ends
	byHead     []int32 // lines by head, in file order within a head
	upper      []int32 // line of each edge that holds, by tail, then head
	seen       []uint8 // directions seen of each edge in upper
	next       []int32
	entry      []int32 // line of each CSR entry, where lines have attributes
}

const forth, back = 1, 2 // bits of seen

// csrBytes is what build takes at most for a graph of n nodes and so many lines
// with so many attributes, beside the rows and the attributes of the graph.
func csrBytes(n, lines, width int) int64 {
	if lines == 0 {
		return 0
	}
	b := 3*4*int64(n+1) + 9*int64(lines)
	if width > 0 {
		b += 2 * 4 * int64(lines)
	}
	return b + b/4 // zeros
}

// build sets g to the graph of n nodes with the edges of a; g borrows from c
// and is valid until the next call. Node attributes are left alone.
func (c *csr) build(n int, directed bool, a *arcs, g *graph.Graph) error {
	g.Directed, g.EdgeCats, g.EdgeAttrs = directed, a.cats, a.attrs
	g.Offsets = reading.Zeros(g.Offsets, n+1)
	g.Neighbors, g.EdgeCat, g.EdgeAttr = g.Neighbors[:0], g.EdgeCat[:0], g.EdgeAttr[:0]
	if len(a.u) == 0 {
		return nil
	}
	p := reading.Pulse{Alive: c.alive}
	if err := c.sortLines(n, directed, a, &p); err != nil {
		return err
	}
	ends := func(i int32) (u, v int32) { return tailHead(a.u[i], a.v[i], directed) }

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
					c.counts.OneWay++
				}
			}
			c.counts.Edges++
		}
	}
	for v := range n {
		g.Offsets[v+1] += g.Offsets[v]
	}
	g.Neighbors = reading.Zeros(g.Neighbors, int(g.Offsets[n]))
	wantEntry := a.cats+a.attrs > 0
	if c.entry = c.entry[:0]; wantEntry {
		c.entry = reading.Zeros(c.entry, len(g.Neighbors))
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
		g.EdgeCat = append(g.EdgeCat, row(a.cat, i, a.cats)...)
		g.EdgeAttr = append(g.EdgeAttr, row(a.attr, i, a.attrs)...)
	}
	return nil
}

// sortLines fills upper: the line that holds of every edge u–v with u < v, or of
// every arc u→v, stands in upper[tail[u]:next[u]], ascending by v.
func (c *csr) sortLines(n int, directed bool, a *arcs, p *reading.Pulse) error {
	c.head, c.tail = reading.Zeros(c.head, n+1), reading.Zeros(c.tail, n+1)
	for i := range a.u {
		if err := p.Beat(1); err != nil {
			return err
		}
		if a.u[i] == a.v[i] {
			c.counts.SelfLoops++
			continue
		}
		u, v := tailHead(a.u[i], a.v[i], directed)
		c.tail[u+1]++
		c.head[v+1]++
	}
	for v := range n {
		c.head[v+1] += c.head[v]
		c.tail[v+1] += c.tail[v]
	}
	kept := int(c.head[n])
	c.byHead, c.upper, c.seen = reading.Zeros(c.byHead, kept), reading.Zeros(c.upper, kept), reading.Zeros(c.seen, kept)

	c.next = append(c.next[:0], c.head[:n]...)
	for i := range a.u {
		if err := p.Beat(1); err != nil {
			return err
		}
		if a.u[i] != a.v[i] {
			_, v := tailHead(a.u[i], a.v[i], directed)
			c.byHead[c.next[v]] = int32(i)
			c.next[v]++
		}
	}
	c.next = append(c.next[:0], c.tail[:n]...)
	for _, i := range c.byHead {
		if err := p.Beat(1); err != nil {
			return err
		}
		u, v := tailHead(a.u[i], a.v[i], directed)
		way := uint8(forth)
		if u != a.u[i] {
			way = back
		}
		if e := c.next[u] - 1; e >= c.tail[u] {
			first := c.upper[e]
			if _, w := tailHead(a.u[first], a.v[first], directed); w == v {
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
func (c *csr) repeat(a *arcs, e, i int32, way uint8) {
	if c.seen[e]&way != 0 {
		c.counts.Duplicates++
	}
	c.seen[e] |= way
	switch compared := a.compare(i, c.upper[e]); {
	case compared < 0:
		c.upper[e] = i
		fallthrough
	case compared > 0:
		c.counts.Conflicts++
	}
}

func tailHead(u, v int32, directed bool) (tail, head int32) {
	if directed || u < v {
		return u, v
	}
	return v, u
}
