package rows

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/sanflow/sanflow/flow/graph"
)

// Sizes that were found by BenchmarkRows.
const (
	maxBins    = 1 << 16 // of rows that are counted together
	bucketSize = 1 << 15 // entries, 256 KB, which with as many to sort them by stay in the second cache
	maxBuckets = 256     // that are filled at once
	groupShare = 10      // a group of buckets has this part of the entries
	groupLeast = 1 << 18
	sortRoom   = 1 << 20 // most entries of a bucket that are sorted out of place
)

// Bytes is what Rows takes at most for so many nodes and edges, beside the lists: 4
// for each node; 4 for each entry, of which there are two for an undirected edge; a
// tenth of 8 for each entry, and all 8 for those of a hub with more than that; 8 MB
// for each worker.
func Bytes(nodes, edges int, directed bool, workers int) int64 {
	entries := int64(edges)
	if !directed {
		entries *= 2
	}
	return 4*int64(nodes+1) + 4*entries + 8*scratch(entries) + int64(workers)*(4*maxBins+8*min(sortRoom, entries))
}

func scratch(entries int64) int64 { return min(entries, max(groupLeast, entries/groupShare)) }

// builder is one making of rows. A bucket is some rows in a piece of scratch, as a
// key for each entry that has the row, the neighbour and, where the graph is not
// directed, which of both came first: sorted, the keys are the rows.
type builder struct {
	*Edges
	n                 int
	directed          bool
	binShift          int
	hist              [][]uint32 // entries of each bin, of each share of the edges
	shares            [][][]graph.Edge
	colBits, dirBits  int
	scratch           []uint64
	lo                int        // the first row of the group
	tmp               [][]uint64 // of each worker
	counts            []Counts   // of each worker
	offsets, adjacent []int32
	end               int // of adjacent, what is filled
}

// bucket is the rows of some bins.
type bucket struct {
	bin, binEnd int
	first, rows int      // rows
	keys        []uint64 // of scratch; after sorting, those that are left
	at          int      // of adjacent, where they go
}

// Rows returns the rows of a graph of n nodes, which the edges name by 0 … n-1, as
// graph.Graph has them: ascending, without loops and repeats. neighbors borrows from
// memory for as many entries as there were edges. O(n + edges).
func (e *Edges) Rows(n int, directed bool) (offsets, neighbors []int32, c Counts, err error) {
	b := &builder{Edges: e, n: n, directed: directed, colBits: bits.Len(uint(max(n, 1) - 1))}
	w := e.workers(e.Len())
	most := math.MaxInt32
	if !directed {
		most /= 2
	}
	if e.Len() > most {
		return nil, nil, c, fmt.Errorf("%d edges, want at most %d: rows have 32-bit offsets", e.Len(), most)
	}
	if err := e.take(Bytes(n, e.Len(), directed, w)); err != nil {
		return nil, nil, c, err
	}
	if !directed {
		b.dirBits = 1
	}
	b.shares = e.shares(w)
	b.counts = make([]Counts, w)
	if err := b.count(); err != nil {
		return nil, nil, c, err
	}
	total := 0
	for _, h := range b.hist {
		for _, n := range h {
			total += int(n)
		}
	}
	b.offsets, b.adjacent = make([]int32, n+1), make([]int32, total)
	b.scratch, b.tmp = make([]uint64, scratch(int64(total))), make([][]uint64, w)
	for at := 0; at < len(b.hist[0]); {
		var group []bucket
		if group, at, err = b.group(at, len(b.scratch)); err != nil {
			return nil, nil, c, err
		}
		if err := b.fill(group); err != nil {
			return nil, nil, c, err
		}
	}
	for _, x := range b.counts {
		c.Edges += x.Edges
		c.SelfLoops += x.SelfLoops
		c.Duplicates += x.Duplicates
		c.OneWay += x.OneWay
	}
	return b.offsets, b.adjacent[:b.end:b.end], c, nil
}

// count fills hist.
func (b *builder) count() error {
	for (b.n-1)>>b.binShift >= maxBins {
		b.binShift++
	}
	bins := (max(b.n, 1)-1)>>b.binShift + 1
	b.hist = make([][]uint32, len(b.shares))
	return each(b.shares, func(i int, share [][]graph.Edge) error {
		h, shift, directed, loops := make([]uint32, bins), b.binShift&31, b.directed, int64(0)
		b.hist[i] = h
		err := b.pieces(share, func(list []graph.Edge) {
			for _, x := range list {
				if x.U == x.V {
					loops++
					continue
				}
				h[x.U>>shift]++
				if !directed {
					h[x.V>>shift]++
				}
			}
		})
		b.counts[i].SelfLoops += loops
		return err
	})
}

// group returns the buckets from a bin on that are filled at once, of so many
// entries if it is not a single bin, and the bin behind them.
func (b *builder) group(bin, most int) ([]bucket, int, error) {
	var group []bucket
	size, inGroup := 0, 0
	start := bin
	flush := func(end int) {
		first := start << b.binShift
		group = append(group, bucket{bin: start, binEnd: end, first: first, rows: min(end<<b.binShift, b.n) - first})
		start, size = end, 0
	}
	for ; bin < len(b.hist[0]); bin++ {
		n := 0
		for _, h := range b.hist {
			n += int(h[bin])
		}
		if size > 0 && size+n > bucketSize {
			flush(bin)
		}
		if inGroup > 0 && (inGroup+n > most || len(group) == maxBuckets) {
			break
		}
		size, inGroup = size+n, inGroup+n
	}
	if start < bin {
		flush(bin)
	}
	if len(b.scratch) < inGroup { // a hub
		if err := b.take(8 * int64(inGroup)); err != nil {
			return nil, 0, err
		}
		b.give(8 * int64(len(b.scratch)))
		b.scratch = make([]uint64, inGroup)
	}
	at := 0
	for i := range group {
		g := &group[i]
		n := 0
		for _, h := range b.hist {
			for _, c := range h[g.bin:g.binEnd] {
				n += int(c)
			}
		}
		g.keys = b.scratch[at : at+n]
		at += n
	}
	return group, bin, nil
}

// fill makes the rows of a group of buckets.
func (b *builder) fill(group []bucket) error {
	if err := b.scatter(group); err != nil {
		return err
	}
	// Of neighbouring buckets each worker takes one: they are about as large.
	tasks := make([]int, len(b.shares))
	if err := each(tasks, func(w, _ int) error {
		for i := w; i < len(group); i += len(tasks) {
			if err := b.sort(&group[i], w); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	for i := range group {
		group[i].at = b.end
		b.end += len(group[i].keys)
	}
	return each(tasks, func(w, _ int) error {
		for i := w; i < len(group); i += len(tasks) {
			b.write(&group[i])
		}
		return nil
	})
}

// scatter puts the entries of a group into its buckets.
func (b *builder) scatter(group []bucket) error {
	first, last := group[0].bin, group[len(group)-1].binEnd
	b.lo = first << b.binShift
	lo := int32(b.lo)
	span := uint32(min(last<<b.binShift, b.n)) - uint32(lo)
	of := make([]uint8, last-first) // the bucket of a bin: at most 256
	for i, g := range group {
		for bin := g.bin; bin < g.binEnd; bin++ {
			of[bin-first] = uint8(i)
		}
	}
	// Where each share of the edges writes, in each bucket.
	next := make([][maxBuckets]int, len(b.shares))
	at := 0
	for i, g := range group {
		for s, h := range b.hist {
			next[s][i] = at
			for _, n := range h[g.bin:g.binEnd] {
				at += int(n)
			}
		}
	}
	scratch, colBits, dirBits, binShift, directed := b.scratch, b.colBits&63, b.dirBits&63, b.binShift&31, b.directed
	return each(b.shares, func(s int, share [][]graph.Edge) error {
		next := &next[s]
		return b.pieces(share, func(list []graph.Edge) {
			for _, x := range list {
				if r := uint32(x.U - lo); r < span && x.U != x.V {
					k := of[r>>binShift]
					scratch[next[k]] = (uint64(r)<<colBits | uint64(x.V)) << dirBits
					next[k]++
				}
				if directed {
					continue
				}
				if r := uint32(x.V - lo); r < span && x.U != x.V {
					k := of[r>>binShift]
					scratch[next[k]] = (uint64(r)<<colBits|uint64(x.U))<<dirBits | 1
					next[k]++
				}
			}
		})
	})
}

// sort sorts a bucket, and drops and counts repeats. Rows of keys are counted from
// the first of the group, and from the first of the bucket afterwards.
func (b *builder) sort(g *bucket, worker int) error {
	if len(g.keys) == 0 {
		return nil
	}
	if room := min(len(g.keys), sortRoom); len(b.tmp[worker]) < room {
		b.tmp[worker] = make([]uint64, max(room, min(2*bucketSize, sortRoom)))
	}
	low := b.colBits + b.dirBits
	// Only the bits in which the rows differ are sorted by.
	from := uint64(g.first-b.lo) << low
	for i := range g.keys {
		g.keys[i] -= from
	}
	keys, err := sortKeys(g.keys, b.tmp[worker], low+bits.Len(uint(g.rows-1)), b.alive)
	if err != nil {
		return err
	}
	c, left := &b.counts[worker], 0
	colMask := uint64(1)<<b.colBits - 1
	for i := 0; i < len(keys); {
		edge := keys[i] >> b.dirBits
		var ways [2]int64
		for ; i < len(keys) && keys[i]>>b.dirBits == edge; i++ {
			ways[keys[i]&uint64(b.dirBits)]++
		}
		g.keys[left] = edge
		left++
		if !b.directed && edge&colMask < uint64(g.first)+edge>>b.colBits {
			continue // counted in the row of its smaller end
		}
		c.Edges++
		c.Duplicates += max(ways[0]-1, 0) + max(ways[1]-1, 0)
		if !b.directed && min(ways[0], ways[1]) == 0 {
			c.OneWay++
		}
	}
	g.keys = g.keys[:left]
	return nil
}

// write puts a bucket where it belongs.
func (b *builder) write(g *bucket) {
	row, colMask := 0, uint64(1)<<b.colBits-1
	offsets := b.offsets[g.first:] // of row r is offsets[r]; its end offsets[r+1]
	to := b.adjacent[g.at : g.at+len(g.keys)]
	for i, k := range g.keys {
		for r := int(k >> b.colBits); row < r; {
			row++
			offsets[row] = int32(g.at + i)
		}
		to[i] = int32(k & colMask)
	}
	for row < g.rows {
		row++
		offsets[row] = int32(g.at + len(g.keys))
	}
}
