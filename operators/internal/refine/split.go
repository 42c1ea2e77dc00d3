package refine

import (
	"cmp"
	"math"
	"slices"
)

// splitBy splits every cell by the number of neighbours in the splitter.
func (r *Refiner) splitBy(g Rows, splitter []int32) {
	if g.Code == nil {
		if len(splitter) == 1 {
			r.touchRow(g.Row(splitter[0]))
		} else {
			r.members = append(r.members[:0], splitter...)
			for _, u := range r.members {
				r.touchRow(g.Row(u))
			}
		}
		r.splitTouched(0)
		return
	}
	// All arcs are collected first, since splitting by one relation permutes the splitter.
	r.arcs = r.arcs[:0]
	for _, u := range splitter {
		for i := g.Off[u]; i < g.Off[u+1]; i++ {
			if v := g.Nbr[i]; r.size[r.cell[v]] > 1 {
				r.arcs = append(r.arcs, uint64(g.Code[i])<<32|uint64(v))
			}
		}
	}
	slices.Sort(r.arcs)
	for i := 0; i < len(r.arcs); {
		code := r.arcs[i] >> 32
		for ; i < len(r.arcs) && r.arcs[i]>>32 == code; i++ {
			r.touch(int32(uint32(r.arcs[i])))
		}
		r.splitTouched(int32(code))
	}
}

func (r *Refiner) touchRow(row []int32) {
	for _, v := range row {
		r.touch(v)
	}
}

// touch increments the count of v. The first time it moves v to the front of its cell. A cell of
// one node cannot split and is skipped.
func (r *Refiner) touch(v int32) {
	c := r.cell[v]
	if r.size[c] == 1 {
		return
	}
	if r.count[v] == 0 {
		if r.touched[c] == 0 {
			r.hit = append(r.hit, c)
		}
		r.swap(v, r.first[c]+r.touched[c])
		r.touched[c]++
	}
	r.count[v]++
}

func (r *Refiner) swap(v, to int32) {
	from, w := r.pos[v], r.Elems[to]
	r.Elems[from], r.Elems[to] = w, v
	r.pos[w], r.pos[v] = from, to
}

// splitTouched splits the touched cells in the order of their positions and clears the counts.
func (r *Refiner) splitTouched(code int32) {
	if len(r.hit) > 1 {
		slices.SortFunc(r.hit, func(a, b int32) int { return cmp.Compare(r.first[a], r.first[b]) })
	}
	for _, c := range r.hit {
		r.splitCell(c, code)
	}
	r.hit = r.hit[:0]
}

// splitCell splits cell c, whose first touched[c] nodes have neighbours in the splitter, into
// fragments of equal count. Higher counts come first unless r.rule says otherwise.
func (r *Refiner) splitCell(c, code int32) {
	begin, size, t := r.first[c], r.size[c], r.touched[c]
	r.touched[c] = 0
	nodes := r.Elems[begin : begin+t]
	if r.rule == firstRound {
		r.endFirst(nodes)
	}
	low, high := r.count[nodes[0]], r.count[nodes[0]]
	for _, v := range nodes[1:] {
		low, high = min(low, r.count[v]), max(high, r.count[v])
	}
	if r.Tracing {
		r.Trace = append(r.Trace, begin, code, high, t)
	}
	if low == high && t == size {
		for _, v := range nodes {
			r.count[v] = 0
		}
		return
	}
	r.note(c)
	from := begin // first position of the touched nodes
	if r.rule == fewerFirst {
		from += size - t
		for i := range min(t, size-t) {
			r.swap(r.Elems[begin+i], begin+size-1-i)
		}
		nodes = r.Elems[from : from+t]
		for _, v := range nodes {
			r.count[v] = math.MaxInt32 - r.count[v]
		}
	}
	r.bounds = append(r.bounds[:0], begin)
	if from > begin {
		r.bounds = append(r.bounds, from)
	}
	if low < high {
		r.sortByCount(nodes)
		for i := 1; i < len(nodes); i++ {
			if r.count[nodes[i]] != r.count[nodes[i-1]] {
				r.bounds = append(r.bounds, from+int32(i))
				if r.Tracing {
					r.Trace = append(r.Trace, int32(i), r.count[nodes[i]])
				}
			}
		}
		for i, v := range nodes {
			r.pos[v] = from + int32(i)
		}
	}
	for _, v := range nodes {
		r.count[v] = 0
	}
	if t < size && from == begin {
		r.bounds = append(r.bounds, begin+t)
	}
	r.bounds = append(r.bounds, begin+size)
	r.rename(c)
}

// rename names the fragments of c between r.bounds. The largest keeps the old name.
func (r *Refiner) rename(c int32) {
	keep, largest := 0, int32(0)
	for i := 1; i < len(r.bounds); i++ {
		if n := r.bounds[i] - r.bounds[i-1]; n > largest {
			keep, largest = i, n
		}
	}
	for i := 1; i < len(r.bounds); i++ {
		begin, end := r.bounds[i-1], r.bounds[i]
		if i == keep {
			r.first[c], r.size[c] = begin, end-begin
			continue
		}
		name := r.cells
		r.cells++
		r.first[name], r.size[name] = begin, end-begin
		for _, v := range r.Elems[begin:end] {
			r.cell[v] = name
		}
		if r.noting > 0 {
			r.stamp[name] = r.noting
			continue
		}
		r.push(name)
	}
}

// sortByCount sorts nodes by descending count. Up to about two dozen nodes insertion is faster than
// sorting packed words.
func (r *Refiner) sortByCount(nodes []int32) {
	if len(nodes) > 24 {
		r.keys = r.keys[:0]
		for _, v := range nodes {
			r.keys = append(r.keys, uint64(^uint32(r.count[v]))<<32|uint64(v))
		}
		slices.Sort(r.keys)
		for i, x := range r.keys {
			nodes[i] = int32(uint32(x))
		}
		return
	}
	for i := 1; i < len(nodes); i++ {
		v := nodes[i]
		n, j := r.count[v], i
		for ; j > 0 && r.count[nodes[j-1]] < n; j-- {
			nodes[j] = nodes[j-1]
		}
		nodes[j] = v
	}
}
