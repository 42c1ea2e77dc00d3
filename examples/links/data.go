package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// pair is two nodes that are joined, or are not.
type pair struct{ u, v int32 }

// read returns the graph that the command line names, with its attributes where
// it has some; directions are dropped.
func read(ctx context.Context, c *config) (*sources.NodeSet, error) {
	bar := cli.NewProgress("reading", -1)
	defer bar.Done()
	set := &sources.NodeSet{}
	var err error
	switch {
	case c.data != "":
		set, err = sources.Nodes{Path: cli.Place("nodes", c.data)}.Read(ctx)
	case c.graph == "":
		set.Graph, _, err = generate.Communities(200, 5, 8, 1, c.seed)
	default:
		var net *sources.Network
		if net, err = (sources.EdgeList{Path: cli.Place("graphs", c.graph)}).Read(ctx); err == nil {
			set.Graph = net.Graph
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	}
	set.Standardize()
	set.Class, set.Classes, set.Split = nil, nil, nil // of no use here
	return set, nil
}

// name is what the graph is called in the report.
func (c *config) name() string {
	if c.data+c.graph == "" {
		return "communities"
	}
	return cli.DataName(c.data + c.graph)
}

// fold is pairs of which none is joined in the graph that their fields come
// from: those that are links have been taken out of it.
type fold struct {
	graph *graph.Graph
	pairs []pair
	link  []bool
}

// trial is one hiding of edges.
type trial struct {
	test  fold
	folds []fold // the first is for validation
}

// hide hides a share of the edges and finds as many pairs that are not joined,
// for the test. What is left is hidden in turn, a fold at a time, with as many
// non-links again: those are the examples to learn from. So every field, of the
// test as of the training, comes from a graph without the edge in question, and
// the network never learns that a link is where the edge is. Of the hidden edges
// that are learned from, the folds keep most in all; 0 stands for all of them.
func hide(ctx context.Context, set *sources.NodeSet, share float64, folds, most int, rng *rand.Rand) (*trial, error) {
	g := set.Graph
	var edges []pair
	for u := range int32(g.N()) {
		if over(ctx, int(u)) {
			return nil, context.Cause(ctx)
		}
		for _, v := range g.Adj(u) {
			if u < v {
				edges = append(edges, pair{u, v})
			}
		}
	}
	n := int(share*float64(len(edges)) + 0.5)
	if n < 1 || len(edges)-n < 2*folds {
		return nil, fmt.Errorf("%d edges are too few to hide %g of them and learn from %d parts of the rest", len(edges), share, folds)
	}
	free := int64(g.N())*int64(g.N()-1)/2 - int64(len(edges))
	if free < 2*int64(len(edges)) {
		return nil, fmt.Errorf("only %d pairs of nodes are not joined, want twice the %d edges: the graph is too dense for non-links to be drawn", free, len(edges))
	}
	for i := len(edges) - 1; i > 0; i-- { // rng.Shuffle
		if over(ctx, i) {
			return nil, context.Cause(ctx)
		}
		j := rng.IntN(i + 1)
		edges[i], edges[j] = edges[j], edges[i]
	}
	for i, e := range edges { // which end is first must not tell
		if rng.IntN(2) == 0 {
			edges[i] = pair{e.v, e.u}
		}
	}
	drawn := map[pair]bool{}
	cut := func(links, rest []pair) (f fold, err error) {
		f.graph, err = without(ctx, g, rest)
		for _, e := range links {
			f.pairs, f.link = append(f.pairs, e), append(f.link, true)
		}
		for i := range links {
			if over(ctx, i) {
				return f, context.Cause(ctx)
			}
			f.pairs, f.link = append(f.pairs, drawNonLink(g, rng, drawn)), append(f.link, false)
		}
		return f, err
	}
	hidden, rest := edges[:n], edges[n:]
	t := &trial{}
	var err error
	if t.test, err = cut(hidden, rest); err != nil {
		return nil, err
	}
	for i := range folds {
		from, to := len(rest)*i/folds, len(rest)*(i+1)/folds
		left := append(append([]pair(nil), rest[:from]...), rest[to:]...)
		links := rest[from:to] // in the order that was drawn
		if most > 0 {
			links = links[:min(len(links), max(1, most/folds))]
		}
		f, err := cut(links, left)
		if err != nil {
			return nil, err
		}
		t.folds = append(t.folds, f)
	}
	return t, nil
}

// over reports, now and then, whether a loop should end before its step i.
func over(ctx context.Context, i int) bool { return i&(1<<14-1) == 0 && ctx.Err() != nil }

// without returns g with these edges alone.
func without(ctx context.Context, g *graph.Graph, edges []pair) (*graph.Graph, error) {
	list := make([]graph.Edge, len(edges))
	for i, e := range edges {
		list[i] = graph.Edge{U: e.u, V: e.v}
	}
	left, err := graph.NewContext(ctx, g.N(), false, list)
	if err != nil {
		return nil, err
	}
	left.NodeAttrs, left.NodeAttr = g.NodeAttrs, g.NodeAttr
	left.SparseCard, left.SparseOffsets, left.NodeSparse = g.SparseCard, g.SparseOffsets, g.NodeSparse
	return left, nil
}

// drawNonLink draws two nodes that are not joined, and were not drawn before.
func drawNonLink(g *graph.Graph, rng *rand.Rand, drawn map[pair]bool) pair {
	for {
		p := pair{rng.Int32N(int32(g.N())), rng.Int32N(int32(g.N()))}
		key := pair{min(p.u, p.v), max(p.u, p.v)}
		if p.u != p.v && !drawn[key] && g.Entry(p.u, p.v) < 0 {
			drawn[key] = true
			return p
		}
	}
}
