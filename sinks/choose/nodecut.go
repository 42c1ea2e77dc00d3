package choose

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	lines "github.com/sanflow/sanflow/internal/rows"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
)

// reach bounds the part of the graph that the answer about a node depends on: the edges of the nodes at fewer than hops edges from the root. Of another
// node than the root, at most count.MostAround+1 edges are read. A ring after the first with which there are more than count.MostAround nodes is the last.
type reach struct {
	hops      int
	walks     int // hops of operators.Describe, none from a root with more than count.MostAround edges
	beliefs   operators.Beliefs
	intervals bool // numbers of edges are read, in intervals, at each node
}

// reachOf returns the reach of a recipe, and the operators that follow the graph with its roots and beliefs. An error names an operator that reads more.
func reachOf(r operators.Recipe) (of reach, behind operators.Recipe, err error) {
	for _, op := range r {
		switch op := op.(type) {
		case operators.Expect, operators.Intervals, operators.ExpectColumns:
		case operators.Roots:
			if len(op.Nodes) != 1 {
				return of, nil, errors.New("answers are about pairs of nodes")
			}
		case operators.Beliefs:
			of.beliefs = op
		case operators.Describe:
			if op.Bound < 1 || op.Bound > count.MostAround {
				return of, nil, errors.New("operators.Describe has no Bound: train the model again")
			}
			of.walks = cmp.Or(op.Hops, 2)
			of.hops = max(of.hops, of.walks)
		case operators.Count:
			for _, c := range op.Of {
				around, ok := c.(count.Around)
				if !ok {
					return of, nil, fmt.Errorf("%v counts what is in the whole graph", c)
				}
				of.hops = max(of.hops, cmp.Or(around.Hops, 3))
				of.intervals = of.intervals || len(around.Bins.Edges) > 0
				if around.Beliefs > 0 {
					of.hops = max(of.hops, 2)
				}
			}
		default:
			return of, nil, fmt.Errorf("%s reads nodes at any distance", flow.Name(op))
		}
		switch op.(type) {
		case operators.Expect, operators.Roots, operators.Beliefs:
		default:
			behind = append(behind, op)
		}
	}
	if of.hops == 0 {
		return of, nil, errors.New("the recipe counts nothing around a node")
	}
	return of, behind, nil
}

// CheckLive returns why a model of nodes cannot answer about a graph that changes: its answers depend on more than a bounded number of nodes.
func CheckLive(p *sinks.Predictor) error {
	if err := (System{Recipe: p.Recipe(), smooth: p.Smoothed()}).Live(); err != nil {
		return fmt.Errorf("a change of the graph may change all answers of the model: %w; train -live-only leaves such systems out", err)
	}
	return nil
}

// Live returns why the answers of a system for nodes are not for a graph that changes, or nil: see CheckLive.
func (s System) Live() error {
	if s.smooth {
		return errSmoothed
	}
	_, _, err := reachOf(s.Recipe)
	return err
}

var errSmoothed = errors.New("answers are smoothed over the edges of the whole graph")

// piece is the part of a graph that a question needs, copied under the lock.
type piece struct {
	nodes  []int32 // numbers in the graph, the root first
	names  []string
	cat    []int32 // attributes of nodes, as in graph.Graph.NodeCat
	attr   []float32
	degree []int32

	from, to []int32 // ends of the edges that are read, as indices of nodes
	edgeCat  []int32
	edgeAttr []float32
}

// errStale says that an edge has several rows that are not united yet. Uniting them needs the lock of a writer.
var errStale = errors.New("stale")

// cut copies the part of the graph that the answer about a node depends on. With unite, the caller holds the lock of a writer. Else a reader's lock is
// enough, and the error may be errStale.
func (o *OpenNodes) cut(root int32, unite bool) (*piece, error) {
	p, place := &piece{nodes: []int32{root}}, map[int32]int32{root: 0}
	out, _, flat := o.g.Rows()
	add := func(v int32) int32 {
		at, ok := place[v]
		if !ok {
			at = int32(len(p.nodes))
			place[v] = at
			p.nodes = append(p.nodes, v)
		}
		return at
	}
	edges := flat.EdgeCats > 0 || o.reach.intervals || len(o.reach.beliefs.Names) > 0
	for hop, begin := 0, 0; hop < o.reach.hops && begin < len(p.nodes); hop++ {
		end := len(p.nodes)
		read := edges || hop < o.reach.walks && out.End[root]-out.Begin[root] <= count.MostAround
		for i := begin; i < end; i++ {
			v := p.nodes[i]
			first, last := out.Begin[v], out.End[v]
			enough := hop > 0 && len(p.nodes) > count.MostAround
			switch hub := hop > 0 && last-first > count.MostAround; {
			case enough && (hub || !read):
				continue
			case hub: // so many edges make the ring the last
				last = first + count.MostAround + 1
			}
			for e := first; e < last; e++ {
				if w := out.Items[e]; unite {
					o.g.Unite(v, w)
				} else if o.g.Stale(v, w) {
					return nil, errStale
				}
				p.from, p.to = append(p.from, int32(i)), append(p.to, add(out.Items[e]))
				cat, attr := out.At(e)
				for c, word := range cat {
					p.edgeCat = append(p.edgeCat, o.words[c].as[word])
				}
				p.edgeAttr = append(p.edgeAttr, attr...)
			}
		}
		if begin = end; hop > 0 && len(p.nodes) > count.MostAround {
			break
		}
	}
	for _, v := range p.nodes {
		p.names, p.degree = append(p.names, o.nameOf(v)), append(p.degree, out.End[v]-out.Begin[v])
		p.cat = append(p.cat, flat.NodeCat[int(v)*flat.NodeCats:][:flat.NodeCats]...)
		p.attr = append(p.attr, flat.NodeAttr[int(v)*flat.NodeAttrs:][:flat.NodeAttrs]...)
	}
	return p, nil
}

// graph makes a graph of a piece, with its nodes in the order of their ids, and returns the number of the root. The graph depends on the neighbourhood
// alone, not on the numbers of the nodes.
func (o *OpenNodes) graph(p *piece) (g *graph.Graph, ids graph.IDs, root int32, err error) {
	n := len(p.nodes)
	order, place := make([]int32, n), make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(p.names[a], p.names[b]) })
	names := make([]string, n)
	for at, i := range order {
		place[i], names[at] = int32(at), p.names[i]
	}
	if ids, err = graph.IDsOfStrings(names); err != nil {
		return nil, ids, 0, err
	}
	l := &o.layout
	g = &graph.Graph{Directed: l.Directed, NodeCats: len(l.NodeCat), NodeAttrs: len(l.NodeAttr), EdgeCats: len(l.EdgeCat), EdgeAttrs: len(l.EdgeAttr)}
	for _, i := range order {
		g.Degrees = append(g.Degrees, p.degree[i])
		g.NodeCat = append(g.NodeCat, p.cat[int(i)*g.NodeCats:][:g.NodeCats]...)
		g.NodeAttr = append(g.NodeAttr, p.attr[int(i)*g.NodeAttrs:][:g.NodeAttrs]...)
	}
	arcs := lines.Arcs{Cat: p.edgeCat, Attr: p.edgeAttr, Cats: g.EdgeCats, Attrs: g.EdgeAttrs}
	for e, from := range p.from {
		arcs.Ends = append(arcs.Ends, lines.Edge{U: place[from], V: place[p.to[e]]})
	}
	var made lines.Graph
	if err := new(lines.Csr).Build(n, g.Directed, &arcs, &made); err != nil {
		return nil, ids, 0, err
	}
	g.Offsets, g.Neighbors, g.EdgeCat, g.EdgeAttr = made.Offsets, made.Neighbors, made.EdgeCat, made.EdgeAttr
	return g, ids, place[0], nil
}
