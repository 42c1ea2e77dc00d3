package field

import (
	"slices"

	"github.com/sanflow/sanflow/operators/internal/refine"
)

// crop ranks U and writes the first k nodes to z.keep, ascending. Where the cut
// would part nodes of equal rank, structure decides: see the package comment.
func (z *Normalizer) crop(global []float64) error {
	r, g, k := &z.ranking, z.ix.g, z.K
	nodeAttrs := z.nodeAttrs()
	edgeTypes := z.edgeTypes()
	plain := !nodeAttrs && !edgeTypes && !z.Uniform && z.refinement(global)
	r.AtPendants = plain
	rows, err := z.rank(r, &z.rowsU, z.hood, z.dist, z.arcs, global, k)
	if err != nil {
		return err
	}
	if cutAt(&r.Partition, k) {
		z.take(r.Elems[:k])
		return nil
	}
	z.Stats.Ties++
	if plain && r.Pendants(rows, k) {
		z.Stats.Searches++
		slices.Sort(r.Cell(k))
		z.take(r.Elems[:k])
		return nil
	}
	if nodeAttrs {
		r.SplitFunc(func(u, v int32) int { return refine.CompareNodes(g, z.hood[u], z.hood[v]) })
	}
	// Refinement by distance alone has left a stable partition; anything else
	// has to be refined (again) to the rows that decide.
	if !plain {
		rows = z.rowsU.rows(g, len(z.hood), z.arcs, edgeTypes)
		r.QueueAll()
		r.Refine(rows)
		if cutAt(&r.Partition, k) {
			z.take(r.Elems[:k])
			return nil
		}
	}
	z.Stats.Searches++
	z.search.Cut = k
	z.search.Budget = z.CropBudget
	if z.search.Budget == 0 {
		z.search.Budget = 200
	}
	l := &z.leaves
	l.z, l.global, l.known, l.err = z, global, false, nil
	visited, exact := z.search.Run(r, rows, l)
	l.z, l.global = nil, nil
	z.Stats.Leaves += int64(visited)
	if !exact {
		z.Stats.CropFallback++
	}
	z.take(l.chosen)
	return l.err
}

// cutAt reports whether a cell begins at position k.
func cutAt(p *refine.Partition, k int) bool { return p.Start(p.Elems[k]) == k }

// take makes the nodes the chosen ones.
func (z *Normalizer) take(nodes []int32) {
	z.keep = append(z.keep[:0], nodes...)
	slices.Sort(z.keep)
}

// cropLeaves compares choices of k nodes by the fields that they give.
type cropLeaves struct {
	z      *Normalizer
	global []float64
	chosen []int32 // the best choice, ascending
	known  bool    // field is the field of chosen
	field  []int32 // members of the best field
	other  []int32 // scratch
	err    error
}

// Keep implements refine.Leaves. The field is computed only if it has to be
// compared.
func (l *cropLeaves) Keep(p *refine.Partition) {
	l.chosen = append(l.chosen[:0], p.Elems[:l.z.K]...)
	slices.Sort(l.chosen)
	l.known = false
}

// Compare implements refine.Leaves.
func (l *cropLeaves) Compare(p *refine.Partition) int {
	z := l.z
	if !l.known {
		l.field = l.finish(l.field, l.chosen)
		l.known = true
	}
	z.keep = append(z.keep[:0], p.Elems[:z.K]...)
	slices.Sort(z.keep)
	if slices.Equal(z.keep, l.chosen) {
		return 0
	}
	l.other = l.finish(l.other, z.keep)
	if l.err != nil {
		return 0
	}
	return z.compareFields(l.other, l.field)
}

// finish writes the members of the field of the chosen nodes.
func (l *cropLeaves) finish(members, chosen []int32) []int32 {
	members = members[:0]
	order, err := l.z.finish(&l.z.inner, chosen, l.global)
	if err != nil {
		l.err = err
		return members
	}
	for _, v := range order {
		members = append(members, l.z.hood[v])
	}
	return members
}

// compareFields compares two fields of the same size, as the caller will see
// them: distances are equal by construction, then node attributes, then the
// matrix of edges row by row.
func (z *Normalizer) compareFields(a, b []int32) int {
	g := z.ix.g
	if !z.IgnoreAttributes {
		for i := range a {
			if c := refine.CompareNodes(g, a[i], b[i]); c != 0 {
				return c
			}
		}
	}
	for i := range a {
		for j := range a {
			if j < i && !g.Directed {
				continue
			}
			ea, eb := int32(g.Entry(a[i], a[j])), int32(g.Entry(b[i], b[j]))
			switch {
			case ea < 0 && eb < 0:
			case ea < 0:
				return -1
			case eb < 0:
				return 1
			case !z.IgnoreAttributes:
				if c := refine.CompareEdges(g, ea, eb); c != 0 {
					return c
				}
			}
		}
	}
	return 0
}
