package tu

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sanflow/sanflow/sources/internal/reading"
)

// targets is the targets of all graphs: either class or value is set.
type targets struct {
	file  string
	class []int32
	names []string // of the classes
	value []float32
}

func (t *targets) len() int { return max(len(t.class), len(t.value)) }

// readTargets reads them as TU documents. They come first, since their number
// is that of the graphs, which bounds every graph number after them.
func readTargets(f *reading.Folder, real bool, column int) (t targets, err error) {
	files := []string{graphLabels, graphAttributes}
	if real {
		files = []string{graphAttributes, graphLabels}
	}
	for _, what := range files {
		t, err := readTarget(f, what, real || what == graphAttributes, column)
		if t.file != "" || err != nil {
			return t, err
		}
	}
	return t, f.Missing(graphLabels)
}

// manyTargets is how many targets are read before it is asked which graphs have nodes.
const manyTargets = 1 << 20

func readTarget(f *reading.Folder, what string, real bool, column int) (t targets, err error) {
	classes, most := !real, manyTargets
	var values []int64          // the different integers, as they were met
	number := map[int64]int32{} // of each of them
	t.file, err = f.Scan(what, func(l *reading.Lines, line []byte) error {
		if t.len() == manyTargets { // a packed file of a few kilobytes can have more
			last, err := lastGraph(f)
			if most = last; err != nil {
				return err
			}
		}
		if t.len() >= most {
			return l.Errorf("a target of graph %d, and no node is of a graph above %d", l.Line, most)
		}
		cell, rest := reading.Field(line)
		for range column {
			if len(rest) == 0 {
				return l.Errorf("no column %d of targets", column)
			}
			cell, rest = reading.Field(rest)
		}
		v, err := reading.Finite(cell)
		if err != nil {
			return l.Errorf("%v", err)
		}
		i, whole := reading.Integer(cell)
		if classes && !whole { // they were no classes
			if t.value, err = reading.Grow(l, t.value, len(t.class)+1); err != nil {
				return err
			}
			for _, c := range t.class {
				t.value = append(t.value, float32(values[c]))
			}
			classes, t.class = false, nil
		}
		if !classes {
			t.value, err = reading.Push(l, t.value, v)
			return err
		}
		c, ok := number[i]
		if !ok {
			if err := l.Take(128); err != nil { // in both, sorted, and with a name
				return err
			}
			c = int32(len(values))
			number[i], values = c, append(values, i)
		}
		t.class, err = reading.Push(l, t.class, c)
		return err
	})
	if t.file == "" || err != nil {
		return t, err
	}
	if t.len() == 0 {
		return t, &reading.FileError{File: t.file, Line: 0, Err: fmt.Errorf("no graphs")}
	}
	if !classes {
		return t, nil
	}
	for c, v := range slices.Sorted(slices.Values(values)) {
		number[v] = int32(c)
		t.names = append(t.names, strconv.FormatInt(v, 10))
	}
	for graph, c := range t.class {
		t.class[graph] = number[values[c]]
	}
	return t, nil
}
