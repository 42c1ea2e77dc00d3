package propagation

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
)

// Weights are those by which Rows adds the rows up.
func TestWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(28, 1))
	for _, w := range []Walk{{}, {Share: 0.5}, {Share: 0.8, Symmetric: true}, {Rounds: 2}} {
		for _, directed := range []bool{false, true} {
			if w.Symmetric && directed {
				continue
			}
			const n = 12
			var edges []graph.Edge
			for v := range int32(n - 2) { // two nodes are alone
				for u := range v {
					if rng.IntN(4) == 0 {
						edges = append(edges, graph.Edge{U: u, V: v})
					}
				}
			}
			g, err := graph.New(n, directed, edges)
			if err != nil {
				t.Fatal(err)
			}
			rows := make([]float32, n*n) // of node v: 1 at v
			for v := range n {
				rows[v*n+v] = 1
			}
			if err := w.Rows(context.Background(), g, rows, n); err != nil {
				t.Fatal(err)
			}
			for v := range int32(n) {
				weights, err := w.Weights(g, v)
				if err != nil {
					t.Fatal(err)
				}
				for u, x := range weights {
					if want := float64(rows[int(v)*n+u]); math.Abs(x-want) > 1e-5 {
						t.Fatalf("%+v, directed %v: node %d in the row of %d has the weight %v, want %v", w, directed, u, v, x, want)
					}
				}
			}
			if _, err := w.Weights(g, n); err == nil {
				t.Error("a node that there is not: want an error")
			}
		}
	}
}
