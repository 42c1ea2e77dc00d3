package main

import (
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sinks/page"
)

// drawing is a graph and where its nodes go.
type drawing struct {
	graph *graph.Graph // without directions
	at    []page.Point
	root  int      // the node to mark, or -1
	names []string // of the nodes; nil: they are not shown
}

// portrait draws a whole graph; with its nodes' names if there is room for
// them.
func portrait(g *graph.Graph, name func(v int32) string) *drawing {
	d := &drawing{graph: g, at: page.Layout(g), root: -1}
	for v := range int32(g.N()) {
		if g.N() <= 60 {
			d.names = append(d.names, name(v))
		}
	}
	return d
}

// ofMatrix draws the graph of a k×k matrix, of which the part above the diagonal
// counts; name, if it is not nil, is what the node at a place is called. Nodes without an edge are left out, but for the root.
func ofMatrix(x []float32, k int, name func(place int) string) (*drawing, error) {
	d := &drawing{}
	var node []int // places in the matrix
	for i := range k {
		joined := i == 0
		for j := range k {
			joined = joined || x[min(i, j)*k+max(i, j)] != 0 && i != j
		}
		if joined {
			node = append(node, i)
			if name != nil {
				d.names = append(d.names, name(i))
			}
		}
	}
	var edges []graph.Edge
	for a, i := range node {
		for b, j := range node {
			if i < j && x[i*k+j] != 0 {
				edges = append(edges, graph.Edge{U: int32(a), V: int32(b)})
			}
		}
	}
	var err error
	if d.graph, err = graph.New(len(node), false, edges); err == nil {
		d.at = page.Layout(d.graph)
	}
	return d, err
}
