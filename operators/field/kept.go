package field

import (
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/graph/dynamic"
	"github.com/sanflow/sanflow/internal/scratch"
)

// Kept holds the fields of all nodes of a changing graph. A change marks the fields that it can
// affect as stale, and Refresh computes these again. All other fields equal, byte for byte,
// those of the current graph.
//
// A walk of Algorithm 2 depends on the rows of the nodes nearer than its last level, and a
// field on the edges among the nodes that the walk reaches. Kept stores for each root where its
// walk ended. It finds the walks that reach a node v by a search from v: on a shortest path
// from a root to v, the walk of each node between them reaches v too. The search follows only
// such nodes and costs about the rows of the roots that it finds.
//
// A Kept takes 4·K + 2 bytes for each node, beside the index. It serves one goroutine.
//
//	k := field.NewKept(g, field.Both, &field.Normalizer{K: 10})
//	for e := range events {
//		if err := k.Apply(&e); err != nil {
//			log.Fatal(err)
//		}
//		err := k.Refresh(func(root int32, members []int32, _ []uint8) error {
//			fmt.Println(e.Time, "has changed the field of", root, "to", members)
//			return nil
//		})
//		if err != nil {
//			log.Fatal(err)
//		}
//	}
//
// operators.Evolve emits these fields as records. Fields computed again for each that changed, event by event, k = 10 (go test -bench
// 'Kept$' ./operators/field, the first 1000 of the last tenth of the edges, undirected):
//
//	            changed  ratio
//	power           9.3   1.42
//	astro-ph        6.9   7.03
//	CollegeMsg      2.9   24.1
//	email-Enron     5.7    111
//
// A Kept has no bound: the rank of a node depends on all within two steps of it, so one edge of
// email-Enron changes 1103 fields at a bound of 16, and computing all anew costs less than finding
// those of three events.
type Kept struct {
	norm    *Normalizer
	walk    Assembler
	d       *dynamicIndex
	members []int32 // nodes of the field of each root, (n, K)
	reach   []uint8 // by root: distance of the last level of its walk; endless if the field is stale or the walk took all nodes it reaches
	flags   []uint8 // by root, see isStale
	stale   []int32

	seen  marks   // scratch of search
	near  marks   // roots whose walks reach the first end
	hops  []uint8 // by root: distance from the first end
	ends  []int32 // roots whose walks reach the first end
	found []int32 // roots that become stale after a search
	queue []int32
	field []int32
	stats KeptStats

	steps   int                     // row entries read by searches since the last Refresh
	perNode int                     // bulkSteps, or less in tests
	all     bool                    // all fields are stale
	changes map[graph.Edge]struct{} // changed edges since the last Refresh, u ≤ v; u = v for a node
}

// bulkSteps bounds the row entries that searches read between two Refresh calls, per node of the
// graph. A field costs about as much as reading twice as many entries. Beyond it all fields are
// stale, and a change costs no search.
const bulkSteps = 1024

const endless = math.MaxUint8

// Flags of a root are bits of Kept.flags.
const (
	isStale   = 1 << iota // the root is in stale
	isAltered             // attributes of members, or edges among them, have changed
)

// KeptStats counts the cost of changes.
type KeptStats struct {
	Recomputed int64 // fields that were computed again, or the first time
	Changed    int64 // of these, changed or new fields
}

// NewKept keeps the fields of g in the order of norm. All fields are stale at first. From then on g changes by Apply alone.
func NewKept(g *dynamic.Graph, dir Direction, norm *Normalizer) *Kept {
	k := &Kept{norm: norm, d: newDynamicIndex(g, dir), field: make([]int32, norm.K), perNode: bulkSteps, changes: map[graph.Edge]struct{}{}}
	k.grow()
	return k
}

// Apply applies e to the graph and marks stale the fields that it can change. A new class of a node
// marks the field of the node. The error is that of dynamic.Graph.Apply.
func (k *Kept) Apply(e *event.Event) error { return k.d.g.Apply(e, k.willChange, k.hasChanged) }

// Graph returns the graph, which is not to be changed.
func (k *Kept) Graph() *dynamic.Graph { return k.d.g }

// Index returns the index of the graph, borrowed until the next change.
func (k *Kept) Index() *Index { return k.d.Index() }

// Stats returns the counts so far.
func (k *Kept) Stats() KeptStats { return k.stats }

// Members returns the members of the field of root, borrowed. They are current if no field is stale.
func (k *Kept) Members(root int32) []int32 {
	size := k.norm.K
	return k.members[int(root)*size : (int(root)+1)*size]
}

// grow makes room for new nodes and marks their fields stale.
func (k *Kept) grow() {
	begin, n := len(k.reach), k.d.ix.N()
	k.reach = append(k.reach, make([]uint8, n-begin)...)
	k.flags = append(k.flags, make([]uint8, n-begin)...)
	k.members = append(k.members, make([]int32, (n-begin)*k.norm.K)...)
	for v := begin; v < n; v++ {
		k.Touch(int32(v))
	}
}

// touch marks the field of root stale.
func (k *Kept) touch(root int32) {
	if k.flags[root]&isStale == 0 {
		k.flags[root] |= isStale
		k.stale = append(k.stale, root)
		k.reach[root] = endless
	}
}

// willChange is called before each change of the graph, hasChanged after it.
func (k *Kept) willChange(c dynamic.Change) {
	switch c.Kind {
	case event.AddEdge, event.RemoveEdge, event.SetEdge:
		k.touchBoth(c.U, c.V, c.Kind != event.SetEdge)
	}
}

// hasChanged updates the index and marks stale fields; a new class of a root does so too.
func (k *Kept) hasChanged(c dynamic.Change) {
	switch c.Kind {
	case event.AddEdge:
		k.d.Add(c.U, c.V)
	case event.RemoveEdge:
		k.d.Remove(c.U, c.V)
	case event.SetEdge:
		k.d.Grow()
	case event.SetNode:
		k.d.Grow()
		if int(c.U) >= k.n() {
			k.grow()
		} else if !k.notes(c.U, c.U) {
			k.search(c.U, func(root int32, _ int) { k.found = append(k.found, root) })
			k.touchFound()
		}
	case event.SetClass:
		k.Touch(c.U)
	}
}

// touchBoth marks stale the roots whose walks reach both u and v and, if rows is set, those whose
// walks expand u or v.
func (k *Kept) touchBoth(u, v int32, rows bool) {
	if k.notes(u, v) {
		return
	}
	ix := &k.d.ix
	fromU, fromV := rows, rows // whether a walk that expands the node follows the edge
	if ix.g.Directed {
		fromU, fromV = rows && ix.dir != In, rows && ix.dir != Out
	}
	k.near.next(ix.N())
	k.hops = scratch.Resize(k.hops, ix.N())
	k.ends = k.ends[:0]
	k.search(u, func(root int32, d int) {
		k.near.add(root)
		k.hops[root] = uint8(min(d, endless))
		k.ends = append(k.ends, root)
	})
	consider := func(root int32, du, dv int) {
		last := int(k.reach[root])
		if last == endless {
			last = beyond - 1 // expands nodes at any distance
		}
		if du < last && fromU || dv < last && fromV || max(du, dv) <= last {
			k.found = append(k.found, root)
		}
	}
	k.search(v, func(root int32, dv int) {
		du := beyond
		if k.near.stamp[root] == k.near.now {
			du = int(k.hops[root])
			k.near.stamp[root] = k.near.now - 1
		}
		consider(root, du, dv)
	})
	for _, root := range k.ends {
		if k.near.stamp[root] == k.near.now {
			consider(root, int(k.hops[root]), beyond)
		}
	}
	k.touchFound()
}

// notes stores a change of an edge or, with u = v, of a node. It reports whether all fields are
// stale already, so that no search is needed.
func (k *Kept) notes(u, v int32) bool {
	k.changes[graph.Edge{U: min(u, v), V: max(u, v)}] = struct{}{}
	if !k.all && k.steps > k.perNode*k.n() {
		k.all = true
		for root := range int32(k.n()) {
			k.touch(root)
		}
	}
	return k.all
}

// findAltered flags the stale fields that contain a changed node, or both ends of a changed edge.
func (k *Kept) findAltered() {
	k.near.next(k.n())
	for e := range k.changes {
		k.near.add(e.U)
		k.near.add(e.V)
	}
	for _, root := range k.stale {
		if len(k.changes) == 0 || k.flags[root]&isAltered != 0 {
			continue
		}
		k.ends = k.ends[:0]
		for _, v := range k.Members(root) {
			if v >= 0 && k.near.stamp[v] == k.near.now {
				k.ends = append(k.ends, v)
			}
		}
		for i, u := range k.ends {
			for _, v := range k.ends[i:] {
				if _, ok := k.changes[graph.Edge{U: min(u, v), V: max(u, v)}]; ok {
					k.flags[root] |= isAltered
				}
			}
		}
	}
	k.changes = map[graph.Edge]struct{}{} // clear would keep the size of a large map
	k.all, k.steps = false, 0
}

// beyond is larger than any distance.
const beyond = 1 << 30

// touchFound marks the fields of the roots in found stale, and empties found.
func (k *Kept) touchFound() {
	for _, root := range k.found {
		k.touch(root)
	}
	k.found = k.found[:0]
}

// search calls do with each root whose walk reaches v, and its distance from v.
func (k *Kept) search(v int32, do func(root int32, d int)) {
	ix := &k.d.ix
	k.seen.next(ix.N())
	k.seen.add(v)
	k.queue = append(k.queue[:0], v)
	for begin, d := 0, 0; begin < len(k.queue); d++ {
		end := len(k.queue)
		for _, root := range k.queue[begin:end] {
			do(root, d)
		}
		for i := begin; i < end; i++ {
			u := k.queue[i]
			if !ix.g.Directed || ix.dir != Out {
				k.enqueue(ix.adj.row(u), d+1)
			}
			if ix.g.Directed && ix.dir != In {
				k.enqueue(ix.in.row(u), d+1)
			}
		}
		begin = end
	}
}

// enqueue appends the nodes of a row whose walks extend to distance d or more.
func (k *Kept) enqueue(row []int32, d int) {
	k.steps += len(row)
	for _, w := range row {
		if int(k.reach[w]) >= min(d, endless) && k.seen.add(w) {
			k.queue = append(k.queue, w)
		}
	}
}

// Refresh computes the stale fields and passes the changed and new ones to do, in ascending
// order of their roots. dist is that of Assemble; all slices are borrowed. It ends with the first error, of the
// labeling or of do. Fields not passed by then stay stale.
func (k *Kept) Refresh(do func(root int32, members []int32, dist []uint8) error) error {
	ix := k.d.Index()
	k.findAltered()
	slices.Sort(k.stale)
	done := 0
	defer func() { k.stale = k.stale[:copy(k.stale, k.stale[done:])] }()
	for _, root := range k.stale {
		hood, dist := k.walk.Assemble(ix, root, k.norm.K)
		if err := k.norm.Normalize(ix, hood, dist, nil, k.field); err != nil {
			return err
		}
		own := k.Members(root)
		changed := k.flags[root]&isAltered != 0 || !slices.Equal(own, k.field)
		copy(own, k.field)
		k.stats.Recomputed++
		if changed {
			k.stats.Changed++
			if err := do(root, k.field, dist); err != nil {
				return err
			}
		}
		k.settled(root, hood, dist)
		done++
	}
	return nil
}

// settled clears the flags of root and stores where its walk ended.
func (k *Kept) settled(root int32, hood []int32, dist []uint8) {
	k.flags[root], k.reach[root] = 0, endless
	if len(hood) >= k.norm.K {
		k.reach[root] = dist[len(dist)-1]
	}
}

// Touch makes the field of root stale, so that Refresh passes it to do.
func (k *Kept) Touch(root int32) {
	k.touch(root)
	k.flags[root] |= isAltered
}

func (k *Kept) n() int { return len(k.reach) }
