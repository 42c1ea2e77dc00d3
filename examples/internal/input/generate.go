package input

import (
	"fmt"
	"math"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources/generate"
)

// Families are the graphs that Generate makes.
var Families = []string{"torus", "random", "preferential"}

// Generate makes a graph of the paper's runtime figure, of n nodes: torus, the
// lattice whose sides are as near to √n as divisors of n can be, joined at
// opposite borders; random, degrees k with P(k) ∝ 1/k up to 3; preferential,
// preferential attachment with 3 edges per newcomer. ok is false for any other
// name.
func Generate(name string, n int, seed uint64) (g *graph.Graph, ok bool, err error) {
	switch name {
	case "torus":
		rows := int(math.Sqrt(float64(n)))
		for rows > 1 && n%rows != 0 {
			rows--
		}
		if rows < 3 || n/rows < 3 {
			return nil, true, fmt.Errorf("a torus has a number of rows and of columns, both at least 3, and so not %d nodes", n)
		}
		g, err = generate.Torus(rows, n/rows)
	case "random":
		g, err = generate.RandomDegrees(n, []float64{0, 1, 1. / 2, 1. / 3}, seed)
	case "preferential":
		g, err = generate.PreferentialAttachment(n, 3, seed)
	default:
		return nil, false, nil
	}
	return g, true, err
}
