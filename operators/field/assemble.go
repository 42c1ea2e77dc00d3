package field

import (
	"fmt"
	"slices"
)

// MaxK is the largest field size: a distance then fits a byte.
const MaxK = 256

// Assembler gathers neighbourhoods. The zero value is ready; an Assembler is
// not safe for concurrent use.
type Assembler struct {
	seen  marks
	hood  []int32
	dist  []uint8
	radix []int32
}

// Assemble returns the nodes around root, nearest first: a breadth-first search
// that stops when a whole level has brought their number to at least k, or
// nothing is left (Niepert et al. 2016, Algorithm 2, with L the nodes not seen
// before). hood starts with the root and ascends inside each distance; dist[i]
// is the hop distance of hood[i]. Both are borrowed until the next call. The
// cost is that of the rows of all nodes nearer than the last level.
//
// A root outside the graph or a k outside 1 … MaxK panics.
func (a *Assembler) Assemble(ix *Index, root int32, k int) (hood []int32, dist []uint8) {
	n := ix.g.N()
	if root < 0 || int(root) >= n {
		panic(fmt.Sprintf("field: root %d, want 0 to %d", root, n-1))
	}
	if k < 1 || k > MaxK {
		panic(fmt.Sprintf("field: k is %d, want 1 to %d", k, MaxK))
	}
	a.seen.next(n)
	a.seen.add(root)
	a.hood = append(a.hood[:0], root)
	a.dist = append(a.dist[:0], 0)
	for begin := 0; len(a.hood) < k; {
		end := len(a.hood)
		for _, u := range a.hood[begin:end] {
			if !ix.g.Directed || ix.dir != In {
				a.meet(ix.g.Adj(u))
			}
			if ix.g.Directed && ix.dir != Out {
				a.meet(ix.in(u))
			}
		}
		if len(a.hood) == end {
			break
		}
		// The row of a single node is sorted already.
		if end-begin > 1 || ix.g.Directed {
			a.sort(a.hood[end:])
		}
		d := a.dist[end-1] + 1
		for range len(a.hood) - end {
			a.dist = append(a.dist, d)
		}
		begin = end
	}
	return a.hood, a.dist
}

func (a *Assembler) meet(row []int32) {
	for _, v := range row {
		if a.seen.add(v) {
			a.hood = append(a.hood, v)
		}
	}
}

// sort sorts node numbers, by radix where there are many.
func (a *Assembler) sort(x []int32) {
	if len(x) < 200 { // BenchmarkAssemble on email-Enron: same speed about here
		slices.Sort(x)
		return
	}
	top := slices.Max(x)
	if cap(a.radix) < len(x) {
		a.radix = make([]int32, 2*len(x))
	}
	from, to := x, a.radix[:len(x)]
	swapped := false
	for shift := 0; top>>shift > 0; shift += 8 {
		var count [257]int
		for _, v := range from {
			count[v>>shift&255+1]++
		}
		for i := range 256 {
			count[i+1] += count[i]
		}
		for _, v := range from {
			b := v >> shift & 255
			to[count[b]] = v
			count[b]++
		}
		from, to = to, from
		swapped = !swapped
	}
	if swapped {
		copy(x, from)
	}
}

// marks is a set of nodes that is emptied in O(1).
type marks struct {
	stamp []uint32
	now   uint32
}

// next empties the set and makes room for nodes below n.
func (m *marks) next(n int) {
	if len(m.stamp) < n {
		m.stamp = make([]uint32, n)
		m.now = 0
	}
	m.now++
	if m.now == 0 { // wrapped around after 2³² fields
		clear(m.stamp)
		m.now = 1
	}
}

// add reports whether v is new.
func (m *marks) add(v int32) bool {
	if m.stamp[v] == m.now {
		return false
	}
	m.stamp[v] = m.now
	return true
}
