package refine

import (
	"math"
	"slices"

	"github.com/sanflow/sanflow/internal/scratch"
)

// Number refines to the textbook numbering of colours. A round gives the nodes new colours by the
// rank of (old colour, list), where the list has the (old colour, code) of each neighbour,
// ascending, with the code from the row of the neighbour. Lists compare value by value; a list that
// ends is smaller than one that continues. Number starts from the current cells. It ends when
// nothing splits, or after rounds rounds if rounds is not 0. The cells are those of Refine; their
// order does not depend on the way they were found.
//
// If cut is positive and below n, Number stops as soon as a cell begins at that position, since
// further splits do not change the set of nodes before it. The partition may then not be stable.
// The worklist is empty afterwards. O((n+m) log n).
//
// Nodes that a round leaves in one cell have from then on lists of equal length, equal in every
// cell of before the round. So of two nodes that the next round separates, the first is the one
// with more neighbours in the first new cell where they differ, and only split cells have to be
// read. The largest of their fragments is left out as in Refine: more neighbours in it means fewer
// in all behind it.
func (r *Refiner) Number(g Rows, rounds, cut int) {
	r.drop()
	if r.stopped() {
		return
	}
	n := r.N()
	r.rest = scratch.Resize(r.rest, n)
	r.stamp = scratch.Resize(r.stamp, n)
	r.origin = r.origin[:0]
	for v := range r.rest {
		r.rest[v] = g.Off[v+1] - g.Off[v]
		r.stamp[v] = 0
	}
	r.noting = 1
	defer func() { r.rule, r.noting = moreFirst, 0 }()

	// A splitter is a range of positions. Its set of nodes stays the same while its cell is split.
	r.parts = r.parts[:0]
	for i := 0; i < n; {
		r.parts = append(r.parts, int32(i))
		i += int(r.size[r.cell[r.Elems[i]]])
	}
	r.parts = append(r.parts, int32(n))
	r.splitLonely()
	r.rule = firstRound
	for i := 1; i < len(r.parts); i++ {
		if r.settled(cut) {
			return
		}
		r.splitBy(g, r.Elems[r.parts[i-1]:r.parts[i]])
	}
	r.rule = moreFirst
	for round := 1; round != rounds && len(r.origin) > 0; round++ {
		if r.settled(cut) || r.stopped() {
			return
		}
		r.collectParts()
		r.noting++
		for i := 0; i < len(r.parts); {
			bounds := r.parts[i+1 : i+1+int(r.parts[i])]
			i += 1 + len(bounds)
			if r.splitByParts(g, bounds, cut) {
				return
			}
		}
	}
}

// splitCell orders fragments by one of these rules.
const (
	moreFirst  = iota // fragments of higher counts first
	fewerFirst        // fragments of lower counts first
	firstRound        // order of Number's first round, in which lists end
)

// splitByParts splits by the fragments of a cell that was split in the last round. It reports
// whether the numbering is settled.
func (r *Refiner) splitByParts(g Rows, bounds []int32, cut int) bool {
	last := len(bounds) - 1
	largest := 1
	for i := 2; i <= last; i++ {
		if bounds[i]-bounds[i-1] > bounds[largest]-bounds[largest-1] {
			largest = i
		}
	}
	for i := 1; i <= last; i++ {
		switch {
		case i != largest:
			if i == last {
				continue // the other fragments determine the counts of the last one
			}
			r.splitBy(g, r.Elems[bounds[i-1]:bounds[i]])
		case i < last:
			r.rule = fewerFirst
			r.splitBy(g, r.Elems[bounds[i]:bounds[last]])
			r.rule = moreFirst
		}
		if r.settled(cut) {
			return true
		}
	}
	return false
}

// settled reports whether further splits would not change the result.
func (r *Refiner) settled(cut int) bool {
	return r.Discrete() || cut > 0 && int(r.first[r.cell[r.Elems[cut]]]) == cut
}

// span is a cell before the round that split it.
type span struct{ begin, size int32 }

// note stores a cell before its first split in a round.
func (r *Refiner) note(c int32) {
	if r.noting == 0 || r.stamp[c] == r.noting {
		return
	}
	r.stamp[c] = r.noting
	r.origin = append(r.origin, span{r.first[c], r.size[c]})
}

// collectParts sets r.parts to the fragments of the split cells: for each cell, in order, the
// number of boundaries and the boundaries.
func (r *Refiner) collectParts() {
	slices.SortFunc(r.origin, func(a, b span) int { return int(a.begin - b.begin) })
	r.parts = r.parts[:0]
	for _, o := range r.origin {
		at := len(r.parts)
		r.parts = append(r.parts, 0)
		for i := o.begin; i < o.begin+o.size; i += r.size[r.cell[r.Elems[i]]] {
			r.parts = append(r.parts, i)
		}
		r.parts = append(r.parts, o.begin+o.size)
		r.parts[at] = int32(len(r.parts) - at - 1)
	}
	r.origin = r.origin[:0]
}

// splitLonely moves the nodes without neighbours, whose lists are empty, to the front of their
// cells.
func (r *Refiner) splitLonely() {
	if !slices.Contains(r.rest[:r.N()], 0) {
		return
	}
	for v, rest := range r.rest {
		if c := r.cell[v]; rest == 0 && r.size[c] > 1 {
			r.count[v] = 1
			if r.touched[c] == 0 {
				r.hit = append(r.hit, c)
			}
			r.swap(int32(v), r.first[c]+r.touched[c])
			r.touched[c]++
		}
	}
	r.splitTouched(0)
}

// endFirst converts counts to keys whose descending order is that of the first round. Of two nodes
// with equal lists so far, the one with more entries of the current colour has the smaller list,
// unless the list of the other ends here.
func (r *Refiner) endFirst(nodes []int32) {
	for _, v := range nodes {
		r.rest[v] -= r.count[v]
		if r.rest[v] == 0 {
			r.count[v] = math.MaxInt32 - r.count[v]
		}
	}
}
