package generate

import (
	"context"
	"math/rand/v2"

	"github.com/sanflow/sanflow/flow/graph"
)

// Generator makes the graphs of this package. It stops within some ten milliseconds after the end
// of its context, with the cause as its error. The zero Generator never stops: it is the one behind
// the functions of the package.
//
//	g, err := generate.Until(ctx).PreferentialAttachment(100_000_000, 3, 1)
type Generator struct{ ctx context.Context }

// Until returns the generator of graphs that stops when ctx ends.
func Until(ctx context.Context) Generator { return Generator{ctx} }

// stop says whether to go on.
type stop struct {
	ctx  context.Context
	left int // steps before the context is asked again
	err  error
}

func (by Generator) stop() stop {
	if by.ctx == nil {
		by.ctx = context.Background()
	}
	s := stop{ctx: by.ctx}
	s.goOn(1)
	return s
}

// goOn accounts for so many steps of up to a microsecond.
func (s *stop) goOn(steps int) bool {
	if s.left -= steps; s.left <= 0 && s.err == nil {
		s.left = 1 << 14
		s.err = context.Cause(s.ctx)
	}
	return s.err == nil
}

// rows makes the graph of the edges.
func (s *stop) rows(n int, edges []graph.Edge) (*graph.Graph, error) {
	if s.err != nil {
		return nil, s.err
	}
	return graph.NewContext(s.ctx, n, false, edges)
}

// shuffle is rng.Shuffle.
func shuffle[T any](s *stop, rng *rand.Rand, x []T) {
	for i := len(x) - 1; i > 0 && s.goOn(1); i-- {
		j := rng.IntN(i + 1)
		x[i], x[j] = x[j], x[i]
	}
}

// Grid is [Generator.Grid] without an end.
func Grid(rows, cols int, diagonal bool) (*graph.Graph, error) {
	return Generator{}.Grid(rows, cols, diagonal)
}

// Torus is [Generator.Torus] without an end.
func Torus(rows, cols int) (*graph.Graph, error) { return Generator{}.Torus(rows, cols) }

// RingOfCliques is [Generator.RingOfCliques] without an end.
func RingOfCliques(cliques, size int) (*graph.Graph, error) {
	return Generator{}.RingOfCliques(cliques, size)
}

// ErdosRenyi is [Generator.ErdosRenyi] without an end.
func ErdosRenyi(n, m int, seed uint64) (*graph.Graph, error) {
	return Generator{}.ErdosRenyi(n, m, seed)
}

// RandomRegular is [Generator.RandomRegular] without an end.
func RandomRegular(n, d int, seed uint64) (*graph.Graph, error) {
	return Generator{}.RandomRegular(n, d, seed)
}

// RandomDegrees is [Generator.RandomDegrees] without an end.
func RandomDegrees(n int, weight []float64, seed uint64) (*graph.Graph, error) {
	return Generator{}.RandomDegrees(n, weight, seed)
}

// PreferentialAttachment is [Generator.PreferentialAttachment] without an end.
func PreferentialAttachment(n, m int, seed uint64) (*graph.Graph, error) {
	return Generator{}.PreferentialAttachment(n, m, seed)
}

// SmallWorld is [Generator.SmallWorld] without an end.
func SmallWorld(n, d int, chance float64, seed uint64) (*graph.Graph, error) {
	return Generator{}.SmallWorld(n, d, chance, seed)
}

// Communities is [Generator.Communities] without an end.
func Communities(n, groups, inside, outside int, seed uint64) (*graph.Graph, []int32, error) {
	return Generator{}.Communities(n, groups, inside, outside, seed)
}

// Disturb is [Generator.Disturb] without an end.
func Disturb(g *graph.Graph, fraction float64, m int, seed uint64) (*graph.Graph, error) {
	return Generator{}.Disturb(g, fraction, m, seed)
}

// RMAT is [Generator.RMAT] without an end.
func RMAT(scale, lines int, seed uint64) (*graph.Graph, error) {
	return Generator{}.RMAT(scale, lines, seed)
}
