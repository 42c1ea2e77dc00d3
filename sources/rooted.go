package sources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// Rooted streams rows about nodes of graphs that are in memory: a row is a graph, W of
// its nodes as the column roots, and a target. With W = 1 the rows are for the
// classification of nodes, see [NodeSet.Rooted], with W = 2 for link prediction, see
// package sinks/links:
//
//	flow.From(set.Rooted(set.Subset(sources.Train))).
//		Via(operators.Count{Of: []count.Counter{count.Around{}}, DropGraph: true}).
//		To(sinks.Train{Net: nn.Best()})
//
// All rows of a graph share the memory of the graph, one row a record. graph_id is the place of the
// graph in Graphs, pos the number of the row, and root_ids has the ids of the roots where the
// graphs have IDs. An operator that drops the graph, Normalize or Count, comes before any operator
// that copies rows, such as Batch.
type Rooted struct {
	// Layout describes the graphs, and by Classes or Real the targets. The zero Layout is
	// derived from Graphs as that of [Graphs] is.
	Layout record.Layout
	// W is the number of roots of a row. The default is 1.
	W int
	// Graphs are borrowed until the reader is closed.
	Graphs []RootedGraph
	// Once, if set, are operators that run once for each graph, on its first row: its other rows share the result but for pos, the roots
	// and the target. Each makes one row of one row, and reads nothing of the roots.
	Once []flow.Operator
}

// RootedGraph is a graph with its rows.
type RootedGraph struct {
	Graph *graph.Graph
	// Roots are the roots of all rows: (rows, W).
	Roots []int32
	// Target is the class of each row, -1 if it is unknown. It is read where
	// Layout has Classes.
	Target []int32
	// Targets are the number to be learned of each row, NaN if it is unknown, if Layout has Real, or the several targets of
	// each row, (rows, targets), if Layout has Targets: record.Row.Targets.
	Targets []float32
	// IDs are the ids of the nodes, of one kind in all graphs, or none.
	IDs graph.IDs
}

// Rooted returns a source of a row for each of some nodes, whose class or value is the
// target.
func (n *NodeSet) Rooted(nodes []int32) Rooted {
	l := n.Layout()
	l.Classes, l.Real, l.NodeClasses, l.NodeIDs = n.Classes, n.Value() != nil, nil, graph.NoIDs
	if !l.Real {
		l.Targets = n.Channels.Targets
	}
	g, t := RootedGraph{Graph: n.Graph, Roots: nodes, IDs: n.IDs}, len(n.Channels.Targets)
	for _, v := range nodes {
		if g.Targets = append(g.Targets, n.Targets[int(v)*t:int(v+1)*t]...); t == 0 {
			g.Target = append(g.Target, n.Class[v])
		}
	}
	return Rooted{Layout: l, Graphs: []RootedGraph{g}}
}

// String returns the number of rows, for the plan of a pipeline.
func (s Rooted) String() string {
	rows := 0
	for _, g := range s.Graphs {
		rows += len(g.Roots) / cmp.Or(s.W, 1)
	}
	return fmt.Sprintf("Rooted(%d rows)", rows)
}

// Open checks the settings.
func (s Rooted) Open(_ context.Context, mem memory.Allocator) (flow.Reader, error) {
	s.W = cmp.Or(s.W, 1)
	if s.W < 0 {
		return nil, fmt.Errorf("sources: Rooted: W is %d, want at least 0", s.W)
	}
	width := len(s.Layout.Targets)
	if s.Layout.Real {
		width = 1
	}
	var items []Item
	for i, g := range s.Graphs {
		switch {
		case g.Graph == nil:
			return nil, fmt.Errorf("sources: Rooted: graph %d is nil", i)
		case len(g.Roots)%s.W != 0:
			return nil, fmt.Errorf("sources: Rooted: graph %d has %d roots, want %d for each row", i, len(g.Roots), s.W)
		case len(s.Layout.Classes) > 0 && len(g.Target) != len(g.Roots)/s.W:
			return nil, fmt.Errorf("sources: Rooted: graph %d has %d targets for %d rows", i, len(g.Target), len(g.Roots)/s.W)
		case len(g.Targets) != len(g.Roots)/s.W*width:
			return nil, fmt.Errorf("sources: Rooted: graph %d has %d values of %d targets for %d rows", i, len(g.Targets), width, len(g.Roots)/s.W)
		case g.IDs.Kind() != s.Graphs[0].IDs.Kind():
			return nil, fmt.Errorf("sources: Rooted: graph %d has ids of the kind %q, graph 0 of %q, want one kind", i, g.IDs.Kind(), s.Graphs[0].IDs.Kind())
		case g.IDs.Len() > 0 && g.IDs.Len() != g.Graph.N():
			return nil, fmt.Errorf("sources: Rooted: graph %d has %d ids for %d nodes", i, g.IDs.Len(), g.Graph.N())
		}
		items = append(items, Item{Graph: g.Graph})
	}
	if s.Layout.IsZero() {
		s.Layout = layoutOf(items)
	}
	build := record.NewBuilder(mem, s.Layout)
	fields := []arrow.Field{record.ListField[int32](record.Roots, []int{s.W})}
	if len(s.Graphs) > 0 && s.Graphs[0].IDs.Len() > 0 {
		fields = append(fields, record.IDsField(record.RootIDs, []int{s.W}, s.Graphs[0].IDs.Kind()))
	}
	schema, err := record.Extend(build.Schema(), fields...)
	if err != nil {
		return nil, err
	}
	once, err := flow.OpenDirect(schema, flow.Options{Allocator: mem}, s.Once...)
	return &rootedReader{Rooted: s, mem: mem, build: build, schema: schema, once: once}, err
}

// rootedReader returns one row per record.
type rootedReader struct {
	Rooted
	mem    memory.Allocator
	build  *record.Builder
	schema *arrow.Schema // schema of the rows before Once
	once   *flow.Direct

	base     arrow.Record // record of the current graph, and from its first row on the result of Once; or nil
	next     int          // index of the next graph
	row, pos int          // row within the graph, and over all graphs
	closed   bool
}

func (r *rootedReader) Schema() *arrow.Schema { return r.once.Schema() }

func (r *rootedReader) Next(ctx context.Context) (arrow.Record, error) {
	switch {
	case r.closed:
		return nil, reading.ErrClosed
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	for r.base == nil || r.row*r.W == len(r.Graphs[r.next-1].Roots) {
		r.drop()
		if r.next == len(r.Graphs) {
			return nil, io.EOF
		}
		if err := r.build.Append(r.Graphs[r.next].Graph, record.Row{ID: int64(r.next), Targets: make([]float32, len(r.Layout.Targets))}); err != nil {
			return nil, fmt.Errorf("sources: Rooted: %w", err)
		}
		r.base, r.row, r.next = r.build.Record(), 0, r.next+1
	}
	g := r.Graphs[r.next-1]
	pos, roots := record.NewColumn[int64](r.mem), record.NewLists[int32](r.mem)
	pos.Append(int64(r.pos))
	roots.Append(g.Roots[r.row*r.W : (r.row+1)*r.W])
	cols := map[string]arrow.Array{record.Pos: pos.Finish(), record.Roots: roots.Finish()}
	if len(r.Layout.Classes) > 0 {
		target := record.NewColumn[int32](r.mem)
		target.Append(g.Target[r.row])
		cols[record.Target] = target.Finish()
	}
	if r.Layout.Real {
		value := record.NewColumn[float32](r.mem)
		value.Append(g.Targets[r.row])
		cols[record.Target] = value.Finish()
	}
	if t := len(r.Layout.Targets); t > 0 {
		targets := record.NewLists[float32](r.mem)
		targets.Append(g.Targets[r.row*t : (r.row+1)*t])
		cols[record.Targets] = targets.Finish()
	}
	if g.IDs.Len() > 0 {
		ids := record.NewIDs(r.mem, g.IDs.Kind())
		ids.AppendOf(g.IDs, g.Roots[r.row*r.W:(r.row+1)*r.W])
		cols[record.RootIDs] = ids.Finish()
	}
	if r.row > 0 {
		r.row, r.pos = r.row+1, r.pos+1
		return record.Project(r.once.Schema(), r.base, cols)
	}
	row, err := record.Project(r.schema, r.base, cols)
	if err != nil {
		return nil, err
	}
	defer row.Release()
	made, err := r.once.Process(ctx, row)
	if err == nil && (len(made) != 1 || made[0].NumRows() != 1) {
		record.Release(made)
		err = errors.New("sources: Rooted: the operators of Once do not make one row of a graph")
	}
	if err != nil {
		return nil, err
	}
	r.drop()
	r.base, r.row, r.pos = made[0], 1, r.pos+1
	r.base.Retain()
	return r.base, nil
}

// Notes implements flow.Noter for the operators of Once.
func (r *rootedReader) Notes() map[string]int64 { return r.once.Notes() }

// drop releases the record of the current graph.
func (r *rootedReader) drop() {
	if r.base != nil {
		r.base.Release()
		r.base = nil
	}
}

func (r *rootedReader) Close() error {
	r.drop()
	r.build.Release()
	r.closed = true
	return r.once.Close()
}
