package refine

import "slices"

// maxOrbitSteps bounds the nodes that orbits visits in a search.
const maxOrbitSteps = 1 << 26

// orbits settles cells without branching if the candidates with the greatest trace are images of
// each other. Large graphs have many such cells that Alike does not recognise, mostly copies of one
// part. A search would compare each of them with each other.
//
// Individualising two nodes of a cell gives two partitions. Nodes that are in the same cell of base
// but in only one of the changed parts are exchanged in pairs. If the exchange is an automorphism,
// which only their rows decide, the two nodes are images of each other (as in saucy: Darga,
// Liffiton, Sakallah and Markov 2004). The cost is the part that the individualised node changes,
// and one copy of the partition per cell.
type orbits struct {
	base       Partition
	candidates []int32
	trace      []int32 // greatest trace so far
	// known[0] has the cells that the candidate with the greatest trace changes; known[i] has them
	// after the smallest node of the cell at position more[i-1] is individualised too. here has the
	// cells that the current candidate changes.
	known      [][]uint64
	more       []int32
	here       []uint64
	pairs      []int32 // nodes that the current exchange moves, two by two
	moved      []int32 // first node of each pair of the first exchange
	image      []int32 // by node: its image, or -1
	taken      []bool  // by node: an earlier exchange moves it
	touched    []int32 // nodes whose taken is set
	row, other []uint64
	spent      int
}

func (o *orbits) reset(n int) {
	o.spent = 0
	if len(o.image) < n {
		o.image, o.taken = make([]int32, n), make([]bool, n)
		for v := range o.image {
			o.image[v] = -1
		}
	}
}

// settle individualises the smallest candidate of the cell at position at and refines, if the
// candidates with the greatest trace are images of each other. Otherwise, or if it cannot decide,
// it leaves r unchanged and returns false.
//
// If the exchanged parts are disjoint too, their order does not matter, and settle individualises
// all candidates.
func (o *orbits) settle(r *Refiner, g Rows, at int) bool {
	o.candidates = append(o.candidates[:0], r.Cell(at)...)
	o.spent += len(o.candidates) + r.N()/4 // copying a node costs a quarter of a step
	if o.spent > maxOrbitSteps {
		return false
	}
	slices.Sort(o.candidates)
	o.base.CopyFrom(&r.Partition)
	chosen, kept := int32(-1), 0
	alike, disjoint := true, true
	tracing := r.Tracing
	r.Tracing = true
	for _, v := range o.candidates {
		if r.stopped() {
			alike = false
			break
		}
		r.Trace = r.Trace[:0]
		r.Individualize(v)
		r.Refine(g)
		order := 1
		if chosen >= 0 {
			order = slices.Compare(r.Trace, o.trace)
		}
		switch {
		case order > 0:
			o.release()
			o.trace = append(o.trace[:0], r.Trace...)
			o.know(r, 0)
			o.more = o.more[:0]
			o.moved = o.moved[:0]
			chosen, kept, alike, disjoint = v, 1, true, true
		case order == 0 && alike:
			alike = o.same(r, g, 0) || o.deeper(r, g, chosen, v)
			disjoint = disjoint && o.apart(kept == 1)
			kept++
		}
		r.revert(&o.base)
	}
	r.Tracing = tracing
	o.release()
	if !alike {
		return false
	}
	r.Individualize(chosen)
	r.Refine(g)
	if disjoint && kept == len(o.candidates) {
		for _, v := range o.candidates[1:] {
			r.Individualize(v)
			r.Refine(g)
		}
	}
	return true
}

// know sets known[depth] to the changes of r from base.
func (o *orbits) know(r *Refiner, depth int) {
	if depth == len(o.known) {
		o.known = append(o.known, nil)
	}
	o.known[depth] = r.changed(o.known[depth][:0], &o.base)
}

// same sets here to the changes of r from base. It reports whether exchanging them with
// known[depth] is an automorphism.
func (o *orbits) same(r *Refiner, g Rows, depth int) bool {
	o.here = r.changed(o.here[:0], &o.base)
	o.spent += len(o.here)
	return o.exchange(g, o.known[depth])
}

// deeper individualises further nodes until it finds an exchange. Cells that are not twins may have
// to be paired in another order than that of the numbers.
func (o *orbits) deeper(r *Refiner, g Rows, chosen, v int32) bool {
	const most = 8
	if len(o.more) == 0 {
		o.again(r, g, chosen)
		for len(o.more) < most {
			at := smallest(o.known[len(o.more)])
			if at < 0 {
				break
			}
			o.more = append(o.more, at)
			r.Individualize(slices.Min(r.Cell(int(at))))
			r.Refine(g)
			o.know(r, len(o.more))
		}
		o.again(r, g, v)
	}
	for i, at := range o.more {
		if r.first[r.cell[r.Elems[at]]] != at {
			return false
		}
		r.Individualize(slices.Min(r.Cell(int(at))))
		r.Refine(g)
		if o.same(r, g, i+1) {
			return true
		}
	}
	return false
}

func (o *orbits) again(r *Refiner, g Rows, v int32) {
	r.revert(&o.base)
	r.Individualize(v)
	r.Refine(g)
}

// smallest returns the position of the smallest cell of more than one node, the first of equal
// ones, or -1.
func smallest(cells []uint64) int32 {
	best, size := int32(-1), 0
	for i := 0; i < len(cells); {
		j := i
		for j < len(cells) && cells[j]>>32 == cells[i]>>32 {
			j++
		}
		if j-i > 1 && (best < 0 || j-i < size) {
			best, size = int32(cells[i]>>32), j-i
		}
		i = j
	}
	return best
}

// exchange pairs the nodes of the cells that differ between known and here. It reports whether
// exchanging them is an automorphism that respects the cells of base.
func (o *orbits) exchange(g Rows, known []uint64) bool {
	o.pairs = o.pairs[:0]
	ok := len(known) == len(o.here)
	// Single nodes are paired first, then those of small cells. Most nodes of large cells, such as
	// the rest that both parts were taken from, then have partners.
	ok = ok && o.pairCells(known, 1, 1) && o.pairCells(known, 2, len(known)/2) && o.pairCells(known, len(known)/2+1, len(known))
	for i := 0; ok && i < len(o.pairs); i++ {
		ok = o.sameRows(g, o.pairs[i], o.pairs[i^1])
	}
	for _, v := range o.pairs {
		o.image[v] = -1
	}
	return ok
}

// pairCells pairs the nodes of known that are not in here with those of here that are not in known,
// cell by cell of least to most nodes, unless they have partners.
func (o *orbits) pairCells(known []uint64, least, most int) bool {
	for begin := 0; begin < len(known); {
		at, end := known[begin]>>32, begin
		for end < len(known) && known[end]>>32 == at {
			if o.here[end]>>32 != at {
				return false
			}
			end++
		}
		a, b := known[begin:end], o.here[begin:end]
		begin = end
		if len(a) < least || len(a) > most {
			continue
		}
		o.row, o.other = without(o.row[:0], a, b), without(o.other[:0], b, a)
		if most > 1 {
			o.row, o.other = o.unpaired(o.row), o.unpaired(o.other)
		}
		if len(o.row) != len(o.other) {
			return false
		}
		for i := range o.row {
			if !o.pair(int32(uint32(o.row[i])), int32(uint32(o.other[i]))) {
				return false
			}
		}
	}
	return true
}

// without appends the elements of a that are not in b. Both ascend.
func without(list, a, b []uint64) []uint64 {
	for _, x := range a {
		if _, ok := slices.BinarySearch(b, x); !ok {
			list = append(list, x)
		}
	}
	return list
}

// unpaired removes the nodes that have partners.
func (o *orbits) unpaired(list []uint64) []uint64 {
	return slices.DeleteFunc(list, func(x uint64) bool { return o.image[uint32(x)] >= 0 })
}

// pair makes x and y partners. It returns false if one has another partner or they are in different
// cells of base.
func (o *orbits) pair(x, y int32) bool {
	if o.image[x] == y && o.image[y] == x {
		return true
	}
	if o.image[x] >= 0 || o.image[y] >= 0 || o.base.cell[x] != o.base.cell[y] {
		return false
	}
	o.image[x], o.image[y] = y, x
	o.pairs = append(o.pairs, x, y)
	return true
}

// sameRows reports whether the image of the row of x is the row of y.
func (o *orbits) sameRows(g Rows, x, y int32) bool {
	if g.Off[x+1]-g.Off[x] != g.Off[y+1]-g.Off[y] {
		return false
	}
	o.row, o.other = o.row[:0], o.other[:0]
	entry := func(v, i int32) uint64 {
		e := uint64(v) << 32
		if g.Code != nil {
			e |= uint64(g.Code[i])
		}
		return e
	}
	for i := g.Off[x]; i < g.Off[x+1]; i++ {
		v := g.Nbr[i]
		if o.image[v] >= 0 {
			v = o.image[v]
		}
		o.row = append(o.row, entry(v, i))
	}
	for i := g.Off[y]; i < g.Off[y+1]; i++ {
		o.other = append(o.other, entry(g.Nbr[i], i))
	}
	slices.Sort(o.row)
	slices.Sort(o.other)
	return slices.Equal(o.row, o.other)
}

// apart reports whether the current exchange moves the same nodes as the earlier ones on one side,
// and none of their nodes on the other.
func (o *orbits) apart(first bool) bool {
	for i := 0; i < len(o.pairs); i += 2 {
		x, y := o.pairs[i], o.pairs[i+1]
		switch {
		case first:
			o.moved = append(o.moved, x)
			o.take(x)
		case i/2 >= len(o.moved) || o.moved[i/2] != x:
			return false
		}
		if o.taken[y] {
			return false
		}
		o.take(y)
	}
	return len(o.pairs) == 2*len(o.moved)
}

func (o *orbits) take(v int32) {
	o.taken[v] = true
	o.touched = append(o.touched, v)
}

func (o *orbits) release() {
	for _, v := range o.touched {
		o.taken[v] = false
	}
	o.touched = o.touched[:0]
}

// changed appends the nodes of the cells of r that are not cells of base, each behind the position
// of its cell, ascending. r is a refinement of base.
func (r *Refiner) changed(list []uint64, base *Partition) []uint64 {
	add := func(name int32) {
		at := r.first[name]
		for _, v := range r.Elems[at : at+r.size[name]] {
			list = append(list, uint64(at)<<32|uint64(v))
		}
	}
	for name := base.cells; name < r.cells; name++ {
		add(name)
		// One of the fragments has the old name.
		if old := base.cell[r.Elems[r.first[name]]]; !slices.Contains(r.bounds, old) {
			r.bounds = append(r.bounds, old)
			add(old)
		}
	}
	r.bounds = r.bounds[:0]
	slices.Sort(list)
	return list
}

// revert undoes all splits since r was base. The order inside a cell may change.
func (r *Refiner) revert(base *Partition) {
	r.drop()
	for name := base.cells; name < r.cells; name++ {
		for _, v := range r.Elems[r.first[name] : r.first[name]+r.size[name]] {
			old := base.cell[v]
			r.cell[v] = old
			r.first[old], r.size[old] = base.first[old], base.size[old]
		}
	}
	r.cells = base.cells
}
