package sources

import (
	"bytes"
	"slices"

	"github.com/sanflow/sanflow/sources/internal/reading"
)

// maxFeature bounds feature indices: a network has a row of weights per feature, so one line could demand
// gigabytes.
const maxFeature = 1<<24 - 1

// readFeatures reads features.txt, the feature set of each node.
func (n *NodeSet) readFeatures(f *reading.Folder) error {
	offsets, all, width := []int32{0}, []int32(nil), 0
	err := perNode(f, "features", len(n.Class), func(l *reading.Lines, row []byte) error {
		from := len(all)
		for len(row) > 0 {
			var text []byte
			text, row = reading.Field(row)
			index, has, err := feature(l, text)
			if err != nil {
				return err
			}
			if !has {
				continue
			}
			if len(all) >= 1<<31-1 {
				return l.Errorf("more than %d features in all", 1<<31-1)
			}
			if all, err = reading.Push(l, all, index); err != nil {
				return err
			}
			width = max(width, int(index)+1)
		}
		set := all[from:]
		slices.Sort(set)
		for i := 1; i < len(set); i++ {
			if set[i] == set[i-1] {
				return l.Errorf("feature %d twice", set[i])
			}
		}
		var err error
		offsets, err = reading.Push(l, offsets, int32(len(all)))
		return err
	})
	if err == nil && len(all) > 0 {
		n.Graph.SparseOffsets, n.Graph.NodeSparse, n.Graph.SparseCard = offsets, all, width
	}
	return err
}

// feature parses "index:1" or "index". has is false for "index:0".
func feature(l *reading.Lines, text []byte) (index int32, has bool, err error) {
	head, tail, valued := bytes.Cut(text, []byte(":"))
	at, ok := reading.Integer(head)
	switch {
	case !ok || valued && len(tail) == 0:
		return 0, false, l.Errorf("%s, want index:1 or index", reading.Quote(text))
	case at < 0 || at > maxFeature:
		return 0, false, l.Errorf("feature %d, want 0 to %d", at, maxFeature)
	case !valued:
		return int32(at), true, nil
	}
	x, err := reading.Finite(tail)
	if err != nil {
		return 0, false, l.Errorf("feature %d: %v", at, err)
	}
	if x != 0 && x != 1 {
		return 0, false, l.Errorf("feature %d: %v, want 0 or 1; sources.Tables and -nodes read numbers", at, x)
	}
	return int32(at), x == 1, nil
}
