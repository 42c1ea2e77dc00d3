package fieldjob

import (
	"context"
	"math"
	"math/bits"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
)

// Chunk is the fields of c consecutive roots of a job. Tensors are row-major.
type Chunk struct {
	Job       *Job
	K         int
	Roots     []int32
	Members   []int32   // (c, k): node, or -1 for a dummy
	Dist      []int32   // (c, k): hops from the root, or -1
	Edges     []int32   // (c, k, k): 0 for none, else 1 + the first edge attribute, or 1
	NodeCats  []int32   // (c, k, discrete attributes), -1 for a dummy
	NodeAttrs []float32 // (c, k, continuous attributes), 0 for a dummy
	Buf       []byte    // for Encode

	ready chan struct{}
}

// worker makes fields, and owns the memory for it.
type worker struct {
	walk field.Assembler
	norm field.Normalizer
	rows []uint64 // of the field at hand
	rank []int32  // 1 + place of the members of the field at hand; 0 elsewhere
}

func newWorker(k int, by labeling.Labeling) *worker {
	return &worker{rows: make([]uint64, k), norm: field.Normalizer{K: k, By: by}}
}

// make fills the chunk.
func (w *worker) make(ctx context.Context, c *Chunk) error {
	g, ix, k, n := c.Job.Graph, c.Job.ix(), c.K, len(c.Roots)
	w.norm.Context = ctx
	if len(w.rank) < g.N() {
		w.rank = make([]int32, g.N())
	}
	c.Members, c.Dist = grow(c.Members, n*k), grow(c.Dist, n*k)
	c.Edges = grow(c.Edges, n*k*k)
	c.NodeCats, c.NodeAttrs = grow(c.NodeCats, n*k*g.NodeCats), grow(c.NodeAttrs, n*k*g.NodeAttrs)
	for i, root := range c.Roots {
		if i%8 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		hood, dist := w.walk.Assemble(ix, root, k)
		members := c.Members[i*k : (i+1)*k]
		if err := w.norm.Normalize(ix, hood, dist, c.Job.Labels, members); err != nil {
			return err
		}
		// Members stand in the order of distance, as the nodes of hood do, and
		// a cut leaves whole levels in front of it.
		for j := range members {
			c.Dist[i*k+j] = -1
			if j < len(hood) {
				c.Dist[i*k+j] = int32(dist[j])
			}
		}
		w.edges(g, members, c.Edges[i*k*k:(i+1)*k*k])
	}
	field.NodeCats(g, c.Members, c.NodeCats)
	field.NodeAttrs(g, c.Members, c.NodeAttrs)
	return nil
}

// edges fills the (k, k) matrix of a field. The row of a member is walked
// where it is short, and searched for the k members where it is that of a hub.
func (w *worker) edges(g *graph.Graph, members, out []int32) {
	clear(out)
	k := len(members)
	if w.norm.Rows(w.rows) && g.EdgeCats == 0 {
		for i, m := range w.rows {
			row := out[i*k : (i+1)*k]
			for ; m != 0; m &= m - 1 {
				row[bits.TrailingZeros64(m)] = 1
			}
		}
		return
	}
	value := func(entry int) int32 {
		if g.EdgeCats > 0 {
			return 1 + min(g.EdgeCat[entry*g.EdgeCats], math.MaxInt32-1)
		}
		return 1
	}
	for i, v := range members {
		if v >= 0 {
			w.rank[v] = int32(i) + 1
		}
	}
	for i, u := range members {
		if u < 0 {
			break
		}
		row := out[i*k : (i+1)*k]
		if g.Degree(u) > 8*k {
			for j, v := range members {
				if v >= 0 {
					if e := g.Entry(u, v); e >= 0 {
						row[j] = value(e)
					}
				}
			}
			continue
		}
		for e, v := range g.Adj(u) {
			if j := w.rank[v]; j > 0 {
				row[j-1] = value(int(g.Offsets[u]) + e)
			}
		}
	}
	for _, v := range members {
		if v >= 0 {
			w.rank[v] = 0
		}
	}
}

func grow[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}
