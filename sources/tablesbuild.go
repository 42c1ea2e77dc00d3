package sources

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/rows"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// build sets the layout and the graphs of b.set from the columns.
func (b *tableBuild) build() error {
	l := &b.set.Layout
	l.Directed, l.Columns = b.Directed, b.columns()
	l.NodeIDs = graph.Int64IDs
	if b.ids.typ == String {
		l.NodeIDs = graph.StringIDs
	}
	l.EdgeCat, l.EdgeAttr = b.edgeAttrs.name()
	l.NodeCat, l.NodeAttr = b.nodeAttrs.name()
	for _, t := range b.nodeTables() { // at most one table has Targets
		if len(t.Targets) == 0 {
			continue
		}
		var err error
		if b.set.Targets, err = b.classesOf(b.nodeTargets, t.Targets); err != nil {
			return err
		}
		if class := b.nodeTargets[0]; len(t.Targets) == 1 && !t.Numbers {
			if l.NodeClasses, b.set.Targets = b.set.Targets[0].Classes, nil; len(l.NodeClasses) == 0 {
				return blame(class.from, class.Name, errors.New("no node has a class"))
			}
		}
	}
	targets, err := b.classesOf(b.graphTargets, b.Graphs.Targets)
	if err != nil {
		return err
	}
	if l.Targets = targets; len(targets) == 1 {
		l.Classes, l.Real, l.Targets = targets[0].Classes, b.Graphs.Numbers, nil
	}
	if err := l.Check(); err != nil {
		return b.edges.inFile(err)
	}
	make := b.single
	if b.edgeGraph != nil {
		make = b.many
	}
	if err := make(); err != nil {
		return b.edges.inFile(err)
	}
	if err := b.repeated(); err != nil {
		return err
	}
	return b.edges.inFile(l.Check())
}

// columns returns the column names by role.
func (b *tableBuild) columns() record.Columns {
	name := func(f *tableField) string {
		if f == nil {
			return ""
		}
		return f.Name
	}
	id := ""
	if len(b.nodes) > 0 {
		id = b.nodes[0].id.Name
	}
	return record.Columns{
		Graph: name(b.edgeGraph), Source: name(b.source), Target: name(b.target), ID: id,
		Type: b.Edges.Type, Weight: b.Edges.Weight, Time: b.Edges.Time,
	}
}

// nodeValues sets the attributes and classes of the nodes of a graph. rows are their global rows, or -1. With
// last the columns are freed.
func (b *tableBuild) nodeValues(g *graph.Graph, it *Item, rows []int32, last bool) error {
	l := &b.set.Layout
	g.NodeCats, g.NodeAttrs = len(l.NodeCat), len(l.NodeAttr)
	if err := b.Take(4 * int64(len(rows)) * int64(g.NodeCats+g.NodeAttrs+1)); err != nil {
		return err
	}
	g.NodeCat, g.NodeAttr = b.nodeAttrs.gather(rows, 0, last)
	if l.NodeClasses != nil {
		it.NodeClass = make([]int32, len(rows))
		for v, row := range rows {
			it.NodeClass[v] = b.nodeTargets[0].word(row)
		}
	}
	return nil
}

// classesOf returns targets with their classes, and renumbers the words of the fields by class.
func (b *tableBuild) classesOf(fields []*tableField, named []record.TargetChannel) (targets []record.TargetChannel, err error) {
	for i, f := range fields {
		of := record.TargetChannel{Name: f.Name, Offset: f.offset}
		if f.kind == wordField {
			if of.Classes = named[i].Classes; of.Classes == nil {
				of.Classes = sortWords(reading.SortClasses, f)
			} else if err := b.renumber(f, of.Classes); err != nil {
				return nil, err
			}
		}
		targets = append(targets, of)
	}
	return targets, nil
}

// renumber replaces word numbers by indices of classes.
func (b *tableBuild) renumber(f *tableField, classes []string) error {
	place := []int32{}
	for i, name := range f.came() {
		if place = append(place, ClassIndex(classes, name)); place[i] >= 0 {
			continue
		}
		for row := range f.cats.Len() {
			if f.cats.At(row) == int32(i) {
				return f.failAt(row, fmt.Errorf("the class %s is none of %d known ones", reading.Quote([]byte(name)), len(classes)))
			}
		}
	}
	f.renumber(place)
	return nil
}

// targetsOf returns the targets of global rows, row-major, with NaN for a missing one.
func targetsOf(fields []*tableField, rows ...int32) (all []float32) {
	for _, row := range rows {
		for _, f := range fields {
			all = append(all, f.target(row))
		}
	}
	return all
}

// target returns the number or the class index of a row, or NaN.
func (f *tableField) target(row int32) float32 {
	if f.kind == numberField {
		return f.number(row)
	}
	if word := f.word(row); word >= 0 {
		return float32(word)
	}
	return missingNumber
}

// idsOf returns the ids with these numbers.
func (k *keys) idsOf(numbers []int32) (graph.IDs, error) {
	if k.typ == Integer {
		ids := make([]int64, len(numbers))
		for v, number := range numbers {
			ids[v] = k.integers.values[number]
		}
		return graph.IDsOf(ids), nil
	}
	return k.texts.ids(numbers)
}

// single builds the graph of tables without a graph column.
func (b *tableBuild) single() error {
	if b.ids.plain {
		g := &graph.Graph{Directed: b.Directed}
		ids, err := b.singleEdges(g, nil)
		if err == nil {
			b.set.Items = []Item{{Graph: g, NodeID: graph.IDsOf(ids)}}
		}
		return err
	}
	n := b.ids.len()
	if n == 0 {
		return errNoNode
	}
	named := b.ids.texts.size + 8*int64(n)
	if err := b.Take(16*int64(n) + named); err != nil {
		return err
	}
	order := b.ids.order()
	it := Item{}
	var err error
	if it.NodeID, err = b.ids.idsOf(order); err != nil {
		return err
	}
	b.ids.integers, b.ids.texts = integers64{}, texts{}
	known := int32(b.set.nodeRows) // ids of node tables were numbered first
	of := make([]int32, n)         // row of each node, or -1
	for v, number := range order {
		if of[v] = number; number >= known {
			of[v] = -1
		}
	}
	g := &graph.Graph{Directed: b.Directed}
	it.Graph = g
	if err := b.nodeValues(g, &it, of, true); err != nil {
		return err
	}
	b.set.Parts = subsetsOf(of, b.part)
	if b.set.Targets != nil {
		b.set.Values = targetsOf(b.nodeTargets, of...)
	}
	if _, err := b.singleEdges(g, rankOf(order)); err != nil {
		return err
	}
	if b.KeepRows && len(b.nodes) > 0 {
		for _, row := range of {
			b.set.TableRows.Node = append(b.set.TableRows.Node, row >= 0)
		}
	}
	b.set.Items = []Item{it}
	return nil
}

// plainIDs renumbers edges with plain ids to ranks. It includes the nodes that a comment of an edge list states, and
// returns the ids in ascending order. Ids that are not plain are beyond such a comment.
func (b *tableBuild) plainIDs(e *rows.Edges) ([]int64, error) {
	ids, err := e.IDs()
	if err != nil {
		return nil, err
	}
	first, count := int32(0), 0
	if r, ok := b.edges.r.(*edgeListReader); ok {
		if first, count, err = r.all(ids.Len(), int64(ids.First()), int64(ids.Last())); err != nil {
			return nil, err
		}
	}
	n := max(count, ids.Len())
	if n == 0 {
		return nil, errNoNode
	}
	if err := b.Take(8 * int64(n)); err != nil {
		return nil, err
	}
	switch {
	case first > 0:
		e.Shift(first)
	case count == 0 && int(ids.Last()) >= n: // ids have gaps
		e.Renumber(ids)
	}
	if count == 0 {
		return ids.List(), nil
	}
	all := make([]int64, count)
	for i := range all {
		all[i] = int64(first) + int64(i)
	}
	return all, nil
}

var errNoNode = errors.New("no edge and no node")

// singleEdges builds the edges of the only graph. rank maps id numbers to nodes. With a nil rank the ids are
// plain, and are returned.
func (b *tableBuild) singleEdges(g *graph.Graph, rank []int32) (ids []int64, err error) {
	l, counts := &b.set.Layout, &b.set.Stats.EdgeCounts
	e := &rows.Edges{Lists: b.ends.Parts, Marks: b.marks, Workers: b.Workers, Alive: reading.Ending(b.ctx), Take: b.Take, Give: b.Give}
	b.ends.Parts = nil
	n := len(rank)
	if rank != nil {
		e.Rank(rank)
	} else if ids, err = b.plainIDs(e); err != nil {
		return nil, err
	} else {
		n = len(ids)
	}
	if len(l.EdgeCat)+len(l.EdgeAttr)+len(b.repeats.list) == 0 && !b.KeepRows {
		g.Offsets, g.Neighbors, *counts, err = e.Rows(n, b.Directed)
		return ids, err
	}
	ends, err := e.All()
	if err == nil {
		err = b.Take(rows.CsrBytes(n, len(ends), 1) + 8*int64(len(ends))*int64(1+len(l.EdgeCat)+len(l.EdgeAttr)))
	}
	if err != nil {
		return ids, err
	}
	csr := rows.Csr{Alive: reading.Ending(b.ctx)}
	err = b.edgesOf(&csr, g, n, ends, nil)
	*counts = csr.Counts
	if err == nil && b.KeepRows {
		err = b.keepRows(ends)
	}
	return ids, err
}

// keepRows sets TableRows to the edge rows with their ends and attributes, in the order of the table.
func (b *tableBuild) keepRows(ends []graph.Edge) error {
	all := make([]int32, len(ends))
	if err := b.Take(4 * int64(len(all)) * int64(3+len(b.edgeAttrs.words)+len(b.edgeAttrs.numbers))); err != nil {
		return err
	}
	for i := range all {
		all[i] = int32(i)
	}
	b.set.TableRows = &TableRows{Ends: ends, Spaces: [2]string{b.source.space, b.target.space}}
	b.set.TableRows.Cat, b.set.TableRows.Attr = b.edgeAttrs.gather(all, 0, false)
	return nil
}

// edgesOf builds the CSR rows and edge attributes of a graph of n nodes. Edge i comes from row lines[i] of
// the table, or from row i if lines is nil.
func (b *tableBuild) edgesOf(c *rows.Csr, g *graph.Graph, n int, ends []graph.Edge, lines []int32) error {
	row := func(i int32) int32 {
		if lines != nil {
			return lines[i]
		}
		return i
	}
	a := &rows.Arcs{Ends: ends, Holds: func(i, j int32) int { return b.holds(row(i), row(j)) }}
	if err := reading.Build(c, n, b.Directed, a, g); err != nil {
		return err
	}
	kept := make([]int32, len(c.Entries))
	for i, e := range c.Entries {
		kept[i] = row(c.Kept[e])
	}
	g.EdgeCats, g.EdgeAttrs = len(b.set.Layout.EdgeCat), len(b.set.Layout.EdgeAttr)
	g.EdgeCat, g.EdgeAttr = b.edgeAttrs.gather(kept, 0, false)
	r := &b.repeats
	if len(r.list) == 0 || r.usual && b.edgeGraph == nil && reading.Repeated(c.Counts, b.set.Stats.EdgeRows) == 0 {
		return nil
	}
	width := len(r.stats)
	if err := b.Take(4 * int64(len(c.Kept)+len(kept)) * int64(width)); err != nil {
		return err
	}
	defer b.Give(4 * int64(len(c.Kept)) * int64(width))
	all, of, values := make([]float32, 0, len(c.Kept)*width), []int32(nil), []float32(nil)
	if err := c.Lines(b.Directed, a, func(lines []int32) error {
		of = of[:0]
		for _, i := range lines {
			of = append(of, row(i))
		}
		if len(of) > 1 && (r.again < 0 || of[1] < r.again) {
			r.again, r.before = of[1], of[0]
		}
		for _, stat := range r.stats {
			x, err := stat.value(of, &values)
			if err != nil {
				return stat.field.failAt(int(of[0]), err)
			}
			all = append(all, x)
		}
		return nil
	}); err != nil {
		return err
	}
	made := make([]float32, 0, len(kept)*width)
	for _, e := range c.Entries {
		made = append(made, rows.Values(all, e, width)...)
	}
	r.made = append(r.made, made)
	return nil
}

var partNames = map[string]Subset{"none": None, "train": Train, "val": Val, "valid": Val, "test": Test}

// ParseSubset returns the subset that a value of a column of parts names.
func ParseSubset(text string) (p Subset, ok bool) {
	p, ok = partNames[text]
	return p, ok
}

// subset returns the subset of a global row by a part column, None for a missing value.
func (f *tableField) subset(row int32) Subset {
	if word := f.word(row); word >= 0 {
		return f.subsets[word]
	}
	return None
}

// many builds one graph per value of the graph column.
func (b *tableBuild) many() error {
	graphs := b.names.len()
	edges, err := b.grouped(b.edgeGraph, graphs)
	if err != nil {
		return err
	}
	nodes, err := b.grouped(b.nodeGraph, graphs)
	if err != nil {
		return err
	}
	m := &manyGraphs{tableBuild: b, rank: rankOf(b.ids.order()), local: make([]int32, b.ids.len())}
	m.csr.Alive = reading.Ending(b.ctx)
	order := b.names.order()
	if b.names.typ == String {
		for _, number := range order {
			b.set.Names = append(b.set.Names, string(b.names.texts.at(number)))
		}
	}
	for place, number := range order {
		if err := m.csr.Alive(); err != nil {
			return err
		}
		it := Item{ID: int64(place)}
		if b.names.typ == Integer {
			it.ID = b.names.integers.values[number]
		}
		if err := m.make(&it, number, edges.of(number), nodes.of(number)); err != nil {
			return err
		}
		b.set.Items = append(b.set.Items, it)
		if b.graphPart != nil {
			b.set.Parts = append(b.set.Parts, b.graphPart.subset(b.rowOf[number]))
		}
	}
	b.set.Stats.EdgeCounts = m.csr.Counts
	return nil
}

// groups lists rows by graph: the rows of graph g are rows[ends[g]:ends[g+1]], ascending.
type groups struct{ ends, rows []int32 }

func (g *groups) of(graph int32) []int32 { return g.rows[g.ends[graph]:g.ends[graph+1]] }

// grouped sorts rows by graph. The sort is stable.
func (b *tableBuild) grouped(f *tableField, graphs int) (*groups, error) {
	var of reading.Chunks[int32]
	if f != nil {
		of = f.cats
	}
	if err := b.Take(4 * int64(of.Len()+graphs+1)); err != nil {
		return nil, err
	}
	g := &groups{ends: make([]int32, graphs+2), rows: make([]int32, of.Len())}
	for _, part := range of.Parts {
		for _, graph := range part {
			g.ends[graph+2]++
		}
	}
	for i := range graphs {
		g.ends[i+2] += g.ends[i+1]
	}
	row := int32(0)
	for _, part := range of.Parts {
		for _, graph := range part {
			g.rows[g.ends[graph+1]] = row
			g.ends[graph+1]++
			row++
		}
	}
	g.ends = g.ends[:graphs+1]
	return g, nil
}

// manyGraphs builds the graphs one by one.
type manyGraphs struct {
	*tableBuild
	csr   rows.Csr
	rank  []int32 // rank of each id
	local []int32 // by id, within make: first row+1, or -1 for no row, then the node; 0 outside of make
	ids   []int32 // id numbers of the nodes, in node order
	of    []int32 // row of each node in the table of nodes, or -1
	ends  []graph.Edge
}

// make sets it to the graph of that number, from the rows of its edges and nodes.
func (m *manyGraphs) make(it *Item, number int32, edges, nodes []int32) error {
	b := m.tableBuild
	m.ids = m.ids[:0]
	for _, row := range nodes {
		id := b.nodes[0].id.cats.At(int(row))
		if m.local[id] != 0 {
			return b.nodes[0].id.failAt(int(row), fmt.Errorf("%s is an id of graph %s twice", b.ids.print(id), b.names.print(number)))
		}
		m.local[id] = row + 1
		m.ids = append(m.ids, id)
	}
	for _, row := range edges {
		x := b.ends.At(int(row))
		for i, id := range [2]int32{x.U, x.V} {
			if m.local[id] != 0 {
				continue
			}
			if len(b.nodes) > 0 {
				return [2]*tableField{b.source, b.target}[i].failAt(int(row), fmt.Errorf("%s of graph %s is not in the table of nodes, %s: add a row for it there, or remove this row", b.ids.print(id), b.names.print(number), b.nodes[0].r.Name()))
			}
			m.local[id] = -1
			m.ids = append(m.ids, id)
		}
	}
	slices.SortFunc(m.ids, func(x, y int32) int { return cmp.Compare(m.rank[x], m.rank[y]) })
	m.of = m.of[:0]
	for v, id := range m.ids {
		m.of = append(m.of, max(m.local[id], 0)-1)
		m.local[id] = int32(v)
	}
	if err := b.Take(128 + int64(len(m.ids))*16 + rows.CsrBytes(len(m.ids), len(edges), len(b.set.Layout.EdgeCat)+len(b.set.Layout.EdgeAttr))/4 + 8*int64(len(edges))*int64(1+len(b.set.Layout.EdgeCat)+len(b.set.Layout.EdgeAttr))); err != nil {
		return b.edges.inFile(err)
	}
	var err error
	if it.NodeID, err = b.ids.idsOf(m.ids); err != nil {
		return b.edges.inFile(err)
	}
	it.Graph = &graph.Graph{}
	if err := b.nodeValues(it.Graph, it, m.of, false); err != nil {
		return b.edges.inFile(err)
	}
	m.ends = m.ends[:0]
	for _, row := range edges {
		x := b.ends.At(int(row))
		m.ends = append(m.ends, graph.Edge{U: m.local[x.U], V: m.local[x.V]})
	}
	if err := b.edgesOf(&m.csr, it.Graph, len(m.ids), m.ends, edges); err != nil {
		return b.edges.inFile(err)
	}
	for _, id := range m.ids {
		m.local[id] = 0
	}
	if b.graphs == nil {
		return nil
	}
	switch targets := targetsOf(b.graphTargets, b.rowOf[number]); {
	case len(targets) > 1:
		it.Targets = targets
	case b.Graphs.Numbers:
		it.Value = targets[0]
	default:
		it.Class = b.graphTargets[0].word(b.rowOf[number])
	}
	return nil
}
