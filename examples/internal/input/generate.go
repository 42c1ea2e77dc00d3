package input

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// Families are the names of the graphs of Generate.
var Families = []string{"torus", "random", "preferential", "rmat"}

// Scale returns the scale of an rmat graph of n nodes, and its number of lines.
func Scale(n int) (scale, lines int) {
	scale = bits.Len(uint(max(n, 1) - 1))
	return scale, 7 << scale
}

// Generate makes a graph of n nodes. Those of the runtime figure of the paper are torus, a lattice whose
// sides are the divisors of n nearest to √n, joined at opposite borders; random, degrees k with P(k) ∝ 1/k
// up to 3; and preferential, preferential attachment with 3 edges per new node. rmat rounds n up to a
// power of two and draws 7 lines for each node; nodes without a line, about half, are left out.
// ok is false for other names. When ctx ends Generate returns its cause; the computation continues in the
// background.
func Generate(ctx context.Context, name string, n int, seed uint64) (g *graph.Graph, ok bool, err error) {
	if !slices.Contains(Families, name) {
		return nil, false, nil
	}
	done := make(chan struct{})
	var made *graph.Graph
	var wrong error
	go func() {
		made, wrong = family(name, n, seed)
		close(done)
	}()
	select {
	case <-ctx.Done():
		return nil, true, context.Cause(ctx)
	case <-done:
		return made, true, wrong
	}
}

func family(name string, n int, seed uint64) (g *graph.Graph, err error) {
	switch name {
	case "torus":
		rows := int(math.Sqrt(float64(n)))
		for rows > 1 && n%rows != 0 {
			rows--
		}
		if rows < 3 || n/rows < 3 {
			return nil, fmt.Errorf("-n %d: a torus has a number of rows and of columns, both at least 3", n)
		}
		g, err = generate.Torus(rows, n/rows)
	case "random":
		g, err = generate.RandomDegrees(n, []float64{0, 1, 1. / 2, 1. / 3}, seed)
	case "preferential":
		g, err = generate.PreferentialAttachment(n, 3, seed)
	case "rmat":
		scale, lines := Scale(n)
		g, err = generate.RMAT(scale, lines, seed)
	}
	if err != nil {
		err = fmt.Errorf("-n %d: %w", n, err)
	}
	return g, err
}

// Load returns a graph of Families with n nodes, or the graph that sources.ReadNodes reads, and the ids of
// its nodes.
func Load(ctx context.Context, name string, n int, seed uint64) (*graph.Graph, graph.IDs, error) {
	if g, ok, err := Generate(ctx, name, n, seed); ok {
		return g, graph.IDs{}, err
	}
	set, err := sources.ReadNodes(ctx, name, sources.Options{})
	if err != nil {
		return nil, graph.IDs{}, cli.Cause(ctx, err)
	}
	return set.Graph, set.IDs, nil
}
