package count

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/sanflow/sanflow/flow/graph"
)

// Finder is a Worker that finds and names its words in a graph, for explanations. The workers of
// all counters of this package are Finders.
type Finder interface {
	Worker
	// Find emits an occurrence of a word for each place in the graph where Count counts it. The
	// counts of the occurrences of a word add up to its count, up to rounding. The order depends
	// only on the graph.
	Find(in Input, names Dictionary, emit func(Occurrence)) error
}

// Occurrence is an occurrence of a word in a graph. It and all that it refers to are borrowed
// for the call.
type Occurrence struct {
	ID    uint64
	Count float64
	// Nodes and Edges locate the word: the root of a colour or of a field, the ends of a path,
	// the edge of an attribute of edges. A word without either is about the
	// whole graph.
	Nodes []int32
	Edges []graph.Edge
	// Members returns all nodes and edges that the word depends on, none twice; an undirected
	// edge has the smaller node first. nil: Nodes and Edges.
	Members func() ([]int32, []graph.Edge)
	// Text names the word in a canonical form, independent of its location.
	Text func() string
}

// Find runs Find of a new worker of a counter. ok is false for a worker that is no Finder.
func Find(c Counter, in Input, names Dictionary, emit func(Occurrence)) (ok bool, err error) {
	w, err := Prepare(c)
	if err != nil {
		return false, err
	}
	f, ok := w.(Finder)
	if !ok {
		return false, nil
	}
	return true, f.Find(in, names, emit)
}

// spot computes the nodes and edges of an occurrence.
type spot struct {
	g      *graph.Graph
	either *graph.Graph // g without directions

	has   map[graph.Edge]bool
	dist  []int32 // by node: distance from the centre of a ball plus one; 0 = not reached
	nodes []int32
	edges []graph.Edge
}

func (p *spot) reset(g *graph.Graph) (err error) {
	p.g, p.either = g, g
	if g.Directed {
		if p.either, err = plain(g); err != nil {
			return err
		}
	}
	if p.has == nil {
		p.has = map[graph.Edge]bool{}
	}
	if len(p.dist) < g.N() {
		p.dist = make([]int32, g.N())
	}
	return nil
}

func (p *spot) clear() { p.nodes, p.edges = p.nodes[:0], p.edges[:0] }

// join adds the edge, or the arcs, between two nodes.
func (p *spot) join(u, v int32) {
	if !p.g.Directed {
		p.edges = append(p.edges, graph.Edge{U: min(u, v), V: max(u, v)})
		return
	}
	for _, a := range [2]graph.Edge{{U: u, V: v}, {U: v, V: u}} {
		if p.g.Entry(a.U, a.V) >= 0 {
			p.edges = append(p.edges, a)
		}
	}
}

// induced returns some nodes and the edges among them.
func (p *spot) induced(nodes []int32) ([]int32, []graph.Edge) {
	p.clear()
	p.nodes = append(p.nodes, nodes...)
	for i, v := range nodes {
		for _, u := range nodes[:i] {
			if p.either.Entry(u, v) >= 0 {
				p.join(u, v)
			}
		}
	}
	return p.nodes, p.edges
}

// ball returns the nodes at distance radius or less from v, nearest first, and the edges with an
// end at distance within or less.
func (p *spot) ball(v int32, radius, within int) ([]int32, []graph.Edge) {
	p.clear()
	p.nodes = append(p.nodes, v)
	p.dist[v] = 1
	for begin, d := 0, 1; d <= radius && begin < len(p.nodes); d++ {
		end := len(p.nodes)
		for _, u := range p.nodes[begin:end] {
			for _, x := range p.either.Adj(u) {
				if p.dist[x] == 0 {
					p.dist[x] = int32(d) + 1
					p.nodes = append(p.nodes, x)
				}
			}
		}
		begin = end
	}
	for _, u := range p.nodes {
		if int(p.dist[u]) > within+1 {
			break // nodes ascend by distance
		}
		for _, x := range p.either.Adj(u) {
			// An edge between two such nodes is found from both ends; one of them adds it.
			if p.dist[x] == 0 || int(p.dist[x]) > within+1 || u < x {
				p.join(u, x)
			}
		}
	}
	for _, u := range p.nodes {
		p.dist[u] = 0
	}
	return p.nodes, p.edges
}

// across adds to the last ball the edges that close triangles with one of its nodes.
func (p *spot) across() ([]int32, []graph.Edge) {
	for _, e := range p.edges {
		p.has[e] = true
	}
	for _, v := range p.nodes {
		for _, u := range p.either.Adj(v) {
			for _, x := range p.either.Adj(v) {
				if u >= x || p.either.Entry(u, x) < 0 {
					continue
				}
				from := len(p.edges)
				p.join(u, x)
				kept := from
				for _, e := range p.edges[from:] {
					if !p.has[e] {
						p.has[e] = true
						p.edges[kept] = e
						kept++
					}
				}
				p.edges = p.edges[:kept]
			}
		}
	}
	clear(p.has)
	return p.nodes, p.edges
}

// Find implements Finder. The words concern the whole graph.
func (s sizeCounter) Find(in Input, _ Dictionary, emit func(Occurrence)) error {
	var bag Bag
	if err := s.Count(in, &bag); err != nil {
		return err
	}
	for _, e := range bag.Entries() {
		emit(Occurrence{ID: e.ID, Count: e.Count, Text: func() string {
			if e.ID == uint64(kindNodes) {
				return "size: nodes"
			}
			return "size: edges"
		}})
	}
	return nil
}

// Find implements Finder. A label concerns its node.
func (l *labelCounter) Find(in Input, names Dictionary, emit func(Occurrence)) error {
	l.labels.reset(in.Graph)
	for v := range int32(in.Graph.N()) {
		emit(Occurrence{
			ID: uint64(kindLabel.Add(l.labels.node(v))), Count: 1, Nodes: []int32{v},
			Text: func() string { return "label: " + names.spelled(&l.labels, v) },
		})
	}
	l.parts(in.Graph, func(id Hash, p part) {
		v := p.nodes[0]
		o := Occurrence{ID: uint64(id), Count: 1, Nodes: []int32{v}}
		switch {
		case p.nodes[1] != v:
			o.Nodes, o.Edges = nil, []graph.Edge{{U: v, V: p.nodes[1]}}
			o.Text = func() string { return "edges: " + names.edge(p.channel, p.value) }
		case p.beside:
			o.Text = func() string {
				return "label: " + names.node(0, in.Graph.NodeCat[int(v)*in.Graph.NodeCats]) + " " + names.node(p.channel, p.value)
			}
		default:
			o.Text = func() string { return "label: " + names.node(p.channel, p.value) }
		}
		emit(o)
	})
	return nil
}

// Find implements Finder. A field concerns its root; the members are its nodes and the edges
// among them.
func (f *fieldCounter) Find(in Input, names Dictionary, emit func(Occurrence)) error {
	var p spot
	if err := p.reset(in.Graph); err != nil {
		return err
	}
	var labels labeler
	labels.reset(in.Graph)
	f.found = func(id uint64, k int) {
		members := f.members
		for i, v := range members {
			if v < 0 {
				members = members[:i]
				break
			}
		}
		emit(Occurrence{ID: id, Count: 1, Nodes: members[:1], Members: func() ([]int32, []graph.Edge) { return p.induced(members) }, Text: func() string {
			return short(fmt.Sprintf("field of %d: %s", k, names.among(&labels, members)), id)
		}})
	}
	defer func() { f.found = nil }()
	return f.Count(in, new(Bag))
}

// Find implements Finder. A path concerns its ends; the members are the nodes and edges on all
// shortest paths between them.
func (p *pathCounter) Find(in Input, names Dictionary, emit func(Occurrence)) error {
	var at spot
	if err := at.reset(in.Graph); err != nil {
		return err
	}
	directed := in.Graph.Directed
	whole := !directed && in.Graph.N() <= p.most
	dist, on := make([]int32, in.Graph.N()), make([]bool, in.Graph.N())
	var queue []int32
	ends := make([]int32, 2)
	return p.run(in, p.most, func(g *graph.Graph, source, _ int32, weight float64) {
		queue = append(queue[:0], source)
		dist[source] = 1
		for i := 0; i < len(queue); i++ {
			v := queue[i]
			for _, u := range g.Adj(v) {
				if dist[u] == 0 {
					dist[u] = dist[v] + 1
					queue = append(queue, u)
				}
			}
		}
		back := g
		if directed {
			back = at.either
		}
		for _, end := range queue[1:] {
			n := weight
			if whole { // the searches from both ends find a pair; one of them counts it
				if end < source {
					continue
				}
				n = 1
			}
			ends[0], ends[1] = source, end
			a, b, length := p.kinds.hashes[p.kinds.of[source]], p.kinds.hashes[p.kinds.of[end]], dist[end]-1
			if !directed && a > b {
				a, b = b, a
			}
			emit(Occurrence{ID: uint64(kindPath.Add(a).Add(uint64(length)).Add(b)), Count: n, Nodes: ends, Members: func() ([]int32, []graph.Edge) {
				return at.between(g, back, end, dist, on)
			}, Text: func() string {
				from, to := names.spelled(&p.labels, source), names.spelled(&p.labels, end)
				if !directed && from > to {
					from, to = to, from
				}
				return fmt.Sprintf("path of %d: %s … %s", length, from, to)
			}})
		}
		for _, v := range queue {
			dist[v] = 0
		}
	})
}

// between returns the nodes and edges on the shortest paths to end. dist has the distance of each
// node from the source, plus one.
func (p *spot) between(g, back *graph.Graph, end int32, dist []int32, on []bool) ([]int32, []graph.Edge) {
	p.clear()
	p.nodes = append(p.nodes, end)
	for i := 0; i < len(p.nodes); i++ {
		v := p.nodes[i]
		for _, u := range back.Adj(v) {
			if dist[u] == 0 || dist[u] != dist[v]-1 || g.Directed && g.Entry(u, v) < 0 {
				continue
			}
			if g.Directed {
				p.edges = append(p.edges, graph.Edge{U: u, V: v})
			} else {
				p.join(u, v)
			}
			if !on[u] {
				on[u] = true
				p.nodes = append(p.nodes, u)
			}
		}
	}
	for _, v := range p.nodes {
		on[v] = false
	}
	return p.nodes, p.edges
}

// Find implements Finder. A profile concerns its node; the members are also its neighbours and
// the edges to them.
func (p profileCounter) Find(in Input, _ Dictionary, emit func(Occurrence)) error {
	g, err := plain(in.Graph)
	if err != nil {
		return err
	}
	var at spot
	if err := at.reset(in.Graph); err != nil {
		return err
	}
	for v := range int32(g.N()) {
		if g.Degree(v) == 0 {
			continue
		}
		members := func() ([]int32, []graph.Edge) { return at.ball(v, 1, 0) }
		p := profileOf(g, v)
		words := p.words()
		order := []int{0, 1, 2, 3, 4}
		slices.SortFunc(order, func(i, j int) int { return cmp.Compare(words[i], words[j]) })
		for _, i := range order {
			emit(Occurrence{ID: uint64(words[i]), Count: 1, Nodes: []int32{v}, Members: members, Text: func() string { return p.text(i) }})
		}
	}
	return nil
}

// Find implements Finder. The words concern the whole graph.
func (s *statistics) Find(in Input, _ Dictionary, emit func(Occurrence)) error {
	all, err := s.numbers(in)
	if err != nil {
		return err
	}
	for i, x := range all {
		tiles(kindStatistic.Add(uint64(i)), x, func(id Hash, t tile) {
			emit(Occurrence{ID: uint64(id), Count: 1, Text: func() string { return statisticNames[i] + " " + t.String() }})
		})
	}
	return nil
}

var statisticNames = [...]string{
	"nodes", "edges", "components", "independent cycles", "leaves", "pairs of edges that meet", "triangles", "largest degree", "largest core",
	"edges per node", "density", "share of closed pairs of edges", "largest degree per node", "leaves per node", "components per node", "inequality of degrees",
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }

// Find implements Finder. A colour concerns its node. The members are the nodes up to as many
// edges away as there were rounds, and the edges of the nearer ones. If a colour begins with a
// degree, the edges of the node are members; if it begins with triangles, so are the edges
// across.
func (w *wlCounter) Find(in Input, names Dictionary, emit func(Occurrence)) error {
	var p spot
	if err := p.reset(in.Graph); err != nil {
		return err
	}
	tree := colourTree{w: w, names: &names}
	round, root := 0, make([]int32, 1)
	return w.run(in, func(colors []uint64) {
		tree.add(colors)
		within := round - 1
		if !w.labels.nodes || w.Triangles || w.Rounded {
			within++
		}
		for v, c := range colors {
			root[0] = int32(v)
			emit(Occurrence{ID: c, Count: 1, Nodes: root, Members: func() ([]int32, []graph.Edge) {
				nodes, edges := p.ball(int32(v), round, within)
				if w.Triangles {
					return p.across()
				}
				return nodes, edges
			}, Text: func() string { return tree.text(round, int32(v)) }})
		}
		round++
	})
}
