package sources

import (
	"fmt"
	"io"
	"math"
	"slices"
)

// edgeReader reads the edge file, line by line.
type edgeReader struct {
	l *lines
	x *tuIndex
}

// openEdgeFile opens the edge file.
func (f *tuFiles) openEdgeFile(x *tuIndex) (edgeReader, error) {
	l, err := f.must(tuA)
	return edgeReader{l: l, x: x}, err
}

func (e *edgeReader) close() error { return e.l.close() }

// next returns the nodes of an edge, counted from 0 through the collection, or
// io.EOF.
func (e *edgeReader) next() (u, v int32, err error) {
	line, err := e.l.next()
	if err != nil {
		return 0, 0, err
	}
	if u, v, ok := e.x.edge(line); ok {
		return u, v, nil
	}
	if u, line, err = e.node(line); err != nil {
		return 0, 0, err
	}
	if v, line, err = e.node(line); err != nil {
		return 0, 0, err
	}
	if len(line) > 0 {
		return 0, 0, e.l.errorf("more than two nodes on a line")
	}
	if g, h := e.x.graphOf[u], e.x.graphOf[v]; g != h {
		return 0, 0, e.l.errorf("edge joins node %d of graph %d and node %d of graph %d", u+1, g+1, v+1, h+1)
	}
	return u, v, nil
}

// edge reads a line of two numbers that are nodes of one graph, counted from 0 then.
func (x *tuIndex) edge(line []byte) (u, v int32, ok bool) {
	if a, b, n := twoNumbers(line); n == len(line) && a > 0 && b > 0 && int(max(a, b)) <= x.nodes() {
		if u, v = int32(a-1), int32(b-1); x.graphOf[u] == x.graphOf[v] {
			return u, v, true
		}
	}
	return 0, 0, false
}

func (e *edgeReader) node(line []byte) (int32, []byte, error) {
	f, rest := field(line)
	id, ok := integer(f)
	switch {
	case len(f) == 0:
		return 0, nil, e.l.errorf("%s, want two nodes", quote(line))
	case !ok:
		return 0, nil, e.l.errorf("%s, want the number of a node", quote(f))
	case id < 1 || id > int64(e.x.nodes()):
		return 0, nil, e.l.errorf("node %d, want 1 to %d", id, e.x.nodes())
	}
	return int32(id - 1), rest, nil
}

// edgeOrder is what a first look at the edge file tells.
type edgeOrder struct {
	lines   int64
	grouped bool    // graph numbers never fall
	count   []int32 // lines of each graph
}

func scanEdges(f *tuFiles, x *tuIndex) (o edgeOrder, err error) {
	e, err := f.openEdgeFile(x)
	if err != nil {
		return o, err
	}
	defer e.close()
	l := e.l
	if err := l.take(4 * int64(len(x.start))); err != nil {
		return o, err
	}
	o.grouped, o.count = true, make([]int32, len(x.start)-1)
	last := int32(0)
	for {
		u, _, err := e.next()
		if err == io.EOF {
			return o, nil
		}
		if err != nil {
			return o, err
		}
		g := x.graphOf[u]
		o.grouped = o.grouped && g >= last
		last = g
		if o.count[g]++; o.count[g] > math.MaxInt32/2 {
			return o, l.errorf("more than %d edge lines in graph %d", math.MaxInt32/2, g+1)
		}
		o.lines++
	}
}

// graphEdges hands out the edge lines of the graphs, in order.
type graphEdges struct {
	edgeReader
	table   table
	u, v    int32 // the edge read last, when ahead: it belongs to a later graph
	ahead   bool
	one     arcs
	room    room  // of one
	sorted  *arcs // all lines by graph, where the file is not grouped
	through int   // lines of sorted that were handed out
}

func openEdges(f *tuFiles, x *tuIndex, o edgeOrder, values [][]int64, width int) (*graphEdges, error) {
	r, err := f.openEdgeFile(x)
	if err != nil {
		return nil, err
	}
	e := &graphEdges{edgeReader: r}
	e.one.cats, e.one.attrs = len(values), width
	if e.table, err = f.table(tuEdgeLabels, values, tuEdgeAttributes, width); err == nil && !o.grouped {
		err = e.sort(o)
	}
	if err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

// of returns the lines of a graph, valid until the next call. Graphs are asked
// for in ascending order.
func (e *graphEdges) of(graph int, o edgeOrder) (*arcs, error) {
	if e.sorted != nil {
		from, to := e.through, e.through+int(o.count[graph])
		e.through = to
		c, a := e.one.cats, e.one.attrs
		s := e.sorted
		return &arcs{s.u[from:to], s.v[from:to], s.cat[from*c : to*c], s.attr[from*a : to*a], c, a}, nil
	}
	count := int(o.count[graph])
	if err := e.room.atLeast(e.l, 5*int64(count)*int64(2+e.one.cats+e.one.attrs)); err != nil {
		return nil, err
	}
	e.one.reset(count)
	for {
		if !e.ahead {
			u, v, err := e.next()
			if err == io.EOF {
				return e.whole(graph, count)
			}
			if err != nil {
				return nil, err
			}
			e.u, e.v, e.ahead = u, v, true
		}
		switch g := int(e.x.graphOf[e.u]); {
		case g > graph:
			return e.whole(graph, count)
		case g == graph && len(e.one.u) == count:
			return nil, e.changed(graph)
		case g < graph:
			return nil, e.l.errorf("an edge of graph %d after those of graph %d: the file has changed", g+1, graph+1)
		}
		e.ahead = false
		e.one.u = append(e.one.u, e.x.local(e.u))
		e.one.v = append(e.one.v, e.x.local(e.v))
		var err error
		if e.one.cat, e.one.attr, err = e.table.next(e.one.cat, e.one.attr); err != nil {
			return nil, err
		}
	}
}

// whole returns the lines of a graph if they are as many as they were before.
func (e *graphEdges) whole(graph, count int) (*arcs, error) {
	if len(e.one.u) < count {
		return nil, e.changed(graph)
	}
	return &e.one, nil
}

func (e *graphEdges) changed(graph int) error {
	return e.l.errorf("graph %d has more or fewer lines than before: the file has changed", graph+1)
}

// sort reads the whole file and puts every line in its place: by graph, and in
// file order within it.
func (e *graphEdges) sort(o edgeOrder) error {
	if o.lines > math.MaxInt {
		return e.l.errorf("%d lines do not fit memory", o.lines)
	}
	n, c, a := int(o.lines), e.one.cats, e.one.attrs
	if err := e.l.take(4*o.lines*int64(2+c+a) + 12*int64(len(o.count))); err != nil {
		return err
	}
	s := &arcs{make([]int32, n), make([]int32, n), make([]int32, n*c), make([]float32, n*a), c, a}
	at := make([]int, len(o.count))
	for g := range len(at) - 1 {
		at[g+1] = at[g] + int(o.count[g])
	}
	left := slices.Clone(o.count)
	for {
		u, v, err := e.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		g := e.x.graphOf[u]
		if left[g] == 0 {
			return e.changed(int(g))
		}
		left[g]--
		i := at[g]
		at[g]++
		s.u[i], s.v[i] = e.x.local(u), e.x.local(v)
		if e.one.cat, e.one.attr, err = e.table.next(e.one.cat[:0], e.one.attr[:0]); err != nil {
			return err
		}
		copy(s.cat[i*c:], e.one.cat)
		copy(s.attr[i*a:], e.one.attr)
	}
	if g := slices.IndexFunc(left, func(n int32) bool { return n > 0 }); g >= 0 {
		return e.changed(g)
	}
	e.sorted = s
	return nil
}

func (e *graphEdges) close() {
	e.edgeReader.close()
	e.table.close()
}

// noEOF turns the end of a file that should go on into an error.
func noEOF(l *lines, err error) error {
	if err == io.EOF {
		return &FileError{l.file, l.line, fmt.Errorf("ends too early: %w", io.ErrUnexpectedEOF)}
	}
	return err
}
