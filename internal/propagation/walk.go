package propagation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/pool"
)

// Walk replaces the row x of every node by the mean row of the nodes at which random walks from it
// end: a walk moves to a neighbour with probability Share = a, and otherwise ends. With P the mean
// over neighbours that is
//
//	(1-a)·Σₜ aᵗ·Pᵗ·x,
//
// personalised PageRank (Page, Brin, Motwani and Winograd 1999) of rows, which Gasteiger,
// Bojchevski and Günnemann (ICLR 2019) apply to the predictions of a network. In a directed graph
// walks follow the arcs that leave. A node without a neighbour keeps its row.
//
// With Symmetric P is not the mean but D^-½·A·D^-½, with the degrees D: the row of a node with many
// edges has less weight for its neighbours, and the node receives more. Where rows are brought to
// unit length afterwards, the first alone remains.
//
// It is found by rounds z ← (1-a)·x + a·P·z from z = x. A round is O(m·width); besides the rows
// memory is two more of their size. The numbering of the nodes changes rounding alone; the number
// of workers has no effect.
type Walk struct {
	// Share is above 0 and below 1; 0 = 0.9.
	Share float64
	// Symmetric needs an undirected graph.
	Symmetric bool
	// Rounds bounds the length of walks; 0 = until less than a twentieth of them continue, 29 for the default
	// Share.
	Rounds int
	// Workers is the number of goroutines; 0 = one per processor.
	Workers int
}

// piece is the number of values of one task.
const piece = 1 << 14

// Rows replaces rows, (nodes of g, width). After an error, of a setting or of the context, rows are
// unchanged.
func (w Walk) Rows(ctx context.Context, g *graph.Graph, rows []float32, width int) error {
	if err := w.Check(g.Directed); err != nil {
		return fmt.Errorf("propagation: %w", err)
	}
	if width < 1 || len(rows) != g.N()*width {
		return fmt.Errorf("propagation: %d values are no rows of %d for %d nodes", len(rows), width, g.N())
	}
	w = w.withDefaults()
	now, next := slices.Clone(rows), make([]float32, len(rows))
	for range w.Rounds {
		if err := w.round(ctx, g, rows, now, next, width); err != nil {
			return err
		}
		now, next = next, now
	}
	copy(rows, now)
	return nil
}

// Check returns an error for wrong settings for directed or undirected graphs.
func (w Walk) Check(directed bool) error {
	switch {
	case !(w.Share >= 0 && w.Share < 1):
		return fmt.Errorf("Share is %v, want above 0 and below 1", w.Share)
	case w.Rounds < 0 || w.Workers < 0:
		return fmt.Errorf("Rounds is %d and Workers %d, want at least 0", w.Rounds, w.Workers)
	case w.Symmetric && directed:
		return errors.New("Symmetric is set, and the graph is directed")
	}
	return nil
}

// round sets next to (1-a)·x + a·P·now.
func (w Walk) round(ctx context.Context, g *graph.Graph, x, now, next []float32, width int) error {
	nodes := max(1, piece/width) // of a task
	pieces := (g.N() + nodes - 1) / nodes
	return pool.Each(ctx, w.Workers, pieces, func(_ context.Context, _, p int) error {
		for v := p * nodes; v < min((p+1)*nodes, g.N()); v++ {
			w.collect(g, int32(v), x, now, next[v*width:(v+1)*width])
		}
		return nil
	})
}

// collect sets dst to the next row of node v.
func (w Walk) collect(g *graph.Graph, v int32, x, now, dst []float32) {
	width := len(dst)
	own := x[int(v)*width:][:width]
	adj := g.Adj(v)
	if len(adj) == 0 {
		copy(dst, own)
		return
	}
	clear(dst)
	for _, u := range adj {
		row := now[int(u)*width:][:width]
		if w.Symmetric {
			weight := float32(w.weight(g.Degree(u)))
			for i, y := range row {
				dst[i] += weight * y
			}
			continue
		}
		for i, y := range row {
			dst[i] += y
		}
	}
	stay, share := float32(1-w.Share), float32(w.Share*w.weight(len(adj)))
	for i, y := range own {
		dst[i] = stay*y + share*dst[i]
	}
}

// weight is the factor of an edge for the degree of one of its ends.
func (w Walk) weight(degree int) float64 {
	if w.Symmetric {
		return 1 / math.Sqrt(float64(degree))
	}
	return 1 / float64(degree)
}
