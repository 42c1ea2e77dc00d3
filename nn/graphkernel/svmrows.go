package graphkernel

import (
	"container/list"

	"github.com/sanflow/sanflow/nn"
)

// gramRows is a Gram matrix as the rows of a kernel.
type gramRows struct{ *Gram }

func (g gramRows) row(i int32) []float64 { return g.Row(int(i)) }
func (g gramRows) same(i int32) float64  { return g.K[int(i)*(g.N+1)] }

// countRows is the similarities of counts as the rows of a kernel, computed when
// they are asked for. Those used last are kept.
type countRows struct {
	c      *nn.Counts
	p      *postings
	by     nn.Similarity
	size   []float64 // lengths of the rows
	selves []float64 // similarities of the rows to themselves
	room   int       // rows that may be kept
	at     []*list.Element
	recent *list.List // of keptRow, the one used last first
}

type keptRow struct {
	i int32
	k []float64
}

func newCountRows(c *nn.Counts, by nn.Similarity, cache int64) *countRows {
	n := c.Len()
	r := &countRows{
		c: c, p: newPostings(c), by: by, size: lengths(c, by), selves: make([]float64, n),
		room: int(max(2, cache/(8*int64(max(1, n))))), at: make([]*list.Element, n), recent: list.New(),
	}
	for i, l := range r.size {
		_, values := c.Row(i)
		r.selves[i] = self(by, values)
		if unit(by) && l > 0 {
			r.selves[i] /= l * l // as the other products, not 1
		}
	}
	return r
}

func (r *countRows) same(i int32) float64 { return r.selves[i] }

func (r *countRows) row(i int32) []float64 {
	if e := r.at[i]; e != nil {
		r.recent.MoveToFront(e)
		return e.Value.(*keptRow).k
	}
	var kept *keptRow
	if r.recent.Len() < r.room {
		kept = &keptRow{k: make([]float64, r.c.Len())}
		r.at[i] = r.recent.PushFront(kept)
	} else {
		last := r.recent.Back()
		kept = last.Value.(*keptRow)
		r.at[kept.i] = nil
		clear(kept.k)
		r.recent.MoveToFront(last)
		r.at[i] = last
	}
	kept.i = i
	ids, values := r.c.Row(int(i))
	r.p.compare(ids, values, minima(r.by), nil, kept.k)
	if unit(r.by) {
		scaleCosine(kept.k, r.size[i], r.size)
	}
	return kept.k
}

// scaleCosine makes products of rows of those lengths, one with all, cosines.
func scaleCosine(k []float64, one float64, all []float64) {
	for j, l := range all {
		if l *= one; l > 0 {
			k[j] /= l
		}
	}
}
