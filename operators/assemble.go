package operators

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/field"
)

// Assemble gathers the neighbourhood of each root (Niepert et al. 2016,
// Algorithm 2): breadth-first levels around it until there are at least K
// nodes or nothing is left. It adds the columns hood, nodes by distance with
// the root first, and dist, their hop distances. A zero field has an empty
// neighbourhood.
type Assemble struct {
	// K is k, the field size, at most 256. It must be set.
	K int
	// Direction selects the arcs of a directed graph to follow. The default is both ways.
	Direction field.Direction
	// Bound, if not 0, is the largest number of nodes of a neighbourhood, at least K: a level that
	// does not fit is cut by a rank of all nodes of the graph, so that a field costs the same
	// beside a hub as elsewhere. field.Index.SetBound documents the dependence on the numbering and
	// the cost in quality. The default is no bound, whole levels.
	Bound int
}

var _ flow.Operator = Assemble{}

// Keys of the metadata of column hood, by which Assemble passes K and Direction to Normalize.
const (
	metaK         = "k"
	metaDirection = "direction"
)

// Open checks the settings.
func (a Assemble) Open(in *arrow.Schema) (flow.Stage, error) {
	if err := cmp.Or(checkK(a.K), checkDirection(a.Direction), checkBound(a.Bound, a.K)); err != nil {
		return nil, err
	}
	bound, err := record.Bind(in)
	if err != nil {
		return nil, err
	}
	if _, ok, err := record.Field(in, record.Roots); err != nil || !ok {
		return nil, fmt.Errorf("there is no column %q to start from: put Select before Assemble", record.Roots)
	}
	hood := arrow.Field{Name: record.Hood, Type: record.NestedType[int32](), Metadata: arrow.NewMetadata(
		[]string{metaK, metaDirection}, []string{strconv.Itoa(a.K), strconv.Itoa(int(a.Direction))})}
	schema, err := record.Extend(in, hood, arrow.Field{Name: record.Dist, Type: record.NestedType[uint8]()})
	if err != nil {
		return nil, err
	}
	shared := &sharedGraphs{}
	return stageOfRows(schema, func(mem memory.Allocator) rowBuilder {
		s := &assembler{Assemble: a, viewer: viewer{bound: bound}, index: indexer{shared: shared}}
		s.hood = addColumn(&s.columns, record.Hood, record.NewNested[int32](mem))
		s.dist = addColumn(&s.columns, record.Dist, record.NewNested[uint8](mem))
		return s
	}), nil
}

func checkK(k int) error {
	if k < 1 || k > field.MaxK {
		return fmt.Errorf("K is %d, want 1 to %d, the number of nodes of a receptive field", k, field.MaxK)
	}
	return nil
}

func checkDirection(d field.Direction) error {
	if d < field.Both || d > field.In {
		return fmt.Errorf("Direction is %d, want Both, Out or In", int(d))
	}
	return nil
}

func checkBound(bound, k int) error {
	if bound != 0 && bound < k {
		return fmt.Errorf("Bound is %d, want 0 or at least K, %d", bound, k)
	}
	return nil
}

type assembler struct {
	Assemble
	columns
	viewer
	walk  field.Assembler
	index indexer
	rec   arrow.Record // record of the current row, borrowed
	roots record.ListView[int32]
	hood  *record.Nested[int32]
	dist  *record.Nested[uint8]
}

func (a *assembler) Begin(rec arrow.Record) (err error) {
	a.rec = rec
	if err := a.viewer.Begin(rec); err != nil {
		return err
	}
	a.roots, err = record.ListsOf[int32](rec, record.Roots)
	return err
}

func (a *assembler) Row(ctx context.Context, row int) error {
	g := a.graph(row)
	roots := a.roots.Row(row)
	if err := checkRoots(roots, g.N()); err != nil {
		return err
	}
	index, shared := a.index.of(&g, a.rec, a.sharedIndex(a.Direction, a.Bound), func(ix *field.Index, g *graph.Graph) {
		if ix == &a.index.own {
			ix.ResetForWalks(g, a.Direction)
		} else { // a shared index serves Normalize too, which reads more than walks do
			ix.Reset(g, a.Direction)
		}
		ix.SetBound(a.Bound)
	})
	a.now.hoods, a.now.index, a.now.direction, a.now.bound = true, shared, a.Direction, a.Bound
	for i, root := range roots {
		if i%16 == 0 {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			a.walk.Prefetch(index, roots[i:min(i+16, len(roots))])
		}
		var hood []int32
		var dist []uint8
		if root >= 0 {
			hood, dist = a.walk.Assemble(index, root, a.K)
		}
		a.hood.Append(hood)
		a.dist.Append(dist)
	}
	a.hood.EndRow()
	a.dist.EndRow()
	return nil
}

func checkRoots(roots []int32, n int) error {
	most := uint32(0)
	for _, r := range roots {
		most = max(most, uint32(r+1))
	}
	if most <= uint32(n) {
		return nil
	}
	for _, r := range roots {
		if uint32(r+1) > uint32(n) { // below -1, or n and above
			return fmt.Errorf("root %d is not among the %d nodes", r, n)
		}
	}
	return nil
}

func (a *assembler) Release() {
	a.index.release()
	a.columns.Release()
}
