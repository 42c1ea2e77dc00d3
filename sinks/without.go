package sinks

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/pool"
)

// occlude sets the weights of nodes, ascending, and of the edges between them, from the answers that predict returns for the graph without each of
// them. A weight is the decrease of the output without the node or edge. Roots are not removed, and with roots a removed node
// keeps its number and loses its edges. The cost is a copy of the graph and a prediction for each weight.
func (e *Explanation) occlude(ctx context.Context, g *graph.Graph, nodes, roots []int32, predict func(context.Context, *graph.Graph) ([]Answer, error)) error {
	var parts []graph.Edge // a node is an edge to itself
	for _, v := range nodes {
		if !slices.Contains(roots, v) {
			parts = append(parts, graph.Edge{U: v, V: v})
		}
	}
	for _, v := range nodes {
		for _, u := range g.Adj(v) {
			if _, ok := slices.BinarySearch(nodes, u); ok && (g.Directed || v < u) {
				parts = append(parts, graph.Edge{U: v, V: u})
			}
		}
	}
	class, without := max(0, slices.Index(e.Classes, e.Class)), make([]float64, len(parts))
	err := pool.Each(ctx, runtime.GOMAXPROCS(0), len(parts), func(ctx context.Context, _, i int) error {
		var gone []int32
		edges := parts[i : i+1]
		if v := parts[i].U; v == parts[i].V {
			if gone, edges = []int32{v}, nil; roots != nil {
				gone, edges = nil, edgesAt(g, v)
			}
		}
		h, err := g.Without(gone, edges)
		if err != nil {
			return err
		}
		said, err := predict(ctx, h)
		if err == nil && len(said) != 1 {
			err = fmt.Errorf("there are %d answers, want one", len(said))
		}
		if err == nil {
			without[i] = output(said[0].Probs, said[0].Value, class)
		}
		return err
	})
	if err != nil {
		return err
	}
	e.Method = "occlusion"
	e.Sum = output(e.Probs, e.Value, class)
	e.Graph = e.Sum
	for i, part := range parts {
		weight := e.Sum - without[i]
		e.Graph -= weight
		if part.U == part.V {
			e.Nodes = append(e.Nodes, NodeWeight{ID: part.U, Weight: weight})
		} else {
			e.Edges = append(e.Edges, EdgeWeight{part.U, part.V, weight})
		}
	}
	return nil
}

// edgesAt returns the edges of a node, arcs in either direction.
func edgesAt(g *graph.Graph, v int32) (edges []graph.Edge) {
	for u := range int32(g.N()) {
		for _, w := range g.Adj(u) {
			if u == v || w == v {
				edges = append(edges, graph.Edge{U: u, V: w})
			}
		}
	}
	return edges
}

// output returns the centred logarithm of the probability of class, or the number.
func output(probs []float32, value float32, class int) float64 {
	if len(probs) == 0 {
		return float64(value)
	}
	logs := make([]float64, len(probs))
	for i, x := range probs {
		logs[i] = math.Log(max(float64(x), 1e-12))
	}
	return centred(logs, class)
}
