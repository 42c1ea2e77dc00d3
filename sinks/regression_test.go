package sinks_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// bonds returns rings whose edges are of two kinds; the number to learn is the
// share of the second. Nodes are all alike.
func bonds(t *testing.T, rings int) sources.Graphs {
	t.Helper()
	const n = 8
	r := rand.New(rand.NewPCG(1, 1))
	var items []sources.Item
	for range rings {
		var edges []graph.Edge
		for u := range int32(n) {
			edges = append(edges, graph.Edge{U: u, V: (u + 1) % n})
		}
		g, err := graph.New(n, false, edges)
		if err != nil {
			t.Fatal(err)
		}
		kind := make(map[graph.Edge]int32)
		second := float32(0)
		for _, e := range edges {
			v := r.Int32N(2)
			kind[e], kind[graph.Edge{U: e.V, V: e.U}] = v, v
			second += float32(v)
		}
		g.NodeCats, g.NodeCat = 1, make([]int32, n)
		g.EdgeCats = 1
		for u := range int32(n) {
			for _, v := range g.Adj(u) {
				g.EdgeCat = append(g.EdgeCat, kind[graph.Edge{U: u, V: v}])
			}
		}
		items = append(items, sources.Item{Graph: g, Value: second / n})
	}
	return sources.Graphs{Items: items}
}

// Numbers are learned from edges, and predicted.
func TestTrainOnEdges(t *testing.T) {
	checked(t, func(o flow.Options) {
		learn := func(edges bool) (*nn.CNN, float64) {
			stream := flow.From(bonds(t, 300)).
				Via(operators.Select{W: 8}).
				Via(operators.Assemble{K: 3}).
				Via(operators.Normalize{Edges: edges}).With(o)
			net := &nn.CNN{Seed: 1, Dropout: -1}
			err := stream.Via(operators.Replay{Epochs: 20, Rows: 32, Seed: 1}).To(sinks.Train{Net: net}).Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			var squares, rows float64
			err = stream.To(sinks.Predict{Net: net, Each: func(p sinks.Prediction) error {
				d := float64(p.Value - p.TargetValue)
				squares += d * d
				rows++
				if p.Probs != nil || p.Target != -1 {
					t.Errorf("graph %d is a class: %+v", p.Graph, p)
				}
				return nil
			}}).Run(context.Background())
			if err != nil || rows != 300 {
				t.Fatalf("%v rows, %v", rows, err)
			}
			return net, math.Sqrt(squares / rows)
		}
		net, with := learn(true)
		if s := net.Shape(); len(s.EdgeCats) != 1 || s.EdgeCats[0] != 2 || s.Classes != 0 {
			t.Errorf("the network is for %+v", s)
		}
		// The share has a standard deviation of √(¼/8) = 0.177.
		if _, without := learn(false); with > 0.06 || without < 0.1 {
			t.Errorf("RMSE %v with edges, %v without", with, without)
		}
	})
}
