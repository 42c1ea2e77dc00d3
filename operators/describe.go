package operators

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/count"
)

// Describe describes each row by numbers, as column record.RowColumns: the root of the row where rows have roots, one each, and else
// the graph. Their names are those of the attributes:
//
//	amount                       of the root; NaN where it is missing or not finite, as all numbers that there are not
//	amount, hop 1: mean          of the neighbours that have one; deviation, least, largest; missing, the share that has none
//	amount, hop 2: mean          of the means of the neighbours: a walk of two edges, which may lead back to the root; deviation of these
//	                             means; least, largest of all that walks of this length reach
//	degree, degree, hop 1: mean  likewise
//	colour=red, hop 1: share     of the neighbours, for attributes of at most MostShares values
//	length, edges: sum           of the edges of the root; mean, deviation, least, largest, missing
//	length, kind=road edges: sum of those with this value of the first discrete attribute of edges; mean, largest, number
//
// and of a graph
//
//	nodes, edges
//	amount: mean                 of all nodes; deviation, least, middle, largest, missing; of the degree too
//	colour=red: share            of all nodes
//	length, edges: sum           of all edges, or arcs; mean, deviation, least, largest, missing
//	kind=road edges: share       of all edges
//
// A class is no part of them. Neighbours of a directed graph are those that arcs lead to. Of more than count.MostChannels continuous
// attributes of nodes, those of the root stand alone. The numbers do not depend on the numbering of nodes.
//
// The first row with a root costs O(n·columns + m·columns) for the whole graph, hubs or not, and 4·n·columns bytes, which rows of the
// same graph share. A row costs its columns then.
type Describe struct {
	// Hops is the number of edges of a walk, at most. 0 = 2.
	Hops int
	// Bound, if not 0, ends walks at nodes with more than so many edges: from hop 2 on, the numbers of hops are without what lies behind
	// such a node, and such a root has none. A row then depends on a bounded number of nodes beside the neighbours of its root.
	Bound int
}

// MostShares is the number of values of a discrete attribute of which Describe has shares, at most.
const MostShares = 16

var _ flow.Operator = Describe{}

// Open checks the settings.
func (d Describe) Open(in *arrow.Schema) (flow.Stage, error) {
	if d.Hops < 0 || d.Hops > 8 || d.Bound < 0 {
		return nil, fmt.Errorf("Hops is %d and Bound %d, want Hops from 0 to 8, and Bound from 0", d.Hops, d.Bound)
	}
	if d.Hops == 0 {
		d.Hops = 2
	}
	bound, err := record.Bind(in)
	if err != nil {
		return nil, err
	}
	rooted, shared := in.HasField(record.Roots), &sharedGraphs{}
	b := description{l: bound.Layout, g: &graph.Graph{}, hops: d.Hops}
	b.describe(rooted)
	width := len(b.channels)
	schema, err := record.Extend(in, record.TensorField[float32](record.RowColumns, []int{width}, b.channels))
	if err != nil {
		return nil, err
	}
	return stageOfRows(schema, func(mem memory.Allocator) rowBuilder {
		s := &describer{Describe: d, viewer: viewer{bound: bound}, rooted: rooted, width: width, shared: shared}
		s.out = addColumn(&s.columns, record.RowColumns, record.NewFixed[float32](mem, width))
		return s
	}), nil
}

// describer is one worker of a running Describe.
type describer struct {
	Describe
	columns
	viewer
	rooted bool
	width  int // number of columns
	shared *sharedGraphs

	rec   arrow.Record // record of the current row, borrowed
	roots record.ListView[int32]
	held  *sharedGraph // shared graph of the last row; nil before the first
	out   *record.Fixed[float32]
}

func (d *describer) Begin(rec arrow.Record) (err error) {
	d.rec = rec
	if d.rooted {
		if d.roots, err = record.ListsOf[int32](rec, record.Roots); err != nil {
			return err
		}
	}
	return d.viewer.Begin(rec)
}

func (d *describer) Row(ctx context.Context, row int) error {
	g := d.graph(row)
	if !d.rooted {
		b := description{l: d.bound.Layout, g: &g, table: d.out.Grow(1), width: d.width}
		b.describe(false)
		return nil
	}
	roots := d.roots.Row(row)
	if len(roots) != 1 || roots[0] < 0 || int(roots[0]) >= g.N() {
		return fmt.Errorf("the roots are %v, want one of %d nodes", roots, g.N())
	}
	if g.Degrees != nil { // g was cut out for this root
		b := description{l: d.bound.Layout, g: &g, hops: d.Hops, bound: d.Bound, root: &roots[0], table: d.out.Grow(1), width: d.width, ctx: ctx}
		b.near = make([]bool, g.N())
		for _, v := range g.Adj(roots[0]) {
			b.near[v] = true
		}
		b.describe(true)
		return context.Cause(ctx)
	}
	if d.held == nil || !d.held.graph.Same(&g) {
		d.release()
		d.held = d.shared.get(&g, d.rec)
	}
	table, err := d.table(ctx, d.held)
	if err != nil {
		return err
	}
	copy(d.out.Grow(1), table[int(roots[0])*d.width:])
	return nil
}

// table returns the numbers of all nodes of a graph, (nodes, width). It computes them once for each
// graph.
func (d *describer) table(ctx context.Context, s *sharedGraph) ([]float32, error) {
	s.numbersMu.Lock()
	defer s.numbersMu.Unlock()
	if s.numbers != nil {
		return s.numbers, nil
	}
	n := s.graph.N()
	if n > math.MaxInt32/d.width {
		return nil, fmt.Errorf("%d numbers of %d nodes are more than %d, which is the most of a graph", d.width, n, math.MaxInt32)
	}
	b := description{l: d.bound.Layout, g: &s.graph, hops: d.Hops, bound: d.Bound, table: make([]float32, n*d.width), width: d.width, ctx: ctx}
	if b.describe(true); ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.numbers = b.table
	return b.table, nil
}

func (d *describer) release() {
	if d.held != nil {
		d.shared.put(d.held)
		d.held = nil
	}
}

func (d *describer) Release() {
	d.release()
	d.columns.Release()
}

// description computes a table of numbers column by column and collects the names of the columns.
// Without a table it collects the names only.
type description struct {
	l     record.Layout
	g     *graph.Graph
	hops  int
	bound int       // bound on walks; see Describe.Bound
	root  *int32    // the only node whose numbers are asked for, or nil
	near  []bool    // by node: it is a neighbour of root
	table []float32 // (rows, width)
	width int
	ctx   context.Context // context of the row; nil: nothing ends the computation

	channels []record.Channel
	list     []float64
}

// put adds a column x with its name. The values of x are differences from offset.
func (b *description) put(offset float64, x []float64, name ...any) {
	if b.root != nil {
		if len(x) > 1 {
			x = x[*b.root:]
		}
		b.table[len(b.channels)] = float32(x[0])
		x = nil
	}
	for i, x := range x {
		if i*b.width < len(b.table) {
			b.table[i*b.width+len(b.channels)] = float32(x)
		}
	}
	b.channels = append(b.channels, record.Channel{Name: fmt.Sprint(name...), Offset: offset})
}

// describe adds all columns: of the nodes if rooted, else of the graph.
func (b *description) describe(rooted bool) {
	g := b.g
	nodes, edges := b.nodes, b.edges
	if !rooted {
		nodes, edges = b.all, b.allEdges
		b.put(0, []float64{float64(g.N())}, "nodes")
		b.put(0, []float64{float64(g.M())}, "edges")
	}
	for c, channel := range b.l.NodeAttr {
		nodes(channel.Name, channel.Offset, valuesOf(g.NodeAttr, g.NodeAttrs, c), false)
	}
	degrees := make([]float64, g.N())
	for v := range degrees {
		degrees[v] = float64(g.WholeDegree(int32(v)))
	}
	nodes("degree", 0, degrees, false)
	for c, channel := range b.l.NodeCat {
		for i := range shared(channel) {
			nodes(wordOf(channel, i), 0, equal(g.NodeCat, g.NodeCats, c, i), true)
		}
	}
	for c, channel := range b.l.EdgeAttr {
		edges(channel.Name, channel.Offset, valuesOf(g.EdgeAttr, g.EdgeAttrs, c), false)
	}
	for c, channel := range b.l.EdgeCat {
		for i := range shared(channel) {
			edges(wordOf(channel, i), 0, equal(g.EdgeCat, g.EdgeCats, c, i), true)
		}
	}
}

// shared returns the number of values of c that have a column.
func shared(c record.Channel) int {
	if c.Card > MostShares {
		return 0
	}
	return c.Card
}

// wordOf returns the name of value i of c.
func wordOf(c record.Channel, i int) string {
	text, ok := c.Word(int32(i))
	switch {
	case !ok && c.Words != nil:
		text = "?"
	case !ok:
		text = strconv.Itoa(i)
	}
	return c.Name + "=" + text
}

// valuesOf returns the values of channel c, NaN for infinite ones.
func valuesOf(attr []float32, channels, c int) []float64 {
	x := make([]float64, 0, len(attr)/max(1, channels))
	for i := c; i < len(attr); i += channels {
		y := float64(attr[i])
		if math.IsInf(y, 0) {
			y = math.NaN()
		}
		x = append(x, y)
	}
	return x
}

// equal returns 1 for each value of channel c that equals i, and 0 for the others.
func equal(cats []int32, channels, c, i int) []float64 {
	x := make([]float64, 0, len(cats)/max(1, channels))
	for at := c; at < len(cats); at += channels {
		y := 0.
		if cats[at] == int32(i) {
			y = 1
		}
		x = append(x, y)
	}
	return x
}

// nodes adds a number x of the nodes and its statistics in their neighbourhoods. If share is set,
// it adds only the means, which are shares.
func (b *description) nodes(name string, offset float64, x []float64, share bool) {
	if !share {
		b.put(offset, x, name)
	}
	if !share && len(b.l.NodeAttr) > count.MostChannels && name != "degree" {
		return
	}
	n := len(x)
	mean, least, largest := x, x, x
	for hop := 1; hop <= b.hops; hop++ {
		means, deviations, missing := make([]float64, n), make([]float64, n), make([]float64, n)
		leasts, largests := make([]float64, n), make([]float64, n)
		if hop > 1 && b.bound > 0 {
			for v := range n {
				if b.ends(int32(v)) {
					mean[v], least[v], largest[v] = math.NaN(), math.NaN(), math.NaN()
				}
			}
		}
		for v := range n {
			if v&1023 == 0 && b.ctx != nil && b.ctx.Err() != nil {
				return
			}
			if b.root != nil && v != int(*b.root) && (hop == b.hops || hop == b.hops-1 && !b.near[v]) {
				continue
			}
			row := b.g.Adj(int32(v))
			if hop > 1 && b.ends(int32(v)) {
				row = nil
			}
			leasts[v], largests[v] = extremes(row, least, largest)
			b.list = b.list[:0]
			for _, u := range row {
				b.list = append(b.list, mean[u])
			}
			s := momentsOf(b.list)
			means[v], deviations[v], missing[v] = s.mean, s.deviation, s.missing
		}
		mean, least, largest = means, leasts, largests
		if share {
			b.put(0, mean, name, ", hop ", hop, ": share")
			continue
		}
		b.put(offset, mean, name, ", hop ", hop, ": mean")
		b.put(0, deviations, name, ", hop ", hop, ": deviation")
		b.put(offset, least, name, ", hop ", hop, ": least")
		b.put(offset, largest, name, ", hop ", hop, ": largest")
		if hop == 1 && name != "degree" {
			b.put(0, missing, name, ", hop ", hop, ": missing")
		}
	}
}

// ends reports whether walks end at node v, because its degree exceeds the bound.
func (b *description) ends(v int32) bool { return b.bound > 0 && b.g.WholeDegree(v) > b.bound }

// extremes returns the least and the largest value of the nodes of a row, NaN if none has a value.
func extremes(row []int32, least, largest []float64) (low, high float64) {
	low, high = math.NaN(), math.NaN()
	for _, u := range row {
		if !(low <= least[u]) && least[u] == least[u] {
			low = least[u]
		}
		if !(high >= largest[u]) && largest[u] == largest[u] {
			high = largest[u]
		}
	}
	return low, high
}

// edges adds the statistics of a number x over the edges of each node, and over the edges of each
// kind. If share is set, it adds only the sums, which are numbers of edges.
func (b *description) edges(name string, offset float64, x []float64, share bool) {
	first, last := 0, b.g.N()
	if b.root != nil {
		first, last = int(*b.root), int(*b.root)+1
	}
	of := func(kind []float64) (all []moments) {
		for v := first; v < last; v++ {
			b.list = b.list[:0]
			for e := b.g.Offsets[v]; e < b.g.Offsets[v+1]; e++ {
				if kind == nil || kind[e] == 1 {
					b.list = append(b.list, x[e])
				}
			}
			all = append(all, momentsOf(b.list))
		}
		return all
	}
	put := func(offset float64, all []moments, get func(m moments) float64, name ...any) {
		column := make([]float64, len(all))
		for v, m := range all {
			column[v] = get(m)
		}
		b.put(offset, column, name...)
	}
	all := of(nil)
	if share {
		put(0, all, func(m moments) float64 { return m.sum }, name, " edges: number")
		return
	}
	put(0, all, func(m moments) float64 { return m.sum }, name, ", edges: sum")
	put(offset, all, func(m moments) float64 { return m.mean }, name, ", edges: mean")
	put(0, all, func(m moments) float64 { return m.deviation }, name, ", edges: deviation")
	put(offset, all, func(m moments) float64 { return m.least }, name, ", edges: least")
	put(offset, all, func(m moments) float64 { return m.largest }, name, ", edges: largest")
	put(0, all, func(m moments) float64 { return m.missing }, name, ", edges: missing")
	if len(b.l.EdgeCat) == 0 {
		return
	}
	kinds := b.l.EdgeCat[0]
	for i := range shared(kinds) {
		all := of(equal(b.g.EdgeCat, b.g.EdgeCats, 0, i))
		kind := wordOf(kinds, i)
		put(0, all, func(m moments) float64 { return m.sum }, name, ", ", kind, " edges: sum")
		put(offset, all, func(m moments) float64 { return m.mean }, name, ", ", kind, " edges: mean")
		put(offset, all, func(m moments) float64 { return m.largest }, name, ", ", kind, " edges: largest")
	}
}

// all adds the statistics of a number x over all nodes. If share is set, it adds only the mean.
func (b *description) all(name string, offset float64, x []float64, share bool) {
	m := momentsOf(x)
	if share {
		b.put(0, []float64{m.mean}, name, ": share")
		return
	}
	b.put(offset, []float64{m.mean}, name, ": mean")
	b.put(0, []float64{m.deviation}, name, ": deviation")
	b.put(offset, []float64{m.least}, name, ": least")
	b.put(offset, []float64{m.middle()}, name, ": middle")
	b.put(offset, []float64{m.largest}, name, ": largest")
	if name != "degree" {
		b.put(0, []float64{m.missing}, name, ": missing")
	}
}

// allEdges adds the statistics of a number x over all edges. If share is set, it adds only the
// mean. Both CSR entries of an edge have the same number.
func (b *description) allEdges(name string, offset float64, x []float64, share bool) {
	m := momentsOf(x)
	if share {
		b.put(0, []float64{m.mean}, name, " edges: share")
		return
	}
	if !b.g.Directed {
		m.sum /= 2
	}
	b.put(0, []float64{m.sum}, name, ", edges: sum")
	b.put(offset, []float64{m.mean}, name, ", edges: mean")
	b.put(0, []float64{m.deviation}, name, ", edges: deviation")
	b.put(offset, []float64{m.least}, name, ", edges: least")
	b.put(offset, []float64{m.largest}, name, ", edges: largest")
	b.put(0, []float64{m.missing}, name, ", edges: missing")
}

// moments are statistics of the numbers of a list without NaN. Without numbers, sum is 0 and the
// others are NaN.
type moments struct {
	sum, mean, deviation, least, largest float64
	missing                              float64 // share of NaN in the list
	there                                []float64
}

// momentsOf returns the moments of a list, which it reorders. The result does not depend on the
// order.
func momentsOf(list []float64) (m moments) {
	n := len(list)
	m.there = slices.DeleteFunc(list, math.IsNaN)
	if n == 0 || len(m.there) == 0 {
		m.mean, m.deviation, m.least, m.largest, m.missing = math.NaN(), math.NaN(), math.NaN(), math.NaN(), 1
		if n == 0 {
			m.missing = math.NaN()
		}
		return m
	}
	k := float64(len(m.there))
	m.missing = 1 - k/float64(n)
	m.least, m.largest = slices.Min(m.there), slices.Max(m.there)
	m.sum = sumOf(m.there, max(-m.least, m.largest), func(x float64) float64 { return x })
	m.mean = min(max(m.sum/k, m.least), m.largest)
	far := max(m.mean-m.least, m.largest-m.mean)
	m.deviation = math.Sqrt(sumOf(m.there, far*far, func(x float64) float64 { return (x - m.mean) * (x - m.mean) }) / k)
	return m
}

// middle returns the median, the upper one of two.
func (m *moments) middle() float64 {
	if len(m.there) == 0 {
		return math.NaN()
	}
	slices.Sort(m.there)
	return m.there[len(m.there)/2]
}

// sumOf returns the sum of f over a list. It adds scaled integers, so the sum does not depend on
// the order. most bounds |f|.
func sumOf(list []float64, most float64, f func(x float64) float64) float64 {
	if most == 0 {
		return 0
	}
	_, e := math.Frexp(most)
	shift := min(62-bits.Len(uint(len(list)))-e, 1000)
	scale, sum := math.Ldexp(1, shift), int64(0)
	for _, x := range list {
		sum += int64(math.RoundToEven(f(x) * scale))
	}
	return math.Ldexp(float64(sum), -shift)
}
