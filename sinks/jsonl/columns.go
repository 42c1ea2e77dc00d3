// Package jsonl writes receptive fields as lines of JSON, one a field, and has the plain
// columns that such a line is made of, for other files:
//
//	flow.From(src).Via(operators.Select{}).Via(operators.Chunk{}).
//		Via(jsonl.Normalize(10)).Via(jsonl.Columns{}).Via(jsonl.Lines{}).To(jsonl.Sink{Writer: os.Stdout})
//
//	{"graph":0,"root":5,"members":[5,7,-1],"dist":[0,1,-1],"edges":[[0,1,0],[1,0,0],[0,0,0]],"nodes":[[2],[0],[-1]]}
//
// root and members are nodes, members in rank order, by the ids of the source where the graph
// has ids, else by number; dist is the hops from the root. A dummy is -1 in dist, and in
// members -1, or null if ids are strings. Ids above 2⁵³ have all of their digits, which a
// reader that makes a float64 of each number rounds. edges[i][j] is 0
// if no edge leads from member i to member j, else 1, or 1 plus the index of the first
// type of the edge. nodes has the discrete attributes of each member, -1 for a dummy, then
// the continuous ones, 0 for a dummy. If edges have continuous attributes
// edge_attr[i][j] is the list of them, zeros if there is no edge.
package jsonl

import (
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/field"
)

// maxDistances exceeds the largest distance in a field of field.MaxK nodes.
const maxDistances = 256

// Normalize returns the operator for fields of k nodes with the columns that Columns reads. Its
// other settings are the caller's.
func Normalize(k int) operators.Normalize {
	return operators.Normalize{K: k, Distances: maxDistances, Edges: true, KeepGraph: true}
}

// Columns makes a row of each field of the rows that the operator of [Normalize] emits:
// the columns graph, root, members, dist and edges, and nodes_cat, nodes and edge_attr
// if there are such attributes, as fixed-size lists whose shapes are in the metadata.
// root and members are numbers of nodes; if the graph has ids the columns root_ids and
// member_ids have those, as lists, 0 or the empty string for a dummy. Zero fields are left
// out.
type Columns struct{}

var _ flow.Operator = Columns{}

// String returns the name for the plan of a pipeline.
func (Columns) String() string { return "columns" }

// Open implements flow.Operator.
func (Columns) Open(in *arrow.Schema) (flow.Stage, error) {
	l, err := record.LayoutOf(in)
	if err != nil {
		return nil, err
	}
	var shape []int
	if err := record.Meta(in, record.Members, record.MetaShape, &shape); err != nil {
		return nil, err
	}
	if len(shape) != 2 {
		return nil, fmt.Errorf("there is no column %q of roots and nodes: put the operator of Normalize before Columns", record.Members)
	}
	k := shape[1]
	names := []arrow.Field{
		{Name: "graph", Type: arrow.PrimitiveTypes.Int64},
		{Name: "root", Type: arrow.PrimitiveTypes.Int32},
		record.TensorField[int32](record.Members, []int{k}, nil),
		record.TensorField[int32](record.Dist, []int{k}, nil),
		record.TensorField[int32](record.Edges, []int{k, k}, nil),
	}
	if n := len(l.NodeCat); n > 0 {
		names = append(names, record.TensorField[int32](record.NodesCat, []int{k, n}, l.NodeCat))
	}
	if n := len(l.NodeAttr); n > 0 {
		names = append(names, record.TensorField[float32](record.Nodes, []int{k, n}, l.NodeAttr))
	}
	if n := len(l.EdgeAttr); n > 0 {
		names = append(names, record.TensorField[float32](record.EdgeAttr, []int{k, k, n}, l.EdgeAttr))
	}
	if l.NodeIDs != graph.NoIDs {
		names = append(names, record.IDsField(record.RootIDs, []int{1}, l.NodeIDs), record.IDsField(record.MemberIDs, []int{k}, l.NodeIDs))
	}
	return &fielder{layout: l, k: k, schema: arrow.NewSchema(names, nil)}, nil
}

type fielder struct {
	layout record.Layout
	k      int
	schema *arrow.Schema
	finder field.EdgeFinder
	entry  []int32
}

func (f *fielder) Schema() *arrow.Schema { return f.schema }

func (f *fielder) Fork() flow.Stage {
	return &fielder{layout: f.layout, k: f.k, schema: f.schema}
}

// chunk is the columns of an input record.
type chunk struct {
	graphs   *record.Graphs
	roots    record.ListView[int32]
	members  []int32
	cats     []int32 // the distance, then the attributes
	attrs    []float32
	edges    []float32
	edgesCat []int32
}

func (f *fielder) read(rec arrow.Record) (c chunk, err error) {
	get := func(ok bool, f func() error) {
		if err == nil && ok {
			err = f()
		}
	}
	get(true, func() error { c.graphs, err = record.GraphsOf(rec); return err })
	get(true, func() error { c.roots, err = record.ListsOf[int32](rec, record.Roots); return err })
	get(true, func() error { c.members, _, err = record.FixedValues[int32](rec, record.Members); return err })
	get(true, func() error { c.cats, _, err = record.FixedValues[int32](rec, record.NodesCat); return err })
	get(len(f.layout.NodeAttr) > 0, func() error { c.attrs, _, err = record.FixedValues[float32](rec, record.Nodes); return err })
	get(len(f.layout.EdgeCat) > 0, func() error { c.edgesCat, _, err = record.FixedValues[int32](rec, record.EdgesCat); return err })
	get(len(f.layout.EdgeCat) == 0 || len(f.layout.EdgeAttr) > 0, func() error { c.edges, _, err = record.FixedValues[float32](rec, record.Edges); return err })
	return c, err
}

func (f *fielder) Process(rec arrow.Record, out *flow.Out) error {
	c, err := f.read(rec)
	if err != nil {
		return err
	}
	mem, k := out.Allocator(), f.k
	cats, attrs := len(f.layout.NodeCat), len(f.layout.NodeAttr)
	id, root := record.NewColumn[int64](mem), record.NewColumn[int32](mem)
	members, dist, edges := record.NewFixed[int32](mem, k), record.NewFixed[int32](mem, k), record.NewFixed[int32](mem, k*k)
	nodesCat, nodes := record.NewFixed[int32](mem, k*cats), record.NewFixed[float32](mem, k*attrs)
	weights := k * k * len(f.layout.EdgeAttr)
	edgeAttr := record.NewFixed[float32](mem, weights)
	var rootIDs, memberIDs *record.IDs
	if kind := f.layout.NodeIDs; kind != graph.NoIDs {
		rootIDs, memberIDs = record.NewIDs(mem, kind), record.NewIDs(mem, kind)
	}
	rows, at := 0, 0 // at is the number of the field, zero fields included
	for row := range c.graphs.Len() {
		var g graph.Graph
		c.graphs.At(row, &g)
		ids := c.graphs.Row(row).NodeID
		for _, v := range c.roots.Row(row) {
			if v >= 0 {
				id.Append(c.graphs.ID(row))
				root.Append(v)
				m := c.members[at*k : (at+1)*k]
				copy(members.Extend(1), m)
				if rootIDs != nil {
					rootIDs.AppendOf(ids, []int32{v})
					memberIDs.AppendOf(ids, m)
				}
				split(c.cats[at*k*(1+cats):], cats, dist.Extend(1), nodesCat.Extend(1))
				copy(nodes.Extend(1), c.attrs[min(at*k*attrs, len(c.attrs)):])
				f.types(&g, c, at, m, edges.Extend(1))
				copy(edgeAttr.Extend(1), c.edges[min(at*weights, len(c.edges)):])
				rows++
			}
			at++
		}
	}
	made := []arrow.Array{id.Finish(), root.Finish(), members.Finish(rows), dist.Finish(rows), edges.Finish(rows)}
	if cats > 0 {
		made = append(made, nodesCat.Finish(rows))
	}
	if attrs > 0 {
		made = append(made, nodes.Finish(rows))
	}
	if weights > 0 {
		made = append(made, edgeAttr.Finish(rows))
	}
	if rootIDs != nil {
		made = append(made, rootIDs.Finish(), memberIDs.Finish())
	}
	fields := array.NewRecord(f.schema, made, int64(rows))
	record.Release(made)
	return out.Emit(fields)
}

// split separates the distances from the discrete attributes behind them.
func split(from []int32, cats int, dist, nodesCat []int32) {
	for i := range dist {
		cell := from[i*(1+cats):][:1+cats]
		dist[i] = cell[0]
		copy(nodesCat[i*cats:], cell[1:])
	}
}

// types writes the edges of a field: 0 for none, else 1, or 1 plus the type.
func (f *fielder) types(g *graph.Graph, c chunk, at int, members, out []int32) {
	kk := len(out)
	switch {
	case g.EdgeCats > 0:
		for i := range out {
			out[i] = 1 + min(c.edgesCat[(at*kk+i)*g.EdgeCats], math.MaxInt32-1)
		}
	case g.EdgeAttrs == 0:
		for i, e := range c.edges[at*kk : (at+1)*kk] {
			out[i] = int32(e)
		}
	default: // an edge may have attributes of 0
		if f.entry == nil {
			f.entry = make([]int32, kk)
		}
		f.finder.Edges(g, members, f.entry)
		for i, e := range f.entry {
			out[i] = min(e, 0) + 1
		}
	}
}
