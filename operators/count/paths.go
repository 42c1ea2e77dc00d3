package count

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
)

// Paths counts pairs of nodes by (label of one end, length of a shortest path, label of the
// other end), as the shortest-path kernel with equal labels does (Borgwardt and Kriegel,
// "Shortest-path kernels on graphs", 2005). Lengths are in edges, from 1. Unconnected pairs do
// not count. A pair of an undirected graph counts once and has no first end; in a directed
// graph paths follow the arcs. Types of edges are ignored, since there may be many shortest
// paths.
//
// It searches from each node, O(n·m). In graphs with more nodes than Sources it searches from a
// random sample of that size and scales the counts to all nodes; that estimate depends on node
// numbers. Memory is 24 bytes per node.
type Paths struct {
	// Sources is the number of nodes from which paths are searched in larger
	// graphs. 0 means 8192.
	Sources int
}

// String returns "paths" with all settings that are not the default.
func (p Paths) String() string { return describe(p) }

// Prepare implements Counter.
func (p Paths) Prepare() (Worker, error) {
	if p.Sources < 0 {
		return nil, fmt.Errorf("Sources is %d, want 0 or more", p.Sources)
	}
	return &pathCounter{Paths: p, most: cmp.Or(p.Sources, 8192)}, nil
}

type pathCounter struct {
	Paths
	most    int // number of sources; a larger graph is sampled
	labels  labeler
	kinds   kinds
	counts  []float64 // by kind: number of nodes of a level
	met     []int32   // kinds that a level has
	seen    []int32   // by node: number of the last search that met it
	reached []int32   // nodes of a search, in its order
	around  Bag       // paths from one node, for Contexts
	ids     []uint64
}

var kindPath = Kind("path")

func (p *pathCounter) Count(in Input, bag *Bag) error {
	return p.run(in, p.most, func(g *graph.Graph, source, number int32, weight float64) {
		p.search(g, source, number, weight, bag)
	})
}

// contextSources bounds the contexts of one graph, contextWords the ids of a context.
const (
	contextSources = 64
	contextWords   = 256
)

// Contexts implements Contexter. A context has the paths that begin at one node: the contextWords
// smallest ids. A graph of more than contextSources nodes has contexts of a random sample of them.
func (p *pathCounter) Contexts(in Input, emit func(ids []uint64)) error {
	return p.run(in, min(p.most, contextSources), func(g *graph.Graph, source, number int32, _ float64) {
		p.around.Reset()
		p.search(g, source, number, 1, &p.around)
		p.ids = p.ids[:0]
		for _, e := range p.around.Entries() {
			if len(p.ids) < contextWords {
				p.ids = append(p.ids, e.ID)
			}
		}
		emit(p.ids)
	})
}

// run calls search for all nodes as sources, or for a random sample of size most. number counts the
// searches from 1.
func (p *pathCounter) run(in Input, most int, search func(g *graph.Graph, source, number int32, weight float64)) (err error) {
	g := in.Graph
	p.label(g)
	n := g.N()
	p.seen, p.reached = scratch.Resize(p.seen, n), scratch.Resize(p.reached, n)[:0]
	clear(p.seen)
	sources, weight := n, 1.0
	var perm []int
	if n > most {
		sources, weight = most, float64(n)/float64(most)
		perm = rand.New(rand.NewPCG(0, uint64(n))).Perm(n)
	}
	if !g.Directed {
		weight /= 2 // the searches from both ends find each pair
	}
	every := 1 + 4096/max(1, n) // a search of a small graph costs less than a check of the context
	for i := range sources {
		if i%every == 0 && in.Err() != nil {
			return in.Err()
		}
		source := int32(i)
		if perm != nil {
			source = int32(perm[i])
		}
		search(g, source, int32(i)+1, weight)
	}
	return nil
}

// label assigns kinds to the nodes of g by their labels.
func (p *pathCounter) label(g *graph.Graph) {
	p.labels.reset(g)
	p.kinds.reset(g.N())
	for v := range int32(g.N()) {
		p.kinds.add(v, p.labels.node(v))
	}
	p.counts = scratch.Resize(p.counts, len(p.kinds.hashes))
	clear(p.counts)
}

// search adds the paths from source that a breadth-first search finds, weight each. number counts
// the searches from 1.
func (p *pathCounter) search(g *graph.Graph, source, number int32, weight float64, bag *Bag) {
	from := p.kinds.hashes[p.kinds.of[source]]
	q := append(p.reached[:0], source)
	p.seen[source] = number
	for begin, length := 0, 1; begin < len(q); length++ {
		end := len(q)
		for _, v := range q[begin:end] {
			for _, u := range g.Adj(v) {
				if p.seen[u] != number {
					p.seen[u] = number
					q = append(q, u)
				}
			}
		}
		p.met = p.met[:0]
		for _, u := range q[end:] {
			k := p.kinds.of[u]
			if p.counts[k] == 0 {
				p.met = append(p.met, k)
			}
			p.counts[k]++
		}
		for _, k := range p.met {
			a, b := from, p.kinds.hashes[k]
			if !g.Directed && a > b {
				a, b = b, a
			}
			bag.Add(uint64(kindPath.Add(a).Add(uint64(length)).Add(b)), weight*p.counts[k])
			p.counts[k] = 0
		}
		begin = end
	}
	p.reached = q[:0]
}

// kinds numbers the distinct hashes of nodes.
type kinds struct {
	of     []int32  // by node: number of its hash
	hashes []uint64 // hash of each number
	number map[uint64]int32
}

func (k *kinds) reset(n int) {
	k.of, k.hashes = scratch.Resize(k.of, n), k.hashes[:0]
	if k.number == nil || len(k.number) > 1<<12 {
		k.number = map[uint64]int32{}
	}
	clear(k.number)
}

func (k *kinds) add(v int32, hash uint64) {
	at, ok := k.number[hash]
	if !ok {
		at = int32(len(k.hashes))
		k.number[hash] = at
		k.hashes = append(k.hashes, hash)
	}
	k.of[v] = at
}
