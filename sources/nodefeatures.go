package sources

import (
	"bytes"
	"fmt"
	"path"
	"slices"

	"github.com/sanflow/sanflow/sources/internal/reading"
)

// maxFeature bounds the index of a feature: a network has a row of weights for
// each, and one line must not ask for billions.
const maxFeature = 1<<24 - 1

const (
	fewFeatures = 64 // columns that are kept as they are
	wellFilled  = 4  // and so are more, if at least a fourth of the values is not 0
)

// features is the content of features.txt.
type features struct {
	offsets []int32 // n+1
	index   []int32 // ascending for each node
	value   []float32
	width   int // one more than the largest index
	weights int64
}

func (n *NodeSet) readFeatures(f *reading.Folder) error {
	x := features{offsets: []int32{0}}
	if err := perNode(f, "features", len(n.Class), x.add); err != nil {
		return err
	}
	g, nodes := n.Graph, len(n.Class)
	switch filled := int64(len(x.index)) * wellFilled; {
	case len(x.index) == 0:
	case x.weights > 0 && int64(nodes)*int64(x.width) <= f.Limit/4 &&
		(x.width <= fewFeatures || filled >= int64(nodes)*int64(x.width)):
		if err := f.Take(path.Join(f.Place, f.Prefix+"features.txt"), 3*4*int64(nodes)*int64(x.width)); err != nil { // and a copy
			return err
		}
		g.NodeAttrs, g.NodeAttr = x.width, make([]float32, nodes*x.width)
		for v := range nodes {
			for i := x.offsets[v]; i < x.offsets[v+1]; i++ {
				g.NodeAttr[v*x.width+int(x.index[i])] = x.value[i]
			}
		}
	default:
		g.SparseOffsets, g.NodeSparse, g.SparseCard = x.offsets, x.index, x.width
		if x.weights > 0 {
			n.Notes = append(n.Notes, fmt.Sprintf("left out: %d of %d values of features.txt, which are neither 0 nor 1; their indices stay", x.weights, len(x.index)))
		}
	}
	return nil
}

// add reads the line of the next node: "index:value …", or an index alone,
// which has the value 1.
func (x *features) add(l *reading.Lines, row []byte) error {
	from := len(x.index)
	last, sorted := int64(-1), true
	for len(row) > 0 {
		var text []byte
		text, row = reading.Field(row)
		i, v, err := feature(l, text)
		if err != nil {
			return err
		}
		if v == 0 {
			continue
		}
		if v != 1 {
			x.weights++
		}
		if len(x.index) >= 1<<31-1 {
			return l.Errorf("more than %d features in all", 1<<31-1)
		}
		if x.index, err = reading.Push(l, x.index, int32(i)); err != nil {
			return err
		}
		if x.value, err = reading.Push(l, x.value, v); err != nil {
			return err
		}
		x.width = max(x.width, int(i)+1)
		sorted, last = sorted && i > last, i
	}
	var err error
	if x.offsets, err = reading.Push(l, x.offsets, int32(len(x.index))); sorted || err != nil {
		return err
	}
	return x.sort(l, from)
}

func feature(l *reading.Lines, text []byte) (index int64, value float32, err error) {
	head, tail, weighed := bytes.Cut(text, []byte(":"))
	index, ok := reading.Integer(head)
	switch {
	case !ok || weighed && len(tail) == 0:
		return 0, 0, l.Errorf("%s, want index:value", reading.Quote(text))
	case index < 0 || index > maxFeature:
		return 0, 0, l.Errorf("feature %d, want 0 to %d", index, maxFeature)
	case !weighed:
		return index, 1, nil
	}
	value, err = reading.Finite(tail)
	if err != nil {
		return 0, 0, l.Errorf("feature %d: %v", index, err)
	}
	return index, value, nil
}

// sort puts the features of the node read last in ascending order. One that
// stands there twice is an error, since its value is not defined.
func (x *features) sort(l *reading.Lines, from int) error {
	type entry struct {
		index int32
		value float32
	}
	list := make([]entry, 0, len(x.index)-from)
	for i := from; i < len(x.index); i++ {
		list = append(list, entry{x.index[i], x.value[i]})
	}
	slices.SortStableFunc(list, func(a, b entry) int { return int(a.index) - int(b.index) })
	for i, e := range list {
		if i > 0 && e.index == list[i-1].index {
			return l.Errorf("feature %d twice", e.index)
		}
		x.index[from+i], x.value[from+i] = e.index, e.value
	}
	return nil
}
