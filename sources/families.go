package sources

import (
	"cmp"
	"context"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources/generate"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// Families is a collection of generated graphs. The class of a graph is its family. It needs no
// file. The examples learn from it by default.
//
//	class 0  torus                   everyone has the same four-sided surroundings
//	class 1  random regular          locally a tree
//	class 2  Erdős–Rényi             locally a tree, degrees spread
//	class 3  preferential attachment hubs
//	class 4  small world             triangles along a ring, and shortcuts
//	class 5  ring of cliques         dense groups
//
// Sizes are 20, 25, … 60 nodes and there are between 1.9 and 2.1 edges per
// node, drawn alike for every class, so that neither gives the class away: a
// fraction Noise of the edges is taken away, and random ones put in their
// place. Nodes have no attributes. Classes take turns, so that every run of six
// graphs has one of each; graph_id and pos are the index.
//
// Graph i is a function of Seed, Noise and i alone: a larger collection begins
// with the smaller one.
type Families struct {
	// Graphs is the number of graphs. The default is 480, 80 of each class.
	Graphs int
	// Seed selects the collection.
	Seed uint64
	// Noise is the fraction of edges that was replaced, in 0 to 1. The default
	// is 0.1; a negative value means none.
	Noise float64
	// Rows is the number of graphs per record. The default is 64.
	Rows int
}

// FamilyNames are the names of the classes of Families.
var FamilyNames = []string{"torus", "random regular", "Erdős–Rényi", "preferential attachment", "small world", "ring of cliques"}

// String names the collection, for the plan of a pipeline.
func (s Families) String() string {
	return fmt.Sprintf("Families(%d graphs, seed %d)", s.graphs(), s.Seed)
}

// Open checks the settings. The graphs are made one by one as they are read.
func (s Families) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	if s.Graphs < 0 || s.Rows < 0 || !(s.Noise <= 1) {
		return nil, fmt.Errorf("sources: Families: Graphs %d, Rows %d, Noise %g, want at least 0, at least 0, at most 1", s.Graphs, s.Rows, s.Noise)
	}
	return &reading.ItemsReader{Item: indexed(s.graphs(), s.item), Rows: cmp.Or(s.Rows, 64), Build: record.NewBuilder(mem, record.Layout{Classes: FamilyNames})}, nil
}

func (s Families) graphs() int { return cmp.Or(s.Graphs, 480) }

// Items returns the graphs with their classes.
func (s Families) Items() ([]Item, error) {
	items := make([]Item, s.graphs())
	for i := range items {
		var err error
		if items[i], err = s.item(i); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func (s Families) item(i int) (Item, error) {
	class := i % len(FamilyNames)
	g, err := s.graph(class, uint64(i))
	return Item{Graph: g, Class: int32(class)}, err
}

func (s Families) graph(class int, i uint64) (*graph.Graph, error) {
	// A seed of its own per graph keeps random draws independent.
	seed := s.Seed + i*0x9e3779b97f4a7c15
	rng := generate.NewRand(seed)
	fives := 4 + rng.IntN(9)
	n := 5 * fives
	m := 2*n + rng.IntN(2*(n/10)+1) - n/10
	noise := max(0, cmp.Or(s.Noise, 0.1))

	var g *graph.Graph
	var err error
	switch class {
	case 0:
		g, err = generate.Torus(5, fives)
	case 1:
		g, err = generate.RandomRegular(n, 4, rng.Uint64())
	case 2:
		g, err = generate.ErdosRenyi(n, m, rng.Uint64())
	case 3:
		g, err = generate.PreferentialAttachment(n, 2, rng.Uint64())
	case 4:
		g, err = generate.SmallWorld(n, 4, 0.1, rng.Uint64())
	default:
		g, err = generate.RingOfCliques(fives, 5)
	}
	if err != nil {
		return nil, err
	}
	return generate.Disturb(g, noise, m, rng.Uint64())
}
