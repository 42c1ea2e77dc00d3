package sources

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/sanflow/sanflow/internal/decimal"
)

// nodeLabels is the content of a file with an id and a label per line.
type nodeLabels struct {
	file  string
	ids   []int64 // in file order
	label map[int64]string
}

func (s EdgeList) readLabels(ctx context.Context) (n nodeLabels, err error) {
	in := s.input()
	in.path, in.reader = s.Labels, nil
	l, err := in.lines(ending(ctx))
	if err != nil {
		return n, err
	}
	defer l.close()
	n.file, n.label = s.Labels, map[int64]string{}
	known := map[string]string{} // one copy of each label, not one per node
	for {
		row, err := l.data(func([]byte) error { return nil })
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		id, rest, err := wideID(row)
		if err != nil {
			return n, l.errorf("%w", err)
		}
		if rest = bytes.TrimSpace(rest); len(rest) == 0 {
			return n, l.errorf("node %d without a label", id)
		}
		text, ok := known[string(rest)]
		if !ok {
			if err := l.take(2*int64(len(rest)) + 200); err != nil { // here, and in the schema
				return n, err
			}
			text = string(rest)
			known[text] = text
		}
		if before, ok := n.label[id]; !ok {
			if err := l.take(64); err != nil { // in ids, in label and as a class
				return n, err
			}
			n.ids = append(n.ids, id)
		} else if before != text {
			return n, l.errorf("node %d has label %s, and had %s before", id, quote(rest), quote([]byte(before)))
		}
		n.label[id] = text
	}
}

// classes returns the class of each node and the names of the classes.
func (n nodeLabels) classes(ids []int64, partial bool) (class []int32, names []string, err error) {
	if n.label == nil {
		return nil, nil, nil
	}
	index := map[string]int32{}
	for _, text := range n.label {
		if _, ok := index[text]; !ok {
			index[text] = 0
			names = append(names, text)
		}
	}
	sortLabels(names)
	for i, text := range names {
		index[text] = int32(i)
	}
	class = make([]int32, len(ids))
	for i, id := range ids {
		text, ok := n.label[id]
		switch {
		case ok:
			class[i] = index[text]
		case partial:
			class[i] = -1
		default:
			return nil, nil, &FileError{n.file, 0, fmt.Errorf("no label for node %d", id)}
		}
	}
	return class, names, nil
}

// ClassIndex returns the index of the class of that name, else of the class that is the same whole
// number in another spelling, as 1 and 1.0, else -1.
func ClassIndex(classes []string, name string) int32 {
	if i := slices.Index(classes, name); i >= 0 {
		return int32(i)
	}
	number, _ := wholeNumber([]byte(name))
	return int32(slices.IndexFunc(classes, func(class string) bool {
		of, _ := wholeNumber([]byte(class))
		return bytes.Equal(of, number)
	}))
}

// sortLabels sorts as numbers if all are numbers, else as text.
func sortLabels(names []string) {
	value := map[string]float64{}
	for _, s := range names {
		x, err := decimal.Float(s, 64)
		if err != nil || x != x {
			slices.Sort(names)
			return
		}
		value[s] = x
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(value[a], value[b]), cmp.Compare(a, b))
	})
}
