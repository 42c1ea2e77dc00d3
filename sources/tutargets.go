package sources

import (
	"fmt"
	"slices"
	"strconv"
)

// tuTargets is the targets of all graphs: either classes or values is set.
type tuTargets struct {
	file  string
	class []int32
	names []string // of the classes
	value []float32
}

func (t *tuTargets) len() int { return max(len(t.class), len(t.value)) }

// readTargets reads them as TU documents. They come first, since their number
// is that of the graphs, which bounds every graph number after them.
func readTargets(f *tuFiles, real bool, column int) (t tuTargets, err error) {
	files := []string{tuGraphLabels, tuGraphAttrs}
	if real {
		files = []string{tuGraphAttrs, tuGraphLabels}
	}
	for _, what := range files {
		t, err := readTarget(f, what, real || what == tuGraphAttrs, column)
		if t.file != "" || err != nil {
			return t, err
		}
	}
	return t, f.missing(tuGraphLabels)
}

// manyTargets is how many targets are read before it is asked which graphs have nodes.
const manyTargets = 1 << 20

func readTarget(f *tuFiles, what string, real bool, column int) (t tuTargets, err error) {
	var ints []int64
	classes, most := !real, manyTargets
	t.file, err = f.scan(what, func(l *lines, line []byte) error {
		if len(t.value) == manyTargets { // a packed file of a few kilobytes can have more
			last, err := lastGraph(f)
			if most = last; err != nil {
				return err
			}
		}
		if len(t.value) >= most {
			return l.errorf("a target of graph %d, and no node is of a graph above %d", l.line, most)
		}
		cell, rest := field(line)
		for range column {
			if len(rest) == 0 {
				return l.errorf("no column %d of targets", column)
			}
			cell, rest = field(rest)
		}
		v, err := finite(cell)
		if err != nil {
			return l.errorf("%v", err)
		}
		if i, whole := integer(cell); classes && whole {
			ints, err = push(l, ints, i)
		} else {
			classes = false
		}
		if err == nil {
			t.value, err = push(l, t.value, v)
		}
		return err
	})
	if t.file == "" || err != nil {
		return t, err
	}
	if len(t.value) == 0 {
		return t, &FileError{t.file, 0, fmt.Errorf("no graphs")}
	}
	if !classes {
		return t, nil
	}
	// The values sorted, the name of each, and the class of each graph.
	t.value = nil
	if err := f.take(t.file, (8+4)*int64(len(ints))); err != nil {
		return t, err
	}
	values := slices.Clone(ints)
	slices.Sort(values)
	values = slices.Compact(values)
	if err := f.take(t.file, 40*int64(len(values))); err != nil {
		return t, err
	}
	t.class = make([]int32, 0, len(ints))
	for _, v := range values {
		t.names = append(t.names, strconv.FormatInt(v, 10))
	}
	for _, v := range ints {
		i, _ := slices.BinarySearch(values, v)
		t.class = append(t.class, int32(i))
	}
	return t, nil
}
