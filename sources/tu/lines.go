package tu

import (
	"io"
	"math"
	"slices"
	"unsafe"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/rows"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// edgeLines holds the lines of the edge file in memory.
type edgeLines struct {
	// ends has the two nodes of each line, numbered within their graph. Both share one value, 16 bits each,
	// unless wide: then a graph has more than 65 536 nodes, and a line takes two values.
	ends  reading.Chunks[uint32]
	wide  bool
	lines int
	start []int32 // length graphs+1: the range of each graph in line
	line  []int32 // line numbers sorted by graph; nil if the file is sorted by graph
	cat   []int32 // edge labels and attributes in file order
	attr  []float32
	one   rows.Arcs // lines that the method of returned last
}

func (e *edgeLines) at(line int) graph.Edge {
	if e.wide {
		return graph.Edge{U: int32(e.ends.At(2 * line)), V: int32(e.ends.At(2*line + 1))}
	}
	both := e.ends.At(line)
	return graph.Edge{U: int32(both >> 16), V: int32(both & math.MaxUint16)}
}

// of returns the lines of a graph in file order. They are valid until the next call.
func (e *edgeLines) of(graph int) *rows.Arcs {
	a := &e.one
	a.Reset(int(e.start[graph+1] - e.start[graph]))
	for line := e.start[graph]; line < e.start[graph+1]; line++ {
		i := line
		if e.line != nil {
			i = e.line[i]
		}
		a.Ends = append(a.Ends, e.at(int(i)))
		a.Cat, a.Attr = append(a.Cat, rows.Values(e.cat, i, a.Cats)...), append(a.Attr, rows.Values(e.attr, i, a.Attrs)...)
	}
	return a
}

func readLines(f *reading.Folder, x *index) (e edgeLines, err error) {
	l, err := f.Must(edgesFile)
	if err != nil {
		return e, err
	}
	defer l.Close()
	graphs := len(x.start) - 1
	if err := l.Take(4 * int64(graphs+1)); err != nil {
		return e, err
	}
	e.start = make([]int32, graphs+1)
	for g := range graphs {
		e.wide = e.wide || x.start[g+1]-x.start[g] > 1<<16
	}
	e.ends.Budget = f.Budget
	// of has the graph of each line. It is empty while the file is sorted by graph, and is filled at the
	// first line that is not.
	of, lines, last := reading.Chunks[int32]{Budget: f.Budget}, 0, int32(0)
	var list []uint32
	keep := func() error {
		err := e.ends.Append(list)
		if list = list[:0]; err != nil {
			return l.Errorf("%w", err)
		}
		return nil
	}
	for {
		line, err := l.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return e, err
		}
		u, v, err := x.edge(l, line)
		if err != nil {
			return e, err
		}
		if lines >= math.MaxInt32/2 {
			return e, l.Errorf("more than %d edge lines", math.MaxInt32/2)
		}
		g := x.graphOf[u]
		if g < last && of.Len() == 0 {
			for h, n := range e.start[1:] {
				if err := of.Append(slices.Repeat([]int32{int32(h)}, int(n))); err != nil {
					return e, l.Errorf("%w", err)
				}
			}
		}
		if g < last || of.Len() > 0 {
			if err := of.Append([]int32{g}); err != nil {
				return e, l.Errorf("%w", err)
			}
		}
		last = g
		lines++
		e.start[g+1]++
		if u, v = x.local(u), x.local(v); e.wide {
			list = append(list, uint32(u), uint32(v))
		} else {
			list = append(list, uint32(u)<<16|uint32(v))
		}
		if len(list) >= 1<<12 {
			if err := keep(); err != nil {
				return e, err
			}
		}
	}
	if err := keep(); err != nil {
		return e, err
	}
	for g := range graphs {
		e.start[g+1] += e.start[g]
	}
	e.lines = lines
	if of.Len() > 0 {
		if err := l.Take(4 * int64(lines+len(e.start))); err != nil {
			return e, err
		}
		e.line = make([]int32, lines)
		next := slices.Clone(e.start)
		for i := range e.line {
			g := of.At(i)
			e.line[next[g]] = int32(i)
			next[g]++
		}
		l.Give(4 * int64(len(e.start)+lines)) // of is garbage from here on
	}
	return e, nil
}

// edge reads the two nodes of a line, numbered from 0 through the collection.
func (x *index) edge(l *reading.Lines, line []byte) (u, v int32, err error) {
	a, b, n := reading.TwoNumbers(line)
	if n != len(line) || a == 0 || b == 0 || int(max(a, b)) > x.nodes() {
		rest := line
		var ends [2]uint32
		for i := range ends {
			var f []byte
			f, rest = reading.Field(rest)
			id, ok := reading.Integer(f)
			switch {
			case len(f) == 0:
				return 0, 0, l.Errorf("%s, want two nodes", reading.Quote(rest))
			case !ok:
				return 0, 0, l.Errorf("%s, want the number of a node", reading.Quote(f))
			case id < 1 || id > int64(x.nodes()):
				return 0, 0, l.Errorf("node %d, want 1 to %d", id, x.nodes())
			}
			ends[i] = uint32(id)
		}
		if a, b = ends[0], ends[1]; len(rest) > 0 {
			return 0, 0, l.Errorf("more than two nodes on a line")
		}
	}
	u, v = int32(a-1), int32(b-1)
	if g, h := x.graphOf[u], x.graphOf[v]; g != h {
		return 0, 0, l.Errorf("edge joins node %d of graph %d and node %d of graph %d", u+1, g+1, v+1, h+1)
	}
	return u, v, nil
}

// places returns the target position of each of n rows in a counting sort by group. start has the first
// position of each group.
func places(l *reading.Lines, start []int32, n int, group func(row int) int32) ([]int32, error) {
	if err := l.Take(4 * int64(n+len(start))); err != nil {
		return nil, err
	}
	place, next := make([]int32, n), slices.Clone(start)
	for i := range place {
		g := group(i)
		place[i] = next[g]
		next[g]++
	}
	return place, nil
}

// arrange moves each row of width values to its position. A nil place leaves the rows in place.
func arrange[T any](l *reading.Lines, rows []T, width int, place []int32) ([]T, error) {
	if place == nil || len(rows) == 0 {
		return rows, nil
	}
	bytes := int64(len(rows)) * int64(unsafe.Sizeof(rows[0]))
	if err := l.Take(bytes); err != nil {
		return nil, err
	}
	all := make([]T, len(rows))
	for i, at := range place {
		copy(all[int(at)*width:], rows[i*width:(i+1)*width])
	}
	l.Give(bytes)
	return all, nil
}

// columnBytes is charged for each column of labels or attributes: its name, its copy in the schema, and an
// empty map.
const columnBytes = 512

// readColumns reads a file with one line of numbers for each of rows items, which errors call of. Row i moves
// to place[i]. An absent file gives no columns.
func readColumns[T any](f *reading.Folder, what string, rows int64, of string, place []int32,
	parse func(l *reading.Lines, line []byte, dst []T) ([]T, error)) (all []T, width int, err error) {
	count, row := int64(0), []T(nil)
	file, err := f.Scan(what, func(l *reading.Lines, line []byte) (err error) {
		if row, err = parse(l, line, row[:0]); err != nil {
			return err
		}
		if count++; count == 1 {
			width = len(row)
			if err := l.Take((columnBytes + rows*int64(unsafe.Sizeof(*new(T)))) * int64(width)); err != nil {
				return err
			}
			all = make([]T, 0, rows*int64(width))
		}
		if count > rows {
			return l.Errorf("a line more than the %d %s", rows, of)
		}
		if len(row) != width {
			return l.Errorf("%d values, want %d as on the first line", len(row), width)
		}
		all = append(all, row...)
		return nil
	})
	if err != nil || file == "" {
		return nil, 0, err
	}
	if err := reading.CheckEnd(file, count, rows, of); err != nil {
		return nil, 0, err
	}
	all, err = arrange(&reading.Lines{File: file, Budget: f.Budget}, all, width, place)
	return all, width, err
}

// readLabels reads a file of labels. A label becomes its index among the sorted distinct values of its
// column.
func readLabels(f *reading.Folder, what string, rows int64, of string, place []int32) (all []int32, values [][]int64, err error) {
	var index []map[int64]int32 // by column: value to its index in order of occurrence
	var row []int64
	parse := func(l *reading.Lines, line []byte, dst []int32) ([]int32, error) {
		if row, err = reading.Integers(l, line, row[:0]); err != nil {
			return dst, err
		}
		if index == nil {
			if err := l.Take(columnBytes * int64(len(row))); err != nil {
				return dst, err
			}
			index, values = make([]map[int64]int32, len(row)), make([][]int64, len(row))
		}
		for c, x := range row {
			if c >= len(index) {
				break // readColumns rejects a line of another width
			}
			i, ok := index[c][x]
			if !ok {
				if err := l.Take(64); err != nil { // covers the entries in index and values
					return dst, err
				}
				if index[c] == nil {
					index[c] = map[int64]int32{}
				}
				i = int32(len(values[c]))
				index[c][x], values[c] = i, append(values[c], x)
			}
			dst = append(dst, i)
		}
		for len(dst) < len(row) {
			dst = append(dst, 0)
		}
		return dst, nil
	}
	all, width, err := readColumns(f, what, rows, of, place, parse)
	if err != nil || width == 0 {
		return nil, nil, err
	}
	rank := make([][]int32, width)
	for c, came := range values {
		values[c] = slices.Sorted(slices.Values(came))
		rank[c] = make([]int32, len(came))
		for i, x := range values[c] {
			rank[c][index[c][x]] = int32(i)
		}
	}
	for i, came := range all {
		all[i] = rank[i%width][came]
	}
	return all, values, nil
}
