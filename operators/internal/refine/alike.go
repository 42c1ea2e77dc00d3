package refine

import "slices"

// Likeness is what is known about the nodes of one cell of a stable partition.
type Likeness int

const (
	// Unknown: the nodes may differ although refinement does not separate them, as in a six-cycle
	// beside two triangles.
	Unknown Likeness = iota
	// Alike: for any two nodes of the cell an automorphism that respects the partition maps one to
	// the other. The same holds for every cell that the cell splits into when one node is
	// individualised.
	Alike
	// Twins: the nodes are interchangeable. Any permutation of the cell that fixes all other nodes
	// is an automorphism.
	Twins
)

// branch is a cell of the tree that Alike walks: its name, its size and the index of its parent, -1 for
// the first.
type branch struct {
	name          int32
	size, parent  int
	heterogeneous bool
}

// Alike returns what structure alone proves about the cell of v. The partition must be stable with
// respect to g. The cost is one row for each visited cell. It decides almost every cell of real
// graphs, which then needs no search.
//
// Between two cells of a stable partition every node has the same number of neighbours on the other
// side. Cells joined completely or not at all do not influence each other. The cells that influence
// the one of v can be exchanged freely if they form a tree, are joined by disjoint stars (or the
// complement of stars), grow in size away from the smallest, and have inside no edge, every edge,
// or, in at most one cell, a smallest one, a perfect matching, its complement or a five-cycle. This
// is the characterisation of amenable graphs of Arvind, Köbler, Rattan and Verbitsky (Graph
// isomorphism, color refinement, and compactness, 2017), applied to one component. Rows with codes
// are tested for Twins only.
func (r *Refiner) Alike(g Rows, v int32) Likeness {
	if r.Size(v) == 1 {
		return Twins
	}
	if g.Code != nil {
		return r.codedTwins(g, v)
	}
	r.branches = append(r.branches[:0], branch{r.cell[v], r.Size(v), -1, false})
	switch {
	case !r.growTree(g):
		return Unknown
	case len(r.branches) == 1 && !r.branches[0].heterogeneous:
		return Twins
	case monotone(r.branches):
		return Alike
	}
	return Unknown
}

// growTree collects the cells that influence the first branch. It reports whether they form a tree
// of permitted cells.
func (r *Refiner) growTree(g Rows) bool {
	for i := 0; i < len(r.branches); i++ {
		x := r.branches[i].name
		size := r.size[x]
		for _, w := range g.Row(r.Elems[r.first[x]]) {
			if y := r.cell[w]; r.size[y] > 1 {
				if r.touched[y] == 0 {
					r.hit = append(r.hit, y)
				}
				r.touched[y]++
			}
		}
		ok := true
		for _, y := range r.hit {
			d := r.touched[y] // number of neighbours in y of each node in x
			r.touched[y] = 0
			if !ok {
				continue
			}
			if y == x {
				switch {
				case d == size-1:
				case d == 1, d == size-2, d == 2 && size == 5:
					r.branches[i].heterogeneous = true
				default:
					ok = false
				}
				continue
			}
			other := r.size[y]
			if d == other {
				continue
			}
			back := size * d / other // number of neighbours in x of each node in y
			if d != 1 && back != 1 && d != other-1 && back != size-1 {
				ok = false
				continue
			}
			if p := r.branches[i].parent; p >= 0 && r.branches[p].name == y {
				continue
			}
			if slices.ContainsFunc(r.branches, func(b branch) bool { return b.name == y }) {
				ok = false
				continue
			}
			r.branches = append(r.branches, branch{y, int(other), i, false})
		}
		r.hit = r.hit[:0]
		// The check for repeats above is quadratic. Wider trees are left to Search.
		if !ok || len(r.branches) > 64 {
			return false
		}
	}
	return true
}

// monotone reports whether the cells grow away from a smallest one and at most one cell, of the
// smallest size, is heterogeneous.
func monotone(tree []branch) bool {
	root, odd := 0, 0
	for i, b := range tree {
		if b.size < tree[root].size {
			root = i
		}
	}
	least := tree[root].size
	for i, b := range tree {
		if b.heterogeneous {
			if odd++; odd > 1 || b.size > least {
				return false
			}
			root = i
		}
	}
	// Edges between the first cell and the root point towards the first cell.
	for i, b := range tree {
		if b.parent < 0 {
			continue
		}
		near, far := tree[b.parent].size, b.size
		for j := root; j >= 0; j = tree[j].parent {
			if j == i {
				near, far = far, near
			}
		}
		if near > far {
			return false
		}
	}
	return true
}

// codedTwins returns Twins if every relation inside the cell of v, and between it and each other
// cell, is complete or empty.
func (r *Refiner) codedTwins(g Rows, v int32) Likeness {
	x := r.cell[v]
	v = r.Elems[r.first[x]]
	r.arcs = r.arcs[:0]
	for i := g.Off[v]; i < g.Off[v+1]; i++ {
		if y := r.cell[g.Nbr[i]]; r.size[y] > 1 {
			r.arcs = append(r.arcs, uint64(y)<<32|uint64(g.Code[i]))
		}
	}
	slices.Sort(r.arcs)
	for i := 0; i < len(r.arcs); {
		j := i
		for j < len(r.arcs) && r.arcs[j] == r.arcs[i] {
			j++
		}
		y := int32(r.arcs[i] >> 32)
		full := r.size[y]
		if y == x {
			full--
		}
		if int32(j-i) != full {
			return Unknown
		}
		i = j
	}
	return Twins
}
