package sources

import (
	"bytes"
	"fmt"

	"github.com/sanflow/sanflow/flow/graph"
)

// decodeGraph6 appends the edges of a graph6 line, smaller end first, or the
// arcs of a digraph6 line, to dst. gonum's packages of the same names check
// the whole text again for each question that is asked of a graph, O(n⁴) to
// list the edges, and compute n² of up to 2⁷² without a check; the tests compare
// with them.
func decodeGraph6(line []byte, dst []graph.Edge) (n int, edges []graph.Edge, err error) {
	switch {
	case line[0] == ':' || line[0] == ';':
		return 0, nil, fmt.Errorf("sparse6, want graph6 or digraph6")
	case bytes.HasPrefix(line, []byte(">>")):
		return 0, nil, fmt.Errorf("%s, want a graph; a header may stand before the first one only", quote(line))
	}
	directed := line[0] == '&'
	if directed {
		line = line[1:]
	}
	for i, b := range line {
		if b < 63 || b > 126 {
			return 0, nil, fmt.Errorf("byte %d of the graph is %s, want ? to ~", i+1, quote(line[i:i+1]))
		}
	}
	size, line, err := graph6Size(line)
	if err != nil {
		return 0, nil, err
	}
	// More nodes than this do not fit a line, and their square is below 2⁶³.
	if size > 1<<20 {
		return 0, nil, fmt.Errorf("%d nodes on a line of %d bytes", size, len(line))
	}
	n = int(size)
	bits := n * (n - 1) / 2
	if directed {
		bits = n * n
	}
	if want := (bits + 5) / 6; len(line) != want {
		return 0, nil, fmt.Errorf("%d bytes of edges, want %d for %d nodes", len(line), want, n)
	}
	// Bits come row by row: of the whole matrix, or of its lower triangle.

	u, v := 0, 0
	if !directed {
		u = 1
	}
	for at := 0; at < bits; at += 6 {
		for b, i := line[at/6]-63, 0; i < 6 && at+i < bits; i++ {
			if b&(32>>i) != 0 {
				e := graph.Edge{U: int32(u), V: int32(v)}
				if !directed {
					e.U, e.V = e.V, e.U
				}
				dst = append(dst, e)
			}
			v++
			if directed && v == n || !directed && v == u {
				u, v = u+1, 0
			}
		}
	}
	return n, dst, nil
}

// graph6Size reads the number of nodes: one byte, or three after a ~, or six
// after two.
func graph6Size(line []byte) (n int64, rest []byte, err error) {
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
