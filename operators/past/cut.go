package past

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
)

// Settings that are 0 have these values.
const (
	Hops  = 3
	Bound = 8
	Nodes = 64 // package field is fastest up to 64 nodes
)

// Rows is a graph of rows and keys. It is borrowed.
type Rows struct {
	Graph *graph.Graph
	// N is the number of rows: nodes 0 … N-1. Rows 0 … Timed-1 have a time.
	N, Timed int
	// Time is the time of each row, ascending up to Timed.
	Time []float64
	// Class is the class of each row, an index of Settings.Classes, where other rows may know it: for
	// instance that of training rows. -1 is none. The default is none.
	Class []int32
	// Cuts are numbers of rows, ascending. A row before the last one knows the classes that were known to the row of
	// the last cut up to it, and none before the first: those of earlier.Cuts, so that a model learns from rows whose known
	// classes are as old as those of the rows that it will answer about. A row that is not in the graph is behind all cuts. The default is none.
	Cuts []int
	// Tail has what came after the graph. The default is nothing. Cuts and a future are not for a graph with a tail.
	Tail *Tail
}

// Tail is the nodes behind those of a graph of rows, in the order in which they came, and the edges of its rows. It is borrowed.
type Tail struct {
	// Graph has the nodes, with the attributes of the whole graph: node i is node N+i of all, where N is the number of nodes of the graph. Rows have
	// edges to keys, by their numbers among all. Keys have none: see Behind.
	Graph *graph.Graph
	// Time and Class are those of the nodes, as in Rows. The time of a key is not read.
	Time  []float64
	Class []int32
	// Behind has the rows of a key that has other ones than in the graph: all those of known time, ascending in time, and of one time in their numbers.
	Behind map[int32][]int32
}

// NewTail returns a tail without nodes, behind a graph.
func NewTail(g *graph.Graph) Tail {
	return Tail{
		Graph:  &graph.Graph{Offsets: []int32{0}, NodeCats: g.NodeCats, NodeAttrs: g.NodeAttrs, EdgeCats: g.EdgeCats, EdgeAttrs: g.EdgeAttrs},
		Behind: map[int32][]int32{},
	}
}

// At returns the graph that has a node, that of the rows or of the tail, and the number of the node in it.
func (r *Rows) At(node int32) (in *graph.Graph, v int) {
	if n := r.Graph.N(); int(node) >= n {
		return r.Tail.Graph, int(node) - n
	}
	return r.Graph, int(node)
}

// TimeOf returns the time of a row, NaN if it is unknown.
func (r *Rows) TimeOf(row int32) float64 {
	switch n := r.Graph.N(); {
	case int(row) >= n:
		return r.Tail.Time[int(row)-n]
	case int(row) < r.Timed:
		return r.Time[row]
	}
	return math.NaN()
}

// ClassOf returns the class of a row that other rows may know, which the caller may set. Class must be set.
func (r *Rows) ClassOf(row int32) *int32 {
	if n := r.Graph.N(); int(row) >= n {
		return &r.Tail.Class[int(row)-n]
	}
	return &r.Class[row]
}

// Before reports whether a row is before a time, or has that time and a lower number than other. Both are false if one of the times is unknown.
func (r *Rows) Before(row int32, time float64, other int32) bool {
	t := r.TimeOf(row)
	return t < time || t == time && row < other
}

// Behind returns the rows of a key: those of known time, in the order of Before, and then some of unknown time. It is borrowed.
func (r *Rows) Behind(key int32) []int32 {
	if r.Tail != nil {
		if rows, ok := r.Tail.Behind[key]; ok || int(key) >= r.Graph.N() {
			return rows
		}
	}
	return r.Graph.Adj(key)
}

// BehindUpTo returns the rows of a key that are before a time, or have that time and a lower number than other.
func (r *Rows) BehindUpTo(key int32, time float64, other int32) []int32 {
	rows := r.Behind(key)
	if r.Tail == nil && int(other) < r.Timed { // rows of known time are numbered by time
		return rows[:scratch.Before(rows, func(row int32) bool { return row < other })]
	}
	return rows[:scratch.Before(rows, func(row int32) bool { return r.Before(row, time, other) })]
}

// Add appends a node to the tail, and returns its number. A row has keys, ascending, and the attributes of its edges to them.
func (r *Rows) Add(time float64, class int32, cat []int32, attr []float32, keys, edgeCat []int32) int32 {
	t, g := r.Tail, r.Tail.Graph
	v := int32(r.Graph.N() + g.N())
	t.Time, t.Class = append(t.Time, time), append(t.Class, class)
	g.NodeCat, g.NodeAttr = append(g.NodeCat, cat...), append(g.NodeAttr, attr...)
	g.Neighbors, g.EdgeCat = append(g.Neighbors, keys...), append(g.EdgeCat, edgeCat...)
	g.Offsets = append(g.Offsets, int32(len(g.Neighbors)))
	for _, key := range keys {
		if time != time {
			break
		}
		at := len(r.BehindUpTo(key, time, v))
		rows, ok := t.Behind[key]
		if !ok {
			rows = slices.Clone(r.BehindUpTo(key, math.Inf(1), v)) // the rows of known time
		}
		t.Behind[key] = slices.Insert(rows, at, v)
	}
	return v
}

// Settings describe the past of a row. The zero value has the documented defaults.
type Settings struct {
	// Hops is how many steps lead away from the row: 1 = its keys, 2 = rows behind these, 3 = the keys of
	// those. 0 = Hops.
	Hops int
	// Bound is how many rows there are behind a key at most. 0 = Bound.
	Bound int
	// Nodes is how many nodes a past has at most. 0 = Nodes.
	Nodes int
	// Future adds the nearest Bound rows after the row behind each key, alternating with those
	// before it. All classes in Rows.Class are then known, except that of the row.
	Future bool
	// Delay is the time after which the class of a row is known.
	Delay float64
	// Classes are the names of the classes. The default is no channel of known classes.
	Classes []string
}

// check returns an error for the first wrong setting.
func (s Settings) check() error {
	for _, n := range []struct {
		name string
		n    int
	}{{"Hops", s.Hops}, {"Bound", s.Bound}, {"Nodes", s.Nodes}} {
		if n.n < 0 || n.n > math.MaxInt16 {
			return fmt.Errorf("%s is %d, want 0 to %d", n.name, n.n, math.MaxInt16)
		}
	}
	if !(s.Delay >= 0) {
		return fmt.Errorf("Delay is %v, want a time from 0", s.Delay)
	}
	return nil
}

// New is a row that is not in the graph.
type New struct {
	// Graph is a star: node 0 is the row, and the others are its keys, with the attributes of the whole
	// graph. Those of a key that is in the whole graph are taken from there.
	Graph *graph.Graph
	// Nodes is the number of each node in the whole graph, -1 for the row and for a key that is not there.
	Nodes []int32
	// Time is the time of the row, NaN if it is unknown. All rows up to that time are before it.
	Time float64
}

// Cutter cuts pasts. The zero value is ready. It is not safe for concurrent use.
type Cutter struct {
	Settings

	rows Rows
	star *New // row that CutNew cuts; nil for a row of the graph

	root int32   // number of the row; the largest int32 for a row that is not in the graph
	time float64 // time of the row

	// A class is known if its row is below knownTo and its Delay has passed at knownAt.
	knownTo int32
	knownAt float64

	nodes []int32 // numbers in the whole graph; ^i is node i of the star
	isRow []bool  // by index in nodes: whether the node is a row
	links []link  // result of linksOf
	ends  []ends  // rows behind each key of a ring; scratch of rowsBehind
	near  []int32 // last row before the row at each of its keys, nodes 1, 2, …, or -1
	table []slot  // hash table of the indices in nodes
	epoch uint32

	pairs []pair
	next  []int32
	named []string // copy of the Classes for which rank was computed
	rank  []int32  // rank of each class among the sorted names
	made  graph.Graph
	whole []int32
}

// link is an edge from a row to a key.
type link struct {
	key   int32 // number of the key, of the kind in nodes
	entry int32 // CSR position of the edge in the graph of the row
	cat   int32 // first discrete attribute of the edge
}

// ends has the rows behind a key that are not taken yet, on both sides of the row.
type ends struct{ before, after []int32 }

// turn returns one of these values of the channel Turn.
const (
	earlierRow = iota
	laterRow
	latestRow
	noTurn
)

// pair is an edge of the past, from a row to a key.
type pair struct{ row, key, entry int32 }

// Cut returns the past of row root, and the number of each of its nodes in the whole graph. Both are
// borrowed until the next call. Settings and rows that contradict each other are errors.
func (c *Cutter) Cut(rows *Rows, root int32) (*graph.Graph, []int32, error) {
	if err := c.begin(rows); err != nil {
		return nil, nil, err
	}
	if t := int(root) - rows.Graph.N(); root < 0 || int(root) >= rows.N && (rows.Tail == nil || t < 0 || t >= rows.Tail.Graph.N()) {
		return nil, nil, fmt.Errorf("node %d is not among the %d rows", root, rows.N)
	}
	c.star, c.root, c.time = nil, root, rows.TimeOf(root)
	return c.cut(root)
}

// CutNew is Cut for a row that is not in the graph. Its number is -1.
func (c *Cutter) CutNew(rows *Rows, row New) (*graph.Graph, []int32, error) {
	if err := c.begin(rows); err != nil {
		return nil, nil, err
	}
	if err := row.check(rows); err != nil {
		return nil, nil, err
	}
	c.star, c.root, c.time = &row, math.MaxInt32, row.Time
	return c.cut(^0)
}

func (n *New) check(rows *Rows) error {
	h, g := n.Graph, rows.Graph
	switch {
	case h == nil || h.N() == 0:
		return errors.New("the new row has no graph")
	case h.Check() != nil:
		return h.Check()
	case len(n.Nodes) != h.N():
		return fmt.Errorf("there are %d numbers of the %d nodes of the new row", len(n.Nodes), h.N())
	case h.Degree(0) != h.N()-1 || len(h.Neighbors) != 2*(h.N()-1):
		return errors.New("the graph of the new row is no star of its keys")
	case h.NodeCats != g.NodeCats || h.NodeAttrs != g.NodeAttrs || h.SparseCard != g.SparseCard ||
		h.Degree(0) > 0 && (h.EdgeCats != g.EdgeCats || h.EdgeAttrs != g.EdgeAttrs):
		return errors.New("the new row has other attributes than the graph")
	}
	for i, v := range n.Nodes {
		if v < -1 || int(v) >= g.N()+rows.Tail.n() || v >= 0 && (i == 0 || int(v) < rows.N) {
			return fmt.Errorf("node %d of the new row is node %d of the graph, want a key or -1", i, v)
		}
	}
	return nil
}

// begin checks the settings and stores the graph.
func (c *Cutter) begin(rows *Rows) error {
	switch g := rows.Graph; {
	case g.Directed:
		return errors.New("the graph is directed, want rows and keys without directions")
	case rows.N < 0 || rows.N > g.N() || rows.Timed < 0 || rows.Timed > rows.N:
		return fmt.Errorf("%d rows, %d of them with a time, of %d nodes", rows.N, rows.Timed, g.N())
	case len(rows.Time) < rows.Timed:
		return fmt.Errorf("there are %d times of %d rows", len(rows.Time), rows.Timed)
	case rows.Tail != nil && (len(rows.Cuts) > 0 || c.Future):
		return errors.New("there is a tail, and cuts or a future")
	case len(rows.Cuts) > 0 && (rows.Cuts[0] < 0 || rows.Cuts[len(rows.Cuts)-1] > rows.N):
		return fmt.Errorf("the cuts are from %d to %d, want some of 0 to %d, the number of rows", rows.Cuts[0], rows.Cuts[len(rows.Cuts)-1], rows.N)
	case rows.Class != nil && len(rows.Class) < rows.N:
		return fmt.Errorf("there are classes of %d of %d rows", len(rows.Class), rows.N)
	}
	c.rows = *rows
	if err := c.check(); err != nil {
		return err
	}
	if !slices.Equal(c.named, c.Classes) {
		sorted := slices.Sorted(slices.Values(c.Classes))
		c.named, c.rank = slices.Clone(c.Classes), c.rank[:0]
		for _, name := range c.Classes {
			at, _ := slices.BinarySearch(sorted, name)
			c.rank = append(c.rank, int32(at))
		}
	}
	return nil
}

// n returns the number of nodes of a tail, 0 for nil.
func (t *Tail) n() int {
	if t == nil {
		return 0
	}
	return t.Graph.N()
}

// cut returns the past of the row root, and the numbers of its nodes in the whole graph. ^0 is the new row of CutNew.
func (c *Cutter) cut(root int32) (*graph.Graph, []int32, error) {
	c.knownTo, c.knownAt = math.MaxInt32, c.time
	cuts := c.rows.Cuts
	switch i := sort.SearchInts(cuts, int(c.root)+1); {
	case i == len(cuts):
	case i == 0:
		c.knownTo = 0
	default:
		c.knownTo = int32(cuts[i-1])
		c.knownAt = c.rows.TimeOf(c.knownTo)
	}
	c.walk(root)
	c.join()
	c.attributes()
	return &c.made, c.whole, nil
}

// walk sets nodes to root, its keys, the rows behind them, and so on for Hops rings, until there are
// Nodes nodes.
func (c *Cutter) walk(root int32) {
	most := cmp.Or(c.Nodes, Nodes)
	size := 4
	for size < 2*most {
		size *= 2
	}
	if len(c.table) != size {
		c.table, c.epoch = make([]slot, size), 0
	}
	if c.epoch++; c.epoch == 0 {
		clear(c.table)
		c.epoch = 1
	}
	c.nodes, c.isRow, c.near = c.nodes[:0], c.isRow[:0], c.near[:0]
	c.add(root, true)
	for hop, begin := 0, 0; hop < cmp.Or(c.Hops, Hops); hop++ {
		end := len(c.nodes)
		if hop%2 == 0 {
			c.keysOf(begin, end, most)
		} else {
			c.rowsBehind(begin, end, most)
		}
		if begin = end; len(c.nodes) == end || len(c.nodes) >= most {
			return
		}
	}
}

// keysOf adds the keys of the rows nodes[begin:end].
func (c *Cutter) keysOf(begin, end, most int) {
	for i := begin; i < end; i++ {
		row := c.nodes[i]
		links := c.linksOf(row)
		for i, l := range links { // insertion sort in canonical order
			for ; i > 0 && c.precedes(row, &l, &links[i-1]); i-- {
				links[i] = links[i-1]
			}
			links[i] = l
		}
		for _, l := range links {
			if len(c.nodes) >= most {
				return
			}
			c.add(l.key, false)
		}
	}
}

// linksOf returns the edges of a row, borrowed until the next call.
func (c *Cutter) linksOf(row int32) []link {
	in, at := c.at(row)
	c.links = c.links[:0]
	for e := in.Offsets[at]; e < in.Offsets[at+1]; e++ {
		key, cat := in.Neighbors[e], int32(0)
		switch {
		case row < 0 && c.star.Nodes[key] < 0:
			key = ^key
		case row < 0:
			key = c.star.Nodes[key]
		case int(key) < c.rows.N:
			continue // edges to rows do not count
		}
		if in.EdgeCats > 0 {
			cat = in.EdgeCat[int(e)*in.EdgeCats]
		}
		c.links = append(c.links, link{key, e, cat})
	}
	return c.links
}

// precedes reports whether edge a of a row precedes edge b in canonical order.
func (c *Cutter) precedes(row int32, a, b *link) bool {
	if a.cat != b.cat {
		return a.cat < b.cat
	}
	in, _ := c.at(row)
	cats := func(l *link) []int32 { return in.EdgeCat[int(l.entry)*in.EdgeCats:][:in.EdgeCats] }
	return cmp.Or(slices.Compare(cats(a), cats(b)), slices.Compare(c.cats(a.key), c.cats(b.key)), cmp.Compare(a.key, b.key)) < 0
}

// at returns the graph that has a node, the star if node is negative, and its number in that graph.
func (c *Cutter) at(node int32) (in *graph.Graph, v int) {
	if node < 0 {
		return c.star.Graph, int(^node)
	}
	return c.rows.At(node)
}

// cats returns the discrete attributes of a node.
func (c *Cutter) cats(node int32) []int32 {
	g, v := c.at(node)
	return g.NodeCat[v*g.NodeCats:][:g.NodeCats]
}

// rowsBehind adds the rows behind the keys nodes[begin:end], one of each key in turn.
func (c *Cutter) rowsBehind(begin, end, most int) {
	c.ends = c.ends[:0]
	for _, key := range c.nodes[begin:end] {
		var e ends
		if key >= 0 {
			if e.before = c.rows.BehindUpTo(key, c.time, c.root); c.Future && c.time == c.time {
				e.after = c.rows.Behind(key)[len(e.before):]
				if len(e.after) > 0 && e.after[0] == c.root {
					e.after = e.after[1:]
				}
			}
		}
		c.ends = append(c.ends, e)
		if last := len(e.before) - 1; begin == 1 && last >= 0 {
			c.near = append(c.near, e.before[last])
		} else if begin == 1 {
			c.near = append(c.near, -1)
		}
	}
	for range cmp.Or(c.Bound, Bound) {
		left := false
		for i := range c.ends {
			e := &c.ends[i]
			if n := len(e.before); n > 0 {
				if left = true; len(c.nodes) >= most {
					return
				}
				c.add(e.before[n-1], true)
				e.before = e.before[:n-1]
			}
			if len(e.after) > 0 && e.after[0] < int32(c.rows.Timed) {
				if left = true; len(c.nodes) >= most {
					return
				}
				c.add(e.after[0], true)
				e.after = e.after[1:]
			}
		}
		if !left {
			return
		}
	}
}

// slot is an entry of Cutter.table. It is free unless its epoch is that of the current cut.
type slot struct {
	node, at int32
	epoch    uint32
}

// find returns the slot of a node, or the free slot for it.
func (c *Cutter) find(node int32) *slot {
	mask := uint32(len(c.table) - 1)
	for i := uint32(node) * 0x9E3779B1 >> 7 & mask; ; i = (i + 1) & mask {
		if s := &c.table[i]; s.epoch != c.epoch || s.node == node {
			return s
		}
	}
}

// add appends node to nodes unless nodes has it. row is true for a row and false for a key.
func (c *Cutter) add(node int32, row bool) {
	if s := c.find(node); s.epoch != c.epoch {
		*s = slot{node, int32(len(c.nodes)), c.epoch}
		c.nodes, c.isRow = append(c.nodes, node), append(c.isRow, row)
	}
}

// join builds the edges between the nodes, with their attributes.
func (c *Cutter) join() {
	n, g := len(c.nodes), c.rows.Graph
	m := &c.made
	m.Offsets = scratch.Resize(m.Offsets, n+1)
	clear(m.Offsets)
	c.pairs = c.pairs[:0]
	for i, v := range c.nodes {
		if !c.isRow[i] {
			continue
		}
		first := len(c.pairs)
		for _, l := range c.linksOf(v) {
			s := c.find(l.key)
			if s.epoch != c.epoch {
				continue
			}
			p := pair{int32(i), s.at, l.entry}
			j := len(c.pairs)
			c.pairs = append(c.pairs, p)
			for ; j > first && c.pairs[j-1].key > p.key; j-- {
				c.pairs[j] = c.pairs[j-1]
			}
			c.pairs[j] = p
			m.Offsets[i+1]++
			m.Offsets[p.key+1]++
		}
	}
	for i := range n {
		m.Offsets[i+1] += m.Offsets[i]
	}
	c.next = append(c.next[:0], m.Offsets[:n]...)
	m.EdgeCats, m.EdgeAttrs = g.EdgeCats+1, g.EdgeAttrs
	m.Neighbors = scratch.Resize(m.Neighbors, 2*len(c.pairs))
	m.EdgeCat = scratch.Resize(m.EdgeCat, len(m.Neighbors)*m.EdgeCats)
	m.EdgeAttr = scratch.Resize(m.EdgeAttr, len(m.Neighbors)*g.EdgeAttrs)
	for _, p := range c.pairs { // ascending by row, then by key, so all lists ascend
		in, _ := c.at(c.nodes[p.row])
		for _, end := range [2][2]int32{{p.row, p.key}, {p.key, p.row}} {
			at := int(c.next[end[0]])
			c.next[end[0]]++
			m.Neighbors[at] = end[1]
			cat := m.EdgeCat[at*m.EdgeCats:][:m.EdgeCats]
			copy(cat, in.EdgeCat[int(p.entry)*g.EdgeCats:][:g.EdgeCats])
			cat[g.EdgeCats] = c.turn(&p)
			copy(m.EdgeAttr[at*g.EdgeAttrs:][:g.EdgeAttrs], in.EdgeAttr[int(p.entry)*g.EdgeAttrs:])
		}
	}
}

// turn returns the value of the channel Turn for an edge.
func (c *Cutter) turn(p *pair) int32 {
	row := c.nodes[p.row]
	switch key := int(p.key) - 1; {
	case p.row == 0 || key >= len(c.near):
		return noTurn
	case row == c.near[key]:
		return latestRow
	case c.Future && !c.rows.Before(row, c.time, c.root):
		return laterRow
	}
	return earlierRow
}

// attributes copies the attributes of the nodes and adds the channels of a past.
func (c *Cutter) attributes() {
	n, m := len(c.nodes), &c.made
	known := min(1, len(c.Classes))
	m.NodeCats, m.NodeAttrs, m.SparseCard = c.rows.Graph.NodeCats+known, c.rows.Graph.NodeAttrs+1, c.rows.Graph.SparseCard
	m.NodeCat = scratch.Resize(m.NodeCat, n*m.NodeCats)
	m.NodeAttr = scratch.Resize(m.NodeAttr, n*m.NodeAttrs)
	m.SparseOffsets, m.NodeSparse, c.whole = m.SparseOffsets[:0], m.NodeSparse[:0], c.whole[:0]
	if m.SparseCard > 0 {
		m.SparseOffsets = append(m.SparseOffsets, 0)
	}
	for i, node := range c.nodes {
		g, v := c.at(node)
		cat, attr := m.NodeCat[i*m.NodeCats:][:m.NodeCats], m.NodeAttr[i*m.NodeAttrs:][:m.NodeAttrs]
		copy(cat, g.NodeCat[v*g.NodeCats:][:g.NodeCats])
		copy(attr, g.NodeAttr[v*g.NodeAttrs:][:g.NodeAttrs])
		before, class := float32(math.NaN()), int32(len(c.Classes))
		switch {
		case i == 0:
			before = 0
		case c.isRow[i]:
			since := c.time - c.rows.TimeOf(node)
			before = float32(math.Copysign(math.Log1p(math.Abs(since)), since))
			if known > 0 && c.rows.Class != nil && c.knows(node) {
				of := *c.rows.ClassOf(node)
				if of >= 0 && int(of) < len(c.rank) {
					class = c.rank[of]
				}
			}
		}
		if attr[len(attr)-1] = before; known > 0 {
			cat[len(cat)-1] = class
		}
		if m.SparseCard > 0 {
			m.NodeSparse = append(m.NodeSparse, g.Sparse(int32(v))...)
			m.SparseOffsets = append(m.SparseOffsets, int32(len(m.NodeSparse)))
		}
		c.whole = append(c.whole, max(node, -1))
	}
}

// knows reports whether the class of row is known at the time of the root.
func (c *Cutter) knows(row int32) bool {
	return c.Future || row < c.knownTo && (c.Delay == 0 || c.rows.TimeOf(row)+c.Delay < c.knownAt)
}
