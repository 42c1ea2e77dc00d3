// Package links makes examples for link prediction out of one graph: edges to find
// again, and pairs of nodes that are not joined, as rows of two roots.
//
//	trial, err := links.Split{}.Hide(ctx, g, rand.New(rand.NewPCG(1, 0)))
//	train := flow.From(links.Rows(trial.Folds...))
//	test := flow.From(links.Rows(trial.Test))
package links

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/rows"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// Pair is two nodes.
type Pair [2]int32

// Fold has candidate pairs, and the graph without the edges among them.
type Fold struct {
	Graph *graph.Graph
	Pairs []Pair
	Link  []bool // Link[i] tells whether Pairs[i] is an edge of the original graph
}

// Trial is the result of hiding edges once.
type Trial struct {
	Test  Fold
	Folds []Fold // for training and validation
}

// Split hides a share of the edges of a graph and draws as many pairs that are not
// joined, for the test. The edges that are left are hidden in turn, a fold at a time,
// with as many pairs that are not joined: the examples to learn from. So each row, of
// the test as of the training, comes from a graph without the edge in question, and a
// model does not learn that a link is where the edge is.
type Split struct {
	// Share is the share of the edges that the test hides, above 0 and at most 0.5;
	// 0 = 0.1.
	Share float64
	// Folds is the number of parts of the other edges; 0 = 10.
	Folds int
	// MaxEdges bounds the hidden edges of all folds together; 0 = no bound.
	MaxEdges int
	// MaxTest bounds the edges that the test hides, in place of Share if that is more;
	// 0 = no bound.
	MaxTest int
}

// Hide splits a graph, which is undirected. The numbers are drawn from rng. A fold's graph has the
// nodes of g and shares their attributes. O(Folds·(n + m log m)). A graph with too few edges, or
// with fewer than twice as many unjoined pairs, is an error.
func (s Split) Hide(ctx context.Context, g *graph.Graph, rng *rand.Rand) (*Trial, error) {
	share, folds := cmp.Or(s.Share, 0.1), cmp.Or(s.Folds, 10)
	switch {
	case !(share > 0 && share <= 0.5) || folds < 1 || min(s.MaxEdges, s.MaxTest) < 0:
		return nil, fmt.Errorf("links: Share is %v, Folds %d, MaxEdges %d, MaxTest %d, want a share up to 0.5 and numbers that are not negative", s.Share, s.Folds, s.MaxEdges, s.MaxTest)
	case g == nil || g.Directed:
		return nil, fmt.Errorf("links: there is no graph, or it is directed, want an undirected one")
	}
	h := &hiding{ctx: ctx, g: g, rng: rng, drawn: map[Pair]bool{}}
	edges, err := h.edges()
	if err != nil {
		return nil, err
	}
	n := int(share*float64(len(edges)) + 0.5)
	if s.MaxTest > 0 {
		n = min(n, s.MaxTest)
	}
	if n < 1 || len(edges)-n < 2*folds {
		return nil, fmt.Errorf("%d edges are too few to hide %g of them and learn from %d parts of the rest", len(edges), share, folds)
	}
	free := int64(g.N())*int64(g.N()-1)/2 - int64(len(edges))
	if free < 2*int64(len(edges)) {
		return nil, fmt.Errorf("only %d pairs of nodes are not joined, want twice the %d edges: the graph is too dense for non-links to be drawn", free, len(edges))
	}
	if err := h.shuffle(edges); err != nil {
		return nil, err
	}
	t := &Trial{}
	if t.Test, err = h.cut(edges[:n], edges[n:], nil); err != nil {
		return nil, err
	}
	return t, h.folds(t, edges[n:], nil, folds, s.MaxEdges)
}

// folds adds folds to t. Each hides a part of edges, which are in random order: about maxEdges in all if that is not 0. Unjoined pairs of
// a fold are first those in a part of others.
func (h *hiding) folds(t *Trial, edges, others []Pair, folds, maxEdges int) error {
	for i := range folds {
		hidden, left := part(edges, i, folds)
		given, _ := part(others, i, folds)
		if maxEdges > 0 {
			hidden = hidden[:min(len(hidden), max(1, maxEdges/folds))]
		}
		f, err := h.cut(hidden, left, given)
		if err != nil {
			return err
		}
		t.Folds = append(t.Folds, f)
	}
	return nil
}

// part returns the i-th of parts equal slices, and the remaining pairs.
func part(of []Pair, i, parts int) (part, rest []Pair) {
	from, to := len(of)*i/parts, len(of)*(i+1)/parts
	return of[from:to], append(append([]Pair(nil), of[:from]...), of[to:]...)
}

// hiding is the state of one Split.
type hiding struct {
	ctx   context.Context
	g     *graph.Graph
	rng   *rand.Rand
	drawn map[Pair]bool // unjoined pairs drawn so far; the lower node is first
}

// err returns the error of the context, checked once in 16 384 steps.
func (h *hiding) err(i int) error {
	if i&(1<<14-1) == 0 && h.ctx.Err() != nil {
		return context.Cause(h.ctx)
	}
	return nil
}

// edges lists the edges, the lower node first.
func (h *hiding) edges() (edges []Pair, err error) {
	for u := range int32(h.g.N()) {
		if err := h.err(int(u)); err != nil {
			return nil, err
		}
		for _, v := range h.g.Adj(u) {
			if u < v {
				edges = append(edges, Pair{u, v})
			}
		}
	}
	return edges, nil
}

// shuffle permutes the edges, and swaps the ends of each with probability 1/2.
func (h *hiding) shuffle(edges []Pair) error {
	for i := len(edges) - 1; i > 0; i-- { // rng.Shuffle that can be cancelled
		if err := h.err(i); err != nil {
			return err
		}
		j := h.rng.IntN(i + 1)
		edges[i], edges[j] = edges[j], edges[i]
	}
	for i, e := range edges { // the order of ends must carry no information
		if h.rng.IntN(2) == 0 {
			edges[i] = Pair{e[1], e[0]}
		}
	}
	return nil
}

// cut returns the fold that hides links. It has as many unjoined pairs as links: first those of given, then random
// ones. Its graph has the edges rest.
func (h *hiding) cut(links, rest, given []Pair) (f Fold, err error) {
	if f.Graph, err = h.only(rest); err != nil {
		return f, err
	}
	for _, e := range links {
		f.Pairs, f.Link = append(f.Pairs, e), append(f.Link, true)
	}
	for i := range links {
		if err := h.err(i); err != nil {
			return f, err
		}
		p := Pair{}
		if i < len(given) {
			p = given[i]
		} else {
			p = h.draw()
		}
		f.Pairs, f.Link = append(f.Pairs, p), append(f.Link, false)
	}
	return f, nil
}

// only returns the graph with just these edges.
func (h *hiding) only(edges []Pair) (*graph.Graph, error) {
	list := make([]graph.Edge, len(edges))
	for i, e := range edges {
		list[i] = graph.Edge{U: e[0], V: e[1]}
	}
	left, csr := &graph.Graph{}, rows.Csr{Alive: reading.Ending(h.ctx)}
	if err := reading.Build(&csr, h.g.N(), false, &rows.Arcs{Ends: list}, left); err != nil {
		return nil, err
	}
	left.NodeAttrs, left.NodeAttr = h.g.NodeAttrs, h.g.NodeAttr
	left.NodeCats, left.NodeCat = h.g.NodeCats, h.g.NodeCat
	left.SparseCard, left.SparseOffsets, left.NodeSparse = h.g.SparseCard, h.g.SparseOffsets, h.g.NodeSparse
	return left, nil
}

// draw returns a random pair of nodes that are not joined. No pair is drawn twice.
func (h *hiding) draw() Pair {
	for {
		p := Pair{h.rng.Int32N(int32(h.g.N())), h.rng.Int32N(int32(h.g.N()))}
		key := Pair{min(p[0], p[1]), max(p[0], p[1])}
		if p[0] != p[1] && !h.drawn[key] && h.g.Entry(p[0], p[1]) < 0 {
			h.drawn[key] = true
			return p
		}
	}
}
