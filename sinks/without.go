package sinks

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// removal is the part that occlusion removes from a graph: nodes with their edges, and other edges.
type removal struct {
	nodes []int32
	edges []graph.Edge
}

// withoutRows is the number of graphs in one prediction.
const withoutRows = 64

// without returns the predictions for a graph without each of some parts, in their order. The recipe makes one row of a
// graph. It costs a prediction for each removal.
func (p *Predictor) without(ctx context.Context, w *worker, g *graph.Graph, removals []removal) (all []Answer, err error) {
	rec, err := p.record(ctx, w.graphs, g) // checks g
	if err != nil {
		return nil, err
	}
	rec.Release()
	for from := 0; from < len(removals); from += withoutRows {
		part := removals[from:min(from+withoutRows, len(removals))]
		for i, r := range part {
			h, err := g.Without(r.nodes, r.edges)
			if err == nil {
				err = w.graphs.Append(h, record.Row{})
			}
			if err != nil {
				w.graphs.Record().Release()
				return nil, fmt.Errorf("sinks: predictor: removal %d: %w", from+i, err)
			}
		}
		rec := w.graphs.Record()
		said, err := w.predict(ctx, p, rec)
		rec.Release()
		if err != nil {
			return nil, err
		}
		if len(said) != len(part) {
			return nil, errors.New("sinks: predictor: the recipe does not make one row of a graph")
		}
		all = append(all, said...)
	}
	return all, nil
}

// occlude sets the weights of an explanation by occlusion of each node and each edge.
func (p *Predictor) occlude(ctx context.Context, w *worker, g *graph.Graph, e *Explanation) error {
	if n := g.N() + g.M(); n > mostOccluded {
		return fmt.Errorf("the graph has %d nodes and edges, and a model that is not linear is asked without each: want at most %d", n, mostOccluded)
	}
	var removals []removal
	for v := range int32(g.N()) {
		removals = append(removals, removal{nodes: []int32{v}})
	}
	for v := range int32(g.N()) {
		for _, u := range g.Adj(v) {
			if g.Directed || v < u {
				removals = append(removals, removal{edges: []graph.Edge{{U: v, V: u}}})
			}
		}
	}
	all, err := p.without(ctx, w, g, removals)
	if err != nil {
		return err
	}
	e.occluded(removals, all)
	return nil
}

// occluded sets the weights of removed nodes and edges. A weight is the decrease of the output without the
// node or edge. Each removal has one node or one edge.
func (e *Explanation) occluded(removals []removal, without []Answer) {
	class := max(0, slices.Index(e.Classes, e.Class))
	e.Method = "occlusion"
	e.Sum = output(e.Probs, e.Value, class)
	e.Graph = e.Sum
	for i, r := range removals {
		weight := e.Sum - output(without[i].Probs, without[i].Value, class)
		e.Graph -= weight
		if len(r.nodes) > 0 {
			e.Nodes = append(e.Nodes, NodeWeight{ID: r.nodes[0], Weight: weight})
		} else {
			e.Edges = append(e.Edges, EdgeWeight{r.edges[0].U, r.edges[0].V, weight})
		}
	}
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
