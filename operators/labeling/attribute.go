package labeling

import (
	"fmt"
	"math"
)

// Attribute labels a node with one of its continuous attributes, or with the
// index of a discrete one. A node whose number is missing, NaN, has the least label, -Inf. O(n).
type Attribute struct {
	// Column is the attribute, from 0: of the continuous ones, or of the
	// discrete ones if Discrete is set.
	Column   int
	Discrete bool
}

// String returns "attribute-0", or "category-0" for a discrete attribute.
func (l Attribute) String() string {
	if l.Discrete {
		return fmt.Sprintf("category-%d", l.Column)
	}
	return fmt.Sprintf("attribute-%d", l.Column)
}

// Label implements Labeling. A graph without such an attribute is an error.
func (l Attribute) Label(in Input, labels []float64) error {
	g := in.Graph
	width := g.NodeAttrs
	if l.Discrete {
		width = g.NodeCats
	}
	if l.Column < 0 || l.Column >= width {
		return fmt.Errorf("no such attribute: nodes have %d", width)
	}
	for v := range labels {
		if l.Discrete {
			labels[v] = float64(g.NodeCat[v*width+l.Column])
		} else if labels[v] = float64(g.NodeAttr[v*width+l.Column]); labels[v] != labels[v] {
			labels[v] = math.Inf(-1)
		}
	}
	return nil
}
