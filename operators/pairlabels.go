package operators

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/scratch"
)

// PairLabels labels the nodes of the two fields of a pair of nodes by their distances to both
// ends, for link prediction by nn.Link or nn.Pooled (labels as in Zhang and Chen, NeurIPS
// 2018). A common neighbour is (1, 1) at any place in the field. PairLabels replaces nodes_cat
// by three discrete channels:
//
//	0                                            the group, see nn.Pooled
//	(hops from own end, hops from the other)     4·9 values: 0 to 2 and more, 0 to 7 and more or none
//	the same with the degree                     4·9·7 values: ⌊log₂ of the degree⌋ 0 to 5, and more
//
// It stands behind rows of two roots, such as those of sources.Rooted, and drops the graph. A field is the nodes nearest to its
// end, those of equal distance by their labels, so the labels of a row do not depend on the numbers of nodes. Graphs are undirected. A search from an end stops before the ring that would bring it to more
// than 2048 nodes, but reads the first ring. A worker keeps two bytes for each node of a graph.
type PairLabels struct {
	// K is the number of nodes of a field. It must be set.
	K int
}

var _ flow.Operator = PairLabels{}

// Numbers of values of the parts of a label, and the bound of nodes that a search visits.
const (
	ownHops     = 4
	otherHops   = 9
	degreeSizes = 7
	pairReach   = 2048
)

// String returns the name for the plan of a pipeline.
func (PairLabels) String() string { return "PairLabels" }

// Open checks that a row is two fields, or two roots.
func (p PairLabels) Open(in *arrow.Schema) (flow.Stage, error) {
	var shape []int
	if err := record.Meta(in, record.Roots, record.MetaShape, &shape); err != nil {
		return nil, err
	}
	if err := checkK(p.K); err != nil {
		return nil, err
	}
	if len(shape) != 1 || shape[0] != 2 {
		return nil, fmt.Errorf("column %q has the shape %v, want two ends: put rows of two roots before PairLabels", record.Roots, shape)
	}
	bound, err := record.Bind(in)
	if err != nil {
		return nil, err
	}
	if bound.Layout.Directed {
		return nil, fmt.Errorf("the graphs are directed, want undirected ones")
	}
	out, err := record.Replace(in, append([]string{record.NodesCat}, graphColumns...), record.TensorField[int32](record.NodesCat, []int{2, p.K, 3}, []record.Channel{
		{Name: "group", Card: 1}, {Name: "between", Card: ownHops * otherHops}, {Name: "between, degree", Card: ownHops * otherHops * degreeSizes},
	}))
	if err != nil {
		return nil, err
	}
	return stageOfRows(out, &pairLabeler{k: p.K, bound: bound}), nil
}

// pairLabeler is one worker of a running PairLabels.
type pairLabeler struct {
	k       int
	bound   *record.Binding
	graphs  *record.Graphs
	roots   record.ListView[int32] // roots of the current record
	members []int32                // members of a row, (2, k)
	cats    *record.Fixed[int32]
	near    [2][]uint8 // hops from each end plus one; 0 = not reached
	visited [2][]int32
	keys    [][2]int32 // scratch: distance and label, then the node
}

func (l *pairLabeler) Fork() rowBuilder {
	return &pairLabeler{k: l.k, bound: l.bound}
}

func (l *pairLabeler) Begin(mem memory.Allocator, rec arrow.Record) (err error) {
	if l.cats == nil {
		l.cats = record.NewFixed[int32](mem, 2*l.k*3)
	}
	if l.roots, err = record.ListsOf[int32](rec, record.Roots); err != nil {
		return err
	}
	l.graphs, err = l.bound.View(rec)
	return err
}

func (l *pairLabeler) Row(_ context.Context, row int) error {
	var g graph.Graph
	l.graphs.At(row, &g)
	l.members = scratch.Resize(l.members, 2*l.k)
	members, ends := l.members, l.roots.Row(row)
	fill(members, nil, -1)
	members[0], members[l.k] = ends[0], ends[1]
	if err := checkRoots(members, g.N()); err != nil {
		return err
	}
	if members[0] < 0 || members[l.k] < 0 {
		return fmt.Errorf("the roots are %d and %d, want two nodes", members[0], members[l.k])
	}
	l.label(&g, members, l.cats.Extend(1))
	return nil
}

func (l *pairLabeler) Finish(rows int) map[string]arrow.Array {
	return map[string]arrow.Array{record.NodesCat: l.cats.Finish(rows)}
}

func (l *pairLabeler) Release() {
	if l.cats != nil {
		l.cats.Release()
	}
}

// label writes the labels of two fields (2, k) of g to cats (2, k, 3).
func (l *pairLabeler) label(g *graph.Graph, members, cats []int32) {
	for end := range l.near {
		if len(l.near[end]) < g.N() {
			l.near[end] = make([]uint8, g.N())
		}
		l.search(g, end, members[end*l.k])
	}
	for end := range l.near {
		l.choose(g, end, members[end*l.k:][:l.k])
	}
	for i, v := range members {
		cell := cats[3*i : 3*i+3]
		if v < 0 {
			cell[0], cell[1], cell[2] = -1, -1, -1
			continue
		}
		between, both := l.labelOf(g, i/l.k, v)
		cell[0], cell[1], cell[2] = 0, between, both
	}
	for end, visited := range l.visited {
		for _, v := range visited {
			l.near[end][v] = 0
		}
	}
}

// labelOf returns the label of a node in the field of an end, without and with its degree.
func (l *pairLabeler) labelOf(g *graph.Graph, end int, v int32) (between, both int32) {
	between = hopsOf(l.near[end][v], ownHops)*otherHops + hopsOf(l.near[1-end][v], otherHops)
	return between, between*degreeSizes + int32(min(degreeSizes-1, max(0, bits.Len(uint(g.Degree(v)))-1)))
}

// choose sets members to the first nodes that the search from an end has visited, by distance and
// label. A model cannot distinguish nodes with equal labels.
func (l *pairLabeler) choose(g *graph.Graph, end int, members []int32) {
	l.keys = l.keys[:0]
	for _, v := range l.visited[end] {
		_, both := l.labelOf(g, end, v)
		key := [2]int32{int32(l.near[end][v])<<16 | both, v}
		at := len(l.keys)
		for at > 0 && l.keys[at-1][0] > key[0] {
			at--
		}
		l.keys = slices.Insert(l.keys, at, key)
		l.keys = l.keys[:min(len(l.keys), len(members))]
	}
	for i, key := range l.keys {
		members[i] = key[1]
	}
}

// hopsOf returns a distance as one of n values. The last stands for all larger distances.
func hopsOf(near uint8, n int32) int32 {
	if near == 0 {
		return n - 1
	}
	return min(int32(near)-1, n-1)
}

// search visits the nodes around an end ring by ring, up to otherHops or until the next ring would
// bring their number above pairReach. It visits all nodes of a ring or none, and always the first
// ring, so the result does not depend on node numbers.
func (l *pairLabeler) search(g *graph.Graph, end int, from int32) {
	visited, near := append(l.visited[end][:0], from), l.near[end]
	near[from] = 1
	for begin, hop := 0, uint8(2); hop < otherHops && begin < len(visited); hop++ {
		ring := len(visited)
		for _, u := range visited[begin:ring] {
			for _, v := range g.Adj(u) {
				if near[v] == 0 {
					near[v] = hop
					visited = append(visited, v)
				}
			}
		}
		if len(visited) > pairReach {
			if begin > 0 {
				for _, v := range visited[ring:] {
					near[v] = 0
				}
				visited = visited[:ring]
			}
			break
		}
		begin = ring
	}
	l.visited[end] = visited
}
