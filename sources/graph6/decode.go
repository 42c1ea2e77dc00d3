package graph6

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// matrix6 decodes a line. The bits of digraph6 are the adjacency matrix, row by row; those of graph6 are its
// lower triangle. gonum's packages graph6 and digraph6 validate the whole text on every call, so listing the edges
// takes O(n⁴), and they compute n² of up to 2⁷² unchecked. The tests compare with them.
type matrix6 struct {
	n    int
	arcs bool   // the line is digraph6
	bits []byte // six bits a byte, plus 63

	g    graph.Graph
	next []int32
	room reading.Room
}

// read validates a line. It allocates nothing.
func (d *matrix6) read(line []byte) error {
	d.n, d.arcs, d.bits = 0, line[0] == '&', nil
	switch {
	case line[0] == ':' || line[0] == ';' || bytes.HasPrefix(line, []byte(">>sparse6<<")):
		return errors.New("sparse6, want graph6 or digraph6: nauty's copyg -g converts")
	case bytes.HasPrefix(line, []byte(">>")):
		return fmt.Errorf("%s, want a graph; a header may stand before the first one only", reading.Quote(line))
	case d.arcs:
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
	// A line holds at most 28 000 nodes. The bound also keeps size² below 2⁶³.
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

// graph builds the CSR rows in two passes over the bits: the first counts degrees, the second fills rows,
// which come out sorted. In a directed stream a graph6 line has the same rows, an arc each way.
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
	if err != nil {
		return nil, err
	}
	// A line of at most widest bytes has fewer than 2³¹ entries.
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
	return g, err
}

// each calls do for every edge, larger end first, or for every arc. It skips self-loops.
func (d *matrix6) each(alive func() error, do func(u, v int32)) error {
	p := reading.Pulse{Alive: alive}
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
			// b holds the unread bits of the byte, leftmost first.
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

// sizeOf reads the number of nodes: one byte, three bytes after ~, or six after ~~.
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
