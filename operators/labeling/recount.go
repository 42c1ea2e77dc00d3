package labeling

import (
	"math"
	"slices"

	"github.com/sanflow/sanflow/internal/scratch"
)

// recount counts shortest paths again after a count has passed 2⁵³. It adds in sorted order, so the
// rounding does not depend on numbers, and stores a fraction and an exponent, since counts may pass
// 2¹⁰²³.
func (b *brandes) recount(found int) {
	n := len(b.members)
	b.exponent, b.begin = scratch.Resize(b.exponent, n), scratch.Resize(b.begin, n+1)
	edges := b.next[:b.first[found]]
	clear(b.begin)
	for _, w := range edges {
		b.begin[w+1]++
	}
	for v := range n {
		b.begin[v+1] += b.begin[v]
	}
	b.back = scratch.Resize(b.back, len(edges))
	for i, v := range b.order[:found] {
		for _, w := range b.next[b.first[i]:b.first[i+1]] {
			b.back[b.begin[w]] = v
			b.begin[w]++ // afterwards begin[w] is the end of its list
		}
	}
	source := b.order[0]
	b.sigma[source], b.exponent[source] = 1, 0
	for i, w := range b.order[1:found] {
		if b.stops(i) {
			return
		}
		begin := int32(0)
		if w > 0 {
			begin = b.begin[w-1]
		}
		tails := b.back[begin:b.begin[w]]
		top := math.MinInt
		for _, v := range tails {
			top = max(top, b.exponent[v])
		}
		b.terms = b.terms[:0]
		for _, v := range tails {
			count := b.sigma[v]
			if v != source {
				count *= b.members[v]
			}
			b.terms = append(b.terms, math.Ldexp(count, b.exponent[v]-top))
		}
		slices.Sort(b.terms)
		sum := 0.0
		for _, x := range b.terms {
			sum += x
		}
		frac, exp := math.Frexp(sum)
		b.sigma[w], b.exponent[w] = frac, exp+top
	}
}

// sweepScaled is sweep for the counts of recount.
func (b *brandes) sweepScaled(found int) {
	for i := found - 1; i >= 0 && !b.stops(i); i-- {
		v := b.order[i]
		sum := int64(0)
		for _, w := range b.next[b.first[i]:b.first[i+1]] {
			sum += int64(math.Ldexp(b.sigma[v]*b.share[w], b.exponent[v]-b.exponent[w]) + 0.5)
		}
		b.delta[v] = uint64(sum)
		b.share[v] = (b.weight[v]*(1<<32) + b.members[v]*float64(sum)) / b.sigma[v]
	}
}
