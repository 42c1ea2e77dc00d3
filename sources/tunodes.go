package sources

import (
	"cmp"
	"slices"
)

// graphNodes hands out the node attributes of the graphs, in order.
type graphNodes struct {
	table  table
	x      *tuIndex
	cat    []int32
	attr   []float32
	room   room // of cat and attr
	sorted bool // cat and attr hold all nodes, by slot
}

func openNodes(f *tuFiles, x *tuIndex, values [][]int64, width int) (*graphNodes, error) {
	t, err := f.table(tuNodeLabels, values, tuNodeAttributes, width)
	n := &graphNodes{table: t, x: x}
	if err == nil && x.slot != nil {
		err = n.sort()
	}
	if err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// of returns the attributes of the nodes of a graph, valid until the next
// call. Graphs are asked for in ascending order.
func (n *graphNodes) of(graph int) (cat []int32, attr []float32, err error) {
	c, a := len(n.table.values), n.table.width
	if n.sorted {
		from, to := int(n.x.start[graph]), int(n.x.start[graph+1])
		return n.cat[from*c : to*c], n.attr[from*a : to*a], nil
	}
	if l := n.lines(); l != nil {
		if err := n.room.atLeast(l, 5*int64(n.x.size(graph))*int64(c+a)); err != nil {
			return nil, nil, err
		}
	}
	n.cat, n.attr = slices.Grow(n.cat[:0], n.x.size(graph)*c), slices.Grow(n.attr[:0], n.x.size(graph)*a)
	for range n.x.size(graph) {
		if n.cat, n.attr, err = n.table.next(n.cat, n.attr); err != nil {
			return nil, nil, err
		}
	}
	return n.cat, n.attr, nil
}

// sort reads both files and puts the values of each node into its slot.
func (n *graphNodes) sort() (err error) {
	c, a := len(n.table.values), n.table.width
	if l := n.lines(); l != nil {
		if err := l.take(4 * int64(n.x.nodes()) * int64(c+a)); err != nil {
			return err
		}
	}
	allCat, allAttr := make([]int32, n.x.nodes()*c), make([]float32, n.x.nodes()*a)
	for _, s := range n.x.slot {
		if n.cat, n.attr, err = n.table.next(n.cat[:0], n.attr[:0]); err != nil {
			return err
		}
		copy(allCat[int(s)*c:], n.cat)
		copy(allAttr[int(s)*a:], n.attr)
	}
	n.cat, n.attr, n.sorted = allCat, allAttr, true
	return nil
}

// lines returns one of the files, or nil if there is none.
func (n *graphNodes) lines() *lines { return cmp.Or(n.table.labels, n.table.attrs) }

func (n *graphNodes) close() { n.table.close() }
