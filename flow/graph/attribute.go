package graph

import (
	"fmt"
	"math"
	"slices"
)

// attribute is an attribute with a fixed number of values for each node, or for each CSR entry. One
// of the slices has the values; the other is empty.
type attribute struct {
	name    string
	ofEdges bool
	cat     *[]int32
	attr    *[]float32
	width   int
}

var (
	noCat  []int32
	noAttr []float32
)

// attributes returns the table of attributes. Same, Bytes, Check and Renumber read it, so an
// attribute that is added here, with its slice in Graph, is complete.
func (g *Graph) attributes() [4]attribute {
	return [...]attribute{
		{"node_cat", false, &g.NodeCat, &noAttr, g.NodeCats},
		{"node_attr", false, &noCat, &g.NodeAttr, g.NodeAttrs},
		{"edge_cat", true, &g.EdgeCat, &noAttr, g.EdgeCats},
		{"edge_attr", true, &noCat, &g.EdgeAttr, g.EdgeAttrs},
	}
}

// Bytes returns the size of the slices of g.
func (g *Graph) Bytes() int64 {
	n := len(g.Offsets) + len(g.Neighbors) + len(g.SparseOffsets) + len(g.NodeSparse)
	for _, a := range g.attributes() {
		n += len(*a.cat) + len(*a.attr)
	}
	return 4 * int64(n)
}

func (a *attribute) checkLen(g *Graph) error {
	rows := g.N()
	if a.ofEdges {
		rows = len(g.Neighbors)
	}
	if got := len(*a.cat) + len(*a.attr); got != rows*a.width {
		return fmt.Errorf("graph: %s has %d values, want %d × %d", a.name, got, rows, a.width)
	}
	return nil
}

func (a *attribute) notNegative() error {
	for i, v := range *a.cat {
		if v < 0 {
			of := "node"
			if a.ofEdges {
				of = "entry"
			}
			return fmt.Errorf("graph: %s of %s %d is %d, want an index from 0", a.name, of, i/max(a.width, 1), v)
		}
	}
	return nil
}

// sameRows compares two rows bit by bit, so that NaN equals itself.
func (a *attribute) sameRows(i, j int) bool {
	return slices.Equal(row(*a.cat, i, a.width), row(*a.cat, j, a.width)) &&
		slices.EqualFunc(row(*a.attr, i, a.width), row(*a.attr, j, a.width), func(x, y float32) bool {
			return math.Float32bits(x) == math.Float32bits(y)
		})
}

// empty replaces the slice of a by an empty one with capacity for as many values.
func (a *attribute) empty() {
	if a.cat != &noCat {
		*a.cat = make([]int32, 0, len(*a.cat))
	} else {
		*a.attr = make([]float32, 0, len(*a.attr))
	}
}

// push appends row i of another graph's attribute.
func (a *attribute) push(from *attribute, i int) {
	if a.cat != &noCat {
		*a.cat = append(*a.cat, row(*from.cat, i, from.width)...)
	} else {
		*a.attr = append(*a.attr, row(*from.attr, i, from.width)...)
	}
}

// row returns row i, or nil if the attribute has no values.
func row[T any](x []T, i, width int) []T {
	if len(x) == 0 {
		return nil
	}
	return x[i*width : (i+1)*width]
}
