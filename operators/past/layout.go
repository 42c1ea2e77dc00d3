package past

import (
	"slices"

	"github.com/sanflow/sanflow/flow/record"
)

// KnownClass, TimeBefore and Turn are the channels that a past adds to node_cat, node_attr and edge_cat.
const KnownClass, TimeBefore, Turn = "known class", "log(1 + time before)", "turn"

// Layout returns the layout of the pasts of rows of a graph of layout l. The class of the row of a past, if rows
// have classes, is the class of its graph.
func (s Settings) Layout(l record.Layout) record.Layout {
	if len(l.NodeClasses) > 0 {
		l.Classes, l.NodeClasses, l.Real = l.NodeClasses, nil, false
	}
	if len(s.Classes) > 0 {
		words := slices.Sorted(slices.Values(s.Classes))
		l.NodeCat = append(slices.Clone(l.NodeCat), record.Channel{Name: KnownClass, Card: len(words) + 1, Words: words})
	}
	l.NodeAttr = append(slices.Clone(l.NodeAttr), record.Channel{Name: TimeBefore})
	l.EdgeCat = append(slices.Clone(l.EdgeCat), record.Channel{Name: Turn, Card: 4, Words: []string{"earlier", "later", "latest"}})
	return l
}
