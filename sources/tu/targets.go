package tu

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sanflow/sanflow/sources/internal/reading"
)

// targets has one target for each graph: either class or value is set.
type targets struct {
	file  string
	class []int32
	names []string // names of the classes
	value []float32
}

func (t *targets) len() int { return max(len(t.class), len(t.value)) }

// readTargets reads graph_labels, or else graph_attributes. Targets are read first, since their number bounds
// the graph numbers in other files.
func readTargets(f *reading.Folder) (t targets, err error) {
	for _, what := range []string{graphLabels, graphAttributes} {
		t, err := readTarget(f, what)
		if t.file != "" || err != nil {
			return t, err
		}
	}
	return t, f.Missing(graphLabels)
}

func readTarget(f *reading.Folder, what string) (t targets, err error) {
	classes := what == graphLabels
	var values []int64          // distinct integers in order of occurrence
	number := map[int64]int32{} // index of an integer in values
	t.file, err = f.Scan(what, func(l *reading.Lines, line []byte) error {
		cell, _ := reading.Field(line)
		v, err := reading.Finite(cell)
		if err != nil {
			return l.Errorf("%v", err)
		}
		i, whole := reading.Integer(cell)
		if classes && !whole { // a value with a fraction: all targets are numbers
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
			if err := l.Take(128); err != nil { // covers the entries in number and values, the sorted copy, and the name
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
