package count

import (
	"fmt"
	"math/bits"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/operators/field"
)

// Fields counts receptive fields as words. The field of K nodes around a node, in normal order,
// is a discrete pattern; the patterns of a graph are a finer vocabulary than the colours of WL.
// Each node has a field for each K; see package field. Nodes of equal distance to the root
// are ranked by labeling.WL, and arcs are followed both ways. A word is the number K, the labels of
// the nodes in order, and the edges among them with their types. So a word means the same for
// all numberings, unless a field was too symmetric for its budget (see there).
//
// Continuous attributes affect neither the order nor the word. Graphs without labels have words of structure alone, without degrees.
//
// The cost is the cost of the fields. Finished fields are cached in 16 MB, which the workers of a
// stream share. A row of Chunk is indexed again, in O(n + m).
type Fields struct {
	// K lists the sizes of the fields, 1 to field.MaxK, each once. It must be set;
	// several are counted side by side, from the small and common to the large and rare.
	K []int
	// Selected counts the fields of the chosen roots only, behind Select or Chunk.
	// The default is all nodes.
	Selected bool
}

// String returns "fields(k=[5,10])" with all other settings that are not the default.
func (f Fields) String() string { return describe(f) }

// wordCacheBytes bounds the memory of the cache of fields, which all workers share.
const wordCacheBytes = 16 << 20

// Prepare implements Counter.
func (f Fields) Prepare() (Worker, error) {
	if len(f.K) == 0 {
		return nil, fmt.Errorf("K is empty, want the sizes of fields")
	}
	var has [field.MaxK + 1]bool
	for _, k := range f.K {
		if k < 1 || k > field.MaxK {
			return nil, fmt.Errorf("K has %d, want 1 to %d", k, field.MaxK)
		}
		if has[k] {
			return nil, fmt.Errorf("K has %d twice, want each size once", k)
		}
		has[k] = true
	}
	return newFieldCounter(f, field.NewCache(wordCacheBytes)), nil
}

func newFieldCounter(f Fields, cache *field.Cache) *fieldCounter {
	c := &fieldCounter{Fields: f, cache: cache}
	c.norm.Cache = cache
	return c
}

type fieldCounter struct {
	Fields
	cache *field.Cache

	bare    graph.Graph // graph without continuous attributes
	labels  labeler
	hashes  []uint64 // hashes of the labels of the nodes
	index   field.Index
	walk    field.Assembler
	norm    field.Normalizer
	finder  field.EdgeFinder
	members []int32
	rows    []uint64
	entry   []int32
	met     []int32  // CSR positions of the edges of a field
	edges   []uint64 // hashes of the labels of CSR entries

	found func(id uint64, k int) // set by Find, else nil; called with the field in members
}

// Prepare implements Counter; the cache is shared.
func (f *fieldCounter) Prepare() (Worker, error) { return newFieldCounter(f.Fields, f.cache), nil }

var kindField = Kind("field")

func (f *fieldCounter) Count(in Input, bag *Bag) error {
	if f.Selected && in.Roots == nil {
		return fmt.Errorf("the rows have no selected roots: put Select before it, or leave Selected out")
	}
	g := f.graph(in.Graph)
	if g.N() == 0 {
		return nil
	}
	f.index.Reset(g, field.Both)
	f.norm.Context = in.Context
	if !f.Selected {
		for v := range int32(g.N()) {
			if err := f.root(in, g, int(v), v, bag); err != nil {
				return err
			}
		}
		return nil
	}
	for i, v := range in.Roots {
		if v < 0 {
			continue // the field of a missing root is zero
		}
		if err := f.root(in, g, i, v, bag); err != nil {
			return err
		}
	}
	return nil
}

// root counts the field of each size K around root, which is root i of g.
func (f *fieldCounter) root(in Input, g *graph.Graph, i int, root int32, bag *Bag) error {
	if i%16 == 0 && in.Err() != nil {
		return in.Err()
	}
	for _, k := range f.K {
		f.norm.K = k
		f.members = scratch.Resize(f.members, k)
		hood, dist := f.walk.Assemble(&f.index, root, k)
		if err := f.norm.Normalize(&f.index, hood, dist, nil, f.members); err != nil {
			return err
		}
		id := f.word(g, k)
		bag.Add(id, 1)
		if f.found != nil {
			f.found(id, k)
		}
	}
	return nil
}

// graph returns g without continuous attributes and hashes its labels.
func (f *fieldCounter) graph(g *graph.Graph) *graph.Graph {
	f.bare = *g
	f.bare.NodeAttr, f.bare.NodeAttrs, f.bare.EdgeAttr, f.bare.EdgeAttrs = nil, 0, nil, 0
	f.labels.reset(&f.bare)
	f.hashes, f.edges = f.labels.hashes(f.hashes, f.edges)
	return &f.bare
}

// word returns the hash of the last field, which f.norm has made and f.members holds.
func (f *fieldCounter) word(g *graph.Graph, k int) uint64 {
	size := 0
	for size < k && f.members[size] >= 0 {
		size++
	}
	h := kindField.Add(uint64(k)).Add(uint64(size))
	if f.labels.nodes {
		for _, v := range f.members[:size] {
			h = h.Add(f.hashes[v])
		}
	}
	f.rows = scratch.Resize(f.rows, k)
	if f.norm.Rows(f.rows) {
		h = addRows(h, f.rows[:size])
		if f.labels.edges {
			for i, row := range f.rows[:size] {
				for row &= 1<<i - 1; row != 0; row &= row - 1 {
					h = h.Add(f.edges[g.Entry(f.members[i], f.members[bits.TrailingZeros64(row)])])
				}
			}
		}
		return uint64(h)
	}
	f.entry = scratch.Resize(f.entry, size*size)
	f.finder.Edges(g, f.members[:size], f.entry)
	return uint64(f.addEntries(h, size, g.Directed))
}

// addRows adds the bits below the diagonal of a symmetric matrix, row by row.
func addRows(h Hash, rows []uint64) Hash {
	word, n := uint64(0), 0
	for i, row := range rows {
		row &= 1<<i - 1
		word |= row << n
		if n += i; n >= 64 {
			h = h.Add(word)
			n -= 64
			word = row >> (i - n)
		}
	}
	if n > 0 {
		h = h.Add(word)
	}
	return h
}

// addEntries adds the bits below the diagonal, and those above it if edges have a direction, then
// the labels of the edges.
func (f *fieldCounter) addEntries(h Hash, size int, directed bool) Hash {
	word, n := uint64(0), 0
	f.met = f.met[:0]
	for i := range size {
		row := f.entry[i*size : (i+1)*size]
		if !directed {
			row = row[:i]
		}
		for _, e := range row {
			if e >= 0 {
				word |= 1 << n
				f.met = append(f.met, e)
			}
			if n++; n == 64 {
				h = h.Add(word)
				word, n = 0, 0
			}
		}
	}
	if n > 0 {
		h = h.Add(word)
	}
	if f.labels.edges {
		for _, e := range f.met {
			h = h.Add(f.edges[e])
		}
	}
	return h
}
