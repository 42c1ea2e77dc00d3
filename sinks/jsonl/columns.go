// Package jsonl makes the columns of receptive fields that are read without knowing the shapes of tensors: a row is one
// field, and as a line of JSON it nests.
//
//	flow.From(src).Via(operators.Select{}).Via(operators.Chunk{}).
//		Via(jsonl.Normalize(10)).Via(jsonl.Columns{}).To(scores.Text{JSON: true, W: os.Stdout})
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
	"slices"

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
	return operators.Normalize{K: k, Distances: maxDistances, KeepGraph: true}
}

// Columns makes a row of each field of the rows that the operator of [Normalize] emits:
// the columns graph, root, members, dist, edges and nodes, and edge_attr if edges have continuous attributes, as lists
// whose shapes are in the metadata. nodes is of floats where a node has continuous attributes: discrete ones beside them
// are exact below 2²⁴. Zero fields are left out.
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
	root, members := arrow.DataType(arrow.PrimitiveTypes.Int32), record.TensorField[int32](record.Members, []int{k}, nil)
	if l.NodeIDs != graph.NoIDs {
		members = record.IDsField(record.Members, []int{k}, l.NodeIDs)
		root = members.Type.(*arrow.ListType).Elem()
	}
	names := []arrow.Field{
		{Name: "graph", Type: arrow.PrimitiveTypes.Int64},
		{Name: "root", Type: root},
		members,
		record.TensorField[int32](record.Dist, []int{k}, nil),
		record.TensorField[int32](record.Edges, []int{k, k}, nil),
	}
	switch channels := slices.Concat(l.NodeCat, l.NodeAttr); {
	case len(l.NodeAttr) > 0:
		names = append(names, record.TensorField[float32](record.Nodes, []int{k, len(channels)}, channels))
	case len(channels) > 0:
		names = append(names, record.TensorField[int32](record.Nodes, []int{k, len(channels)}, channels))
	default: // a list of a fixed size has at least one element
		shape := arrow.NewMetadata([]string{record.MetaShape}, []string{fmt.Sprintf("[%d,0]", k)})
		names = append(names, arrow.Field{Name: record.Nodes, Type: record.ListType[int32](), Metadata: shape})
	}
	if n := len(l.EdgeAttr); n > 0 {
		names = append(names, record.TensorField[float32](record.EdgeAttr, []int{k, k, n}, l.EdgeAttr))
	}
	return newFielder(l, k, arrow.NewSchema(names, nil)), nil
}

type fielder struct {
	layout      record.Layout
	k           int
	schema      *arrow.Schema
	finder      field.EdgeFinder
	dist, edges []int32 // distances and edges of one field; an edge is its CSR position in the graph, or -1
}

func newFielder(l record.Layout, k int, s *arrow.Schema) *fielder {
	return &fielder{layout: l, k: k, schema: s, dist: make([]int32, k), edges: make([]int32, k*k)}
}

func (f *fielder) Schema() *arrow.Schema { return f.schema }

func (f *fielder) Fork() flow.Stage {
	return newFielder(f.layout, f.k, f.schema)
}

// chunk has the columns of an input record, borrowed.
type chunk struct {
	graphs  *record.Graphs
	roots   record.ListView[int32]
	members []int32
	cats    []int32 // of each member its distance, then its discrete attributes
	attrs   []float32
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
	return c, err
}

func (f *fielder) Process(rec arrow.Record, out *flow.Out) error {
	c, err := f.read(rec)
	if err != nil {
		return err
	}
	k, cats, attrs := f.k, len(f.layout.NodeCat), len(f.layout.NodeAttr)
	build := array.NewRecordBuilder(out.Allocator(), f.schema)
	defer build.Release()
	begin := func(column int) array.Builder {
		list := build.Field(column).(array.ListLikeBuilder)
		list.Append(true)
		return list.ValueBuilder()
	}
	at := 0 // number of the field, zero fields included
	for row := range c.graphs.Len() {
		var g graph.Graph
		c.graphs.At(row, &g)
		ids := c.graphs.Row(row).NodeID
		for _, v := range c.roots.Row(row) {
			if v >= 0 {
				build.Field(0).(*array.Int64Builder).Append(c.graphs.ID(row))
				appendNode(build.Field(1), ids, v)
				m, members := c.members[at*k:(at+1)*k], begin(2)
				for _, u := range m {
					appendNode(members, ids, u)
				}
				dist, nodes := f.dist, begin(5)
				for i := range dist {
					cell := c.cats[(at*k+i)*(1+cats):][:1+cats]
					dist[i] = cell[0]
					switch nodes := nodes.(type) {
					case *array.Int32Builder:
						nodes.AppendValues(cell[1:], nil)
					case *array.Float32Builder:
						for _, x := range cell[1:] {
							nodes.Append(float32(x))
						}
						nodes.AppendValues(c.attrs[(at*k+i)*attrs:][:attrs], nil)
					}
				}
				begin(3).(*array.Int32Builder).AppendValues(dist, nil)
				f.finder.Edges(&g, m, f.edges)
				types := begin(4).(*array.Int32Builder)
				for _, entry := range f.edges {
					types.Append(typeOf(&g, entry))
				}
				if n := g.EdgeAttrs; n > 0 {
					weights, none := begin(6).(*array.Float32Builder), make([]float32, n)
					for _, entry := range f.edges {
						attributes := none
						if entry >= 0 {
							attributes = g.EdgeAttr[int(entry)*n:][:n]
						}
						weights.AppendValues(attributes, nil)
					}
				}
			}
			at++
		}
	}
	return out.Emit(build.NewRecord())
}

// appendNode appends the id of a node, or its number where nodes have no ids. A dummy is -1, or null if ids are
// strings.
func appendNode(to array.Builder, ids graph.IDs, v int32) {
	switch to := to.(type) {
	case *array.Int32Builder:
		to.Append(v)
	case *array.Int64Builder:
		if v >= 0 {
			to.Append(ids.Ints()[v])
		} else {
			to.Append(-1)
		}
	case *array.StringBuilder:
		if v >= 0 {
			to.Append(ids.Name(v))
		} else {
			to.AppendNull()
		}
	}
}

// typeOf returns 0 without an edge, else 1, or 1 plus the first type of the edge.
func typeOf(g *graph.Graph, entry int32) int32 {
	switch {
	case entry < 0:
		return 0
	case g.EdgeCats == 0:
		return 1
	}
	return 1 + min(g.EdgeCat[int(entry)*g.EdgeCats], math.MaxInt32-1)
}
