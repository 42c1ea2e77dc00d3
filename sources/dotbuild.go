package sources

import (
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/graph/formats/dot/ast"

	"github.com/sanflow/sanflow/flow/graph"
)

// maxDOTEdges bounds what a short text can stand for: {a b …} -- {c d …} is an
// edge for every pair.
const maxDOTEdges = 1 << 26

// maxDOTDepth bounds how deep subgraphs are nested.
const maxDOTDepth = 1000

// dotBuilder walks the statements of a graph. gonum's decoder would do, but
// for self-loops, which it refuses, and for nodes that a subgraph names again:
// in "b; a -- {b c}" it misses the edge a -- b.
type dotBuilder struct {
	directed bool
	number   map[string]int32
	names    []string
	edges    []graph.Edge
	depth    int
}

func buildDOT(src *ast.Graph, directed bool) (NamedGraph, error) {
	b := &dotBuilder{directed: src.Directed, number: map[string]int32{}}
	if _, err := b.statements(src.Stmts); err != nil {
		return NamedGraph{}, err
	}
	if directed && !src.Directed {
		for _, e := range b.edges {
			b.edges = append(b.edges, graph.Edge{U: e.V, V: e.U})
		}
	}
	g, err := graph.New(len(b.names), directed, b.edges)
	return NamedGraph{g, b.names}, err
}

// statements returns the nodes that the statements name, ascending.
func (b *dotBuilder) statements(list []ast.Stmt) (nodes []int32, err error) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.NodeStmt:
			nodes = append(nodes, b.node(s.Node.ID))
		case *ast.EdgeStmt:
			from, err := b.vertex(s.From)
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, from...)
			for e := s.To; e != nil; e = e.To {
				if e.Directed != b.directed {
					return nil, fmt.Errorf("-> belongs in a digraph, and -- in a graph: %.80s", e.Vertex)
				}
				to, err := b.vertex(e.Vertex)
				if err != nil {
					return nil, err
				}
				if len(b.edges)+len(from)*len(to) > maxDOTEdges {
					return nil, fmt.Errorf("more than %d edges", maxDOTEdges)
				}
				for _, u := range from {
					for _, v := range to {
						b.edges = append(b.edges, graph.Edge{U: u, V: v})
					}
				}
				nodes = append(nodes, to...)
				from = to
			}
		case *ast.Subgraph:
			inner, err := b.vertex(s)
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, inner...)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes), nil
}

// vertex returns the nodes at one end of an edge.
func (b *dotBuilder) vertex(v ast.Vertex) ([]int32, error) {
	switch v := v.(type) {
	case *ast.Node:
		return []int32{b.node(v.ID)}, nil
	case *ast.Subgraph:
		if b.depth++; b.depth > maxDOTDepth {
			return nil, fmt.Errorf("subgraphs nested more than %d deep", maxDOTDepth)
		}
		defer func() { b.depth-- }()
		return b.statements(v.Stmts)
	}
	return nil, errors.New("an end of an edge is neither a node nor a subgraph")
}

func (b *dotBuilder) node(name string) int32 {
	v, ok := b.number[name]
	if !ok {
		v = int32(len(b.names))
		b.number[name] = v
		b.names = append(b.names, name)
	}
	return v
}
