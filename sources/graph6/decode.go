package graph6

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// matrix6 is a line of graph6 or digraph6, whose bits are the matrix row by row, or
// its lower triangle, or of sparse6, whose bits are a list of edges. gonum's packages of the same names check the whole text
// again for each question that is asked of a graph, O(n⁴) to list the edges, and
// compute n² of up to 2⁷² without a check; the tests compare with them.
type matrix6 struct {
	n      int
	arcs   bool   // digraph6
	sparse bool   // sparse6
	bits   []byte // six in each, above 63

	g    graph.Graph
	next []int32
	room reading.Room
	err  error
}

// read checks a line. It allocates nothing.
func (d *matrix6) read(line []byte) error {
	d.n, d.arcs, d.sparse, d.bits, d.err = 0, line[0] == '&', line[0] == ':', nil, nil
	switch {
	case line[0] == ';':
		d.err = errors.New("incremental sparse6, want sparse6, graph6 or digraph6")
	case bytes.HasPrefix(line, []byte(">>")):
		d.err = fmt.Errorf("%s, want a graph; a header may stand before the first one only", reading.Quote(line))
	default:
		d.err = d.readBits(line)
	}
	return d.err
}

func (d *matrix6) readBits(line []byte) error {
	if d.arcs || d.sparse {
		line = line[1:]
	}
	for i, b := range line {
		if b < 63 || b > 126 {
			return fmt.Errorf("byte %d of the graph is %s, want ? to ~", i+1, reading.Quote(line[i:i+1]))
		}
	}
	size, line, err := sizeOf(line)
	if err != nil {
		return err
	}
	if d.sparse {
		if size >= math.MaxInt32 {
			return fmt.Errorf("%d nodes, want fewer than %d", size, math.MaxInt32)
		}
		d.n, d.bits = int(size), line
		return nil
	}
	// More nodes than this do not fit a line, and their square is below 2⁶³.
	if size > 1<<20 {
		return fmt.Errorf("%d nodes on a line of %d bytes", size, len(line))
	}
	all := size * (size - 1) / 2
	if d.arcs {
		all = size * size
	}
	if want := (all + 5) / 6; int64(len(line)) != want {
		return fmt.Errorf("%d bytes of edges, want %d for %d nodes", len(line), want, size)
	}
	d.n, d.bits = int(size), line
	return nil
}

// graph makes the graph of a line, by one look at its bits for the degrees and
// another for the rows, which come out in order. A line of graph6 in a directed
// stream has the same rows as it has in an undirected one.
func (d *matrix6) graph(l *reading.Lines, directed bool) (*graph.Graph, error) {
	g := &d.g
	if err := d.room.AtLeast(l, 5*2*int64(d.n+1)); err != nil {
		return nil, err
	}
	g.Directed, g.Offsets, d.next = directed, scratch.Zeros(g.Offsets, d.n+1), scratch.Zeros(d.next, d.n+1)
	entries := int64(0)
	err := d.each(l.Alive, func(u, v int32) {
		entries++
		d.next[u]++
		if !d.arcs {
			entries++
			d.next[v]++
		}
	})
	switch {
	case err != nil:
		return nil, err
	case entries > math.MaxInt32:
		return nil, l.Errorf("%d entries do not fit 32-bit offsets", entries)
	}
	if err := d.room.AtLeast(l, 5*(2*int64(d.n+1)+entries)); err != nil {
		return nil, err
	}
	for v := range d.n {
		g.Offsets[v+1] = g.Offsets[v] + d.next[v]
	}
	copy(d.next, g.Offsets)
	g.Neighbors = scratch.Zeros(g.Neighbors, int(entries))
	err = d.each(l.Alive, func(u, v int32) {
		g.Neighbors[d.next[u]] = v
		d.next[u]++
		if !d.arcs {
			g.Neighbors[d.next[v]] = u
			d.next[v]++
		}
	})
	if d.sparse {
		d.tidy(g)
	}
	return g, err
}

// tidy puts the rows in order, and drops edges that are there twice.
func (d *matrix6) tidy(g *graph.Graph) {
	all := g.Neighbors[:0]
	for v := range d.n {
		row := g.Neighbors[g.Offsets[v]:d.next[v]]
		slices.Sort(row)
		g.Offsets[v] = int32(len(all))
		all = append(all, slices.Compact(row)...)
	}
	g.Neighbors, g.Offsets[d.n] = all, int32(len(all))
}

// list calls do for every edge of sparse6, a bit and a number each. The bit goes to the next node v;
// a number above v goes to that node, and another is a neighbour of v.
func (d *matrix6) list(p *reading.Pulse, do func(u, v int32)) error {
	width, at := bits.Len(uint(max(d.n, 1)-1)), 0
	read := func(n int) (x int) {
		for ; n > 0; n-- {
			x = x<<1 | int(d.bits[at/6]-63)>>(5-at%6)&1
			at++
		}
		return x
	}
	for v := 0; d.n > 1 && at+1+width <= 6*len(d.bits); {
		if err := p.Beat(1); err != nil {
			return err
		}
		v += read(1)
		u := read(width)
		switch {
		case u >= d.n || v >= d.n: // what fills the last byte
			return nil
		case u > v:
			v = u
		case u < v:
			do(int32(v), int32(u))
		}
	}
	return nil
}

// each calls do for every edge, larger end first, or for every arc, but for
// self-loops.
func (d *matrix6) each(alive func() error, do func(u, v int32)) error {
	p := reading.Pulse{Alive: alive}
	if d.sparse {
		return d.list(&p, do)
	}
	at := int64(0)
	for u := range d.n {
		row := u
		if d.arcs {
			row = d.n
		}
		if err := p.Beat(row + 1); err != nil {
			return err
		}
		for v := 0; v < row; {
			used := int(at % 6)
			width := min(6-used, row-v)
			// The bits that are left of this byte, leftmost first.
			for b := (d.bits[at/6] - 63) << (2 + used) &^ (0xff >> width); b != 0; {
				z := bits.LeadingZeros8(b)
				b &^= 0x80 >> z
				if v+z != u {
					do(int32(u), int32(v+z))
				}
			}
			v, at = v+width, at+int64(width)
		}
	}
	return nil
}

// sizeOf reads the number of nodes: one byte, or three after a ~, or six
// after two.
func sizeOf(line []byte) (n int64, rest []byte, err error) {
	digits := 1
	switch {
	case bytes.HasPrefix(line, []byte("~~")):
		line, digits = line[2:], 6
	case bytes.HasPrefix(line, []byte("~")):
		line, digits = line[1:], 3
	}
	if len(line) < digits {
		return 0, nil, fmt.Errorf("the line ends before the number of nodes does")
	}
	for _, b := range line[:digits] {
		n = n<<6 | int64(b-63)
	}
	return n, line[digits:], nil
}
