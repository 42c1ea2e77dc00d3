package operators

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
)

// Normalize turns each neighbourhood into a receptive field of exactly K nodes
// in an order that does not depend on node numbers (Niepert et al. 2016,
// Algorithm 4; package field gives the order in full). It adds the column
// members, the attributes of the members as nodes_cat, nodes and nodes_sparse,
// and if nodes have classes or ids those of the roots as root_target and root_ids; it
// drops the columns of the graph and of the neighbourhoods.
//
// Roots and members are numbers of nodes, from 0 in each graph, even if the graph
// has other ids for them in node_ids. The ids of the roots become root_ids, and with MemberIDs
// those of the members become member_ids.
//
// Without an Assemble before it, Normalize gathers the neighbourhoods itself, to
// the same fields. They are then nowhere in columns, which around the hubs of a
// large graph are its largest by far; K must be set.
//
// Fields of several sizes take an Assemble and a Normalize for each, since a
// smaller k needs a smaller neighbourhood; or just the latter:
//
//	Via(operators.Select{W: 18}).
//	Via(operators.Normalize{K: 5, Suffix: "_k5", KeepGraph: true}).
//	Via(operators.Normalize{K: 10, Suffix: "_k10"})
type Normalize struct {
	// K is k, the field size. The default is the K of Assemble.
	K int
	// Direction is as in Assemble, for a pipeline without Assemble. The default is both ways.
	Direction field.Direction
	// Bound is as in Assemble, for a pipeline without Assemble. The default is no bound.
	Bound int
	// By ranks the nodes of equal distance to the root. The default is
	// labeling.WL.
	By labeling.Labeling
	// Global computes By once on the whole graph instead of on each
	// neighbourhood. By labeling.Canonical, which gives nodes that are images of
	// each other different labels, the fields are then independent of the
	// numbering only up to which of such roots has which.
	Global bool
	// IgnoreAttributes leaves attributes and edge types out of the order.
	IgnoreAttributes bool
	// Uniform starts colour refinement from one colour, not from the distances.
	Uniform bool
	// Edges adds the k×k edge tensor of each field: edges_cat and edges where
	// the graphs have edge attributes, otherwise edges with 1 for an edge.
	Edges bool
	// Distances adds a discrete channel in front of those of nodes_cat: the hops from the root,
	// which as a channel of Distances values takes 0 … Distances-1, the last also for larger
	// distances. The default is none.
	Distances int
	// Mask adds the column mask, (w, k): 1 for a node, 0 for a dummy.
	Mask bool
	// MemberIDs adds the column member_ids, (w, k), if nodes have ids: the ids of the members; 0, or
	// the empty string, for dummies.
	MemberIDs bool
	// KeepGraph keeps the columns of the graph.
	KeepGraph bool
	// Suffix is put behind the names of the columns that are added, so that
	// several Normalize fit in one pipeline. The default is none; Standardize and
	// the sinks that learn read the columns without one.
	Suffix string
}

var _ flow.Operator = Normalize{}

// Open checks the settings.
func (z Normalize) Open(in *arrow.Schema) (flow.Stage, error) { return z.open(in, &sharedGraphs{}) }

// open is Open with the graphs that runs share.
func (z Normalize) open(in *arrow.Schema, shared *sharedGraphs) (flow.Stage, error) {
	bound, err := record.Bind(in)
	if err != nil {
		return nil, err
	}
	var w []int
	if err := record.Meta(in, record.Roots, record.MetaShape, &w); err != nil {
		return nil, err
	}
	if len(w) != 1 || w[0] < 1 {
		return nil, fmt.Errorf("there is no column %q of a fixed length: put Select with W, or Chunk, before Normalize", record.Roots)
	}
	hood, assembled, err := record.Field(in, record.Hood)
	switch {
	case err != nil:
		return nil, err
	case assembled:
		if z.Direction != field.Both {
			return nil, errors.New("Direction is that of Assemble: set it there")
		}
		if z.Bound != 0 {
			return nil, errors.New("Bound is that of Assemble: set it there")
		}
		if err := z.fromAssemble(hood); err != nil {
			return nil, err
		}
	case z.K == 0:
		return nil, fmt.Errorf("K is not set, and there is no column %q that tells it: put Assemble before Normalize", record.Hood)
	}
	if err := cmp.Or(checkK(z.K), checkDirection(z.Direction), checkBound(z.Bound, z.K)); err != nil {
		return nil, err
	}
	if z.Distances < 0 || z.Distances > 256 {
		return nil, fmt.Errorf("Distances is %d, want 0 to 256", z.Distances)
	}
	if z.By == nil {
		z.By = labeling.WL
	}
	cache := field.NewCache(cacheBytes)
	schema, err := (&normalizer{Normalize: z, w: w[0], layout: bound.Layout}).schema(in)
	if err != nil {
		return nil, err
	}
	return stageOfRows(schema, func(mem memory.Allocator) rowBuilder {
		n := &normalizer{Normalize: z, w: w[0], viewer: viewer{bound: bound}, layout: bound.Layout, cache: cache}
		n.hoods, n.index = hoods{gathers: !assembled}, indexer{shared: shared, always: z.Global}
		n.start(mem)
		return n
	}), nil
}

// fromAssemble sets K and Direction from the metadata of column hood.
func (z *Normalize) fromAssemble(hood arrow.Field) error {
	number := func(key string) int {
		text, _ := hood.Metadata.GetValue(key)
		n, _ := strconv.Atoi(text) // other text gives 0, a K that is refused and the default direction
		return n
	}
	gathered := number(metaK)
	if z.K == 0 {
		z.K = gathered
	}
	if gathered > 0 && z.K > gathered {
		return fmt.Errorf("K is %d, but Assemble has gathered neighbourhoods for %d nodes: want at most its K", z.K, gathered)
	}
	z.Direction = field.Direction(number(metaDirection))
	return nil
}

func (z *normalizer) schema(in *arrow.Schema) (*arrow.Schema, error) {
	drop := []string{record.Hood, record.Dist}
	if !z.KeepGraph {
		drop = append(drop, graphColumns...)
	}
	var fields []arrow.Field
	for _, o := range z.outputs() {
		f := o.field
		if t, ok := f.Type.(*arrow.FixedSizeListType); ok && t.Len() <= 0 {
			return nil, fmt.Errorf("w = %d fields of k = %d nodes do not fit column %q", z.w, z.K, f.Name)
		}
		f.Name += z.Suffix
		fields = append(fields, f)
	}
	return record.Replace(in, drop, fields...)
}

// cacheBytes bounds the memory of the cache that all workers share.
const cacheBytes = 16 << 20

// normalizer is one worker of a running Normalize.
type normalizer struct {
	Normalize
	columns
	viewer
	w      int
	layout record.Layout
	cache  *field.Cache // shared by all workers

	norm   field.Normalizer
	index  indexer
	rec    arrow.Record // record of the current row, borrowed
	hoods  hoods
	finder field.EdgeFinder
	entry  []int32                // CSR positions of edges, (k, k); (w, k, k) of the current row if two columns need them
	ix     *field.Index           // index of the graph of the current row
	class  func(root int32) int32 // class of a node of the current graph
	field  []int32                // members of the current row, (w, k), borrowed from the column under construction
	hops   []uint8                // distances of the members from the root, (w, k); nil if no column needs them
	used   int                    // number of fields of the current row without the zero fields at its end
	labels labels
	noted  bool // each count has been reported once, also if 0

	appends  []func(g *graph.Graph, row int) // functions that append a row to the columns that fields does not write
	members  *record.Fixed[int32]
	adjacent *record.Fixed[float32] // (w, k, k): 1 for adjacent nodes; nil without Edges, and if edges have attributes
}

func (z *normalizer) Begin(rec arrow.Record) error {
	z.rec = rec
	if err := z.viewer.Begin(rec); err != nil {
		return err
	}
	return z.hoods.begin(rec, z.from != nil && z.from.hoods)
}

// order copies the settings of the order to norm.
func (z *normalizer) order() {
	z.norm.K, z.norm.IgnoreAttributes, z.norm.Uniform, z.norm.Cache = z.K, z.IgnoreAttributes, z.Uniform, z.cache
	if z.By != labeling.WL { // norm takes this default without an interface call per field
		z.norm.By = z.By
	}
}

// start makes the columns and the memory of a worker.
func (z *normalizer) start(mem memory.Allocator) {
	for _, o := range z.outputs() {
		empty, write := o.begin(mem)
		addColumn(&z.columns, o.field.Name+z.Suffix, empty)
		if write != nil {
			z.appends = append(z.appends, write)
		}
	}
	z.order()
	if z.Edges {
		fields := 1
		if z.twice() {
			fields = z.w
		}
		z.entry = make([]int32, fields*z.K*z.K)
	}
	if z.Distances > 0 {
		z.hops = make([]uint8, z.w*z.K)
	}
}

func (z *normalizer) Row(ctx context.Context, row int) error {
	g := z.graph(row)
	if err := z.hoods.enter(row, z.w, g.N()); err != nil {
		return err
	}
	var given *sharedGraph
	if !z.Global { // labels of the whole graph must not come from another stage
		given = z.sharedIndex(z.Direction, z.Bound)
	}
	index, shared := z.index.of(&g, z.rec, given, func(ix *field.Index, g *graph.Graph) {
		ix.Reset(g, z.Direction)
		ix.SetBound(z.Bound)
	})
	if !z.Global {
		z.now.index, z.now.direction, z.now.bound = shared, z.Direction, z.Bound
	}
	var global []float64 // labels of the whole graph; nil unless Global
	if z.Global {
		var err error
		if global, err = z.globalLabels(ctx, &g, shared); err != nil {
			return err
		}
	}
	z.ix = index
	if len(z.layout.NodeClasses) > 0 {
		class := z.now.graphs.NodeClass(row)
		z.class = func(root int32) int32 { return class[root] }
	}
	z.norm.Context = ctx
	z.used = z.hoods.used()
	if err := z.fields(ctx, index, global); err != nil {
		z.members.Shrink(1)
		if z.adjacent != nil {
			z.adjacent.Shrink(1)
		}
		return err
	}
	// No error is possible from here on, so the row is appended to all columns or to none.
	z.append(&g, row)
	return nil
}

// fields computes the fields of the current row. It writes members, and edges without attributes,
// straight into their columns.
func (z *normalizer) fields(ctx context.Context, index *field.Index, global []float64) error {
	k, kk := z.K, z.K*z.K
	members, edges := z.members.Extend(1), []float32(nil)
	z.field = members
	fill(members[z.used*k:], nil, -1)
	if z.adjacent != nil {
		edges = z.adjacent.Extend(1)
		clear(edges[z.used*kk:])
	}
	norm, walk, gathers := &z.norm, &z.hoods.walk, z.hoods.gathers
	for i, root := range z.hoods.root[:z.used] {
		if i%16 == 0 {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if gathers {
				walk.Prefetch(index, z.hoods.root[i:min(i+16, z.used)])
			}
		}
		m := members[i*k : (i+1)*k]
		hood, dist := []int32(nil), []uint8(nil)
		if gathers && root >= 0 {
			hood, dist = walk.Assemble(index, root, k)
		} else {
			hood, dist = z.hoods.at(i)
		}
		if len(hood) == 0 { // a neighbourhood without nodes makes a zero field
			for j := range m {
				m[j] = -1
			}
			if edges != nil {
				clear(edges[i*kk : (i+1)*kk])
			}
			continue
		}
		if err := norm.Normalize(index, hood, dist, global, m); err != nil {
			return err
		}
		if edges != nil && !norm.Adjacency(edges[i*kk:(i+1)*kk]) {
			z.finder.EdgesOf(index, m, z.entry)
			field.Adjacency(z.entry, edges[i*kk:(i+1)*kk])
		}
		if z.hops != nil {
			// Members and neighbourhood both ascend by distance, so member j has the distance of
			// node j of the neighbourhood.
			copy(z.hops[i*k:(i+1)*k], dist)
		}
	}
	if z.twice() {
		for i := range z.used {
			z.finder.EdgesOf(index, members[i*k:(i+1)*k], z.entry[i*kk:(i+1)*kk])
		}
	}
	return nil
}

// globalLabels labels the whole graph g, once for all workers if it is shared.
func (z *normalizer) globalLabels(ctx context.Context, g *graph.Graph, shared *sharedGraph) ([]float64, error) {
	if shared == nil {
		return z.labels.of(ctx, z.By, g)
	}
	shared.labelsOnce.Do(func() {
		var own labels
		shared.labels, shared.labelsErr = own.of(ctx, z.By, g)
	})
	return shared.labels, shared.labelsErr
}

// append appends the current row to the columns that fields does not write.
func (z *normalizer) append(g *graph.Graph, row int) {
	for _, write := range z.appends {
		write(g, row)
	}
}

func (z *normalizer) Release() {
	z.index.release()
	z.columns.Release()
}
