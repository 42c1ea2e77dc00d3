package rows

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
)

// BenchmarkRows set these sizes.
const (
	maxBins    = 1 << 16 // bins that count rows together
	bucketSize = 1 << 16 // entries, half of which are sorted, in memory that fits the second cache
	maxBuckets = 1 << 10
	waveSize   = 1 << 18 // edges that a worker sorts before their rows are written
	sortRoom   = 1 << 20 // largest number of edges of a bucket that are sorted out of place
)

// Bytes returns the most memory that Rows takes besides the lists: 4 bytes for each node; 4 for each entry,
// two entries for an undirected edge; 15 MB for each worker; 8 for each edge of a hub with more edges than a
// wave.
func Bytes(nodes, edges int, directed bool, workers int) int64 {
	entries := int64(edges)
	if !directed {
		entries *= 2
	}
	buckets := min(maxBuckets, 1+2*entries/bucketSize)
	each := 4*maxBins + 8*min(sortRoom, int64(edges)) + 8*min(waveSize, int64(edges)) + 2*8*(chunkSize*buckets+32*chunkSize)
	return 4*int64(nodes+1) + 4*entries + int64(workers)*each
}

// builder is the state of Rows. Each edge is sorted once:
//
//	edges        9-3 3-4 5-3 …
//	buckets      of the rows of their smaller ends   │3-4 3-5 3-9 …│   │5-7 …│   by 1024
//	a wave       of some of them, sorted             3: 4 5 9
//	streams      of the larger ends, by bucket too   │4-3 5-3│   │9-3 …│
//	rows         smaller neighbours, then larger     3: 4 5 9   4: 3   5: 3 7   9: 3
//
// Waves are in the order of rows. A stream therefore has the smaller neighbours of a row in order, and
// all of them before the wave of the row. An edge is in one place at any time, in the memory of the
// lists.
type builder struct {
	*Edges
	n                 int
	directed          bool
	binShift, colBits int
	shares            [][][]Edge // the lists, divided between the workers
	hist              [][]uint32 // entries of each bin, of each share of the edges
	of                []uint16   // the bucket of each bin
	first             []int32    // the first row of each bucket, then n
	by                []worker
	scratch           []uint64 // the edges of a wave
	offsets, adjacent []int32
	end               int // used entries of adjacent
}

// worker is the state of one goroutine.
type worker struct {
	Counts
	edges *streams // edges by the bucket of the smaller end, or of the tail
	lower *streams // edges by the bucket of the larger end: U is a row, V a neighbour
	tmp   []uint64
}

// Rows returns the rows of a graph of n nodes, which the edges name by 0 … n-1, in the form of graph.Graph:
// ascending, without loops and repeats. neighbors borrows from memory for one entry per given edge and end.
// Rows consumes the lists. O(n + edges).
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
	if err := e.take(Bytes(n, e.Len(), directed, w) + e.chunks()); err != nil {
		return nil, nil, c, err
	}
	b.shares, b.by = e.shares(w), make([]worker, w)
	if err := b.count(); err != nil {
		return nil, nil, c, err
	}
	edges, total := e.Len(), b.buckets()
	if err := b.divide(); err != nil {
		return nil, nil, c, err
	}
	b.hist, b.shares, e.rename, e.Lists = nil, nil, nil, nil
	b.offsets, b.adjacent = make([]int32, n+1), make([]int32, total)
	b.scratch = make([]uint64, min(edges, w*cmp.Or(e.wave, waveSize)))
	for at := 0; at < len(b.first)-1; {
		var wave []bucket
		if wave, at, err = b.wave(at); err != nil {
			return nil, nil, c, err
		}
		if err := b.run(wave); err != nil {
			return nil, nil, c, err
		}
	}
	for _, x := range b.by {
		c.Edges += x.Edges
		c.SelfLoops += x.SelfLoops
		c.Duplicates += x.Duplicates
		c.OneWay += x.OneWay
	}
	return b.offsets, b.adjacent[:b.end:b.end], c, nil
}

// chunks returns the bytes that edges take in chunks besides the memory of the lists: those of the part of
// each list that fills no chunk.
func (e *Edges) chunks() (bytes int64) {
	for _, l := range e.Lists {
		bytes += 8 * int64(len(l)%chunkSize)
	}
	return bytes
}

// count fills hist and renumbers the nodes.
func (b *builder) count() error {
	for (b.n-1)>>b.binShift >= maxBins {
		b.binShift++
	}
	bins := (max(b.n, 1)-1)>>b.binShift + 1
	b.hist = make([][]uint32, len(b.shares))
	return each(b.shares, func(i int, share [][]Edge) error {
		h, shift, directed, loops := make([]uint32, bins), b.binShift&31, b.directed, int64(0)
		b.hist[i] = h
		err := b.pieces(share, func(list []Edge) {
			if b.rename != nil {
				b.rename(list)
			}
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
		b.by[i].SelfLoops += loops
		return err
	})
}

// buckets divides the bins into buckets of about equally many entries, and returns the number of entries.
func (b *builder) buckets() (total int) {
	sum := b.hist[0]
	for _, h := range b.hist[1:] {
		for i, n := range h {
			sum[i] += n
		}
	}
	for _, n := range sum {
		total += int(n)
	}
	most := max(cmp.Or(b.Edges.bucket, bucketSize), 2*total/maxBuckets+1) // two consecutive buckets have more entries
	b.of = make([]uint16, len(sum))
	b.first = []int32{0}
	size := 0
	for bin, n := range sum {
		if size > 0 && size+int(n) > most {
			b.first = append(b.first, int32(bin<<b.binShift))
			size = 0
		}
		size += int(n)
		b.of[bin] = uint16(len(b.first) - 1)
	}
	b.first = append(b.first, int32(b.n))
	return total
}

// divide moves the edges to the buckets of their smaller ends, or their tails. V is then twice the other end,
// plus 1 if that end came first.
func (b *builder) divide() error {
	for i := range b.by {
		b.by[i].edges, b.by[i].lower = newStreams(len(b.first)-1), newStreams(len(b.first)-1)
	}
	of, shift := b.of, b.binShift&31
	return each(b.shares, func(i int, share [][]Edge) error {
		s := b.by[i].edges
		heads := s.heads
		return b.pieces(share, func(list []Edge) {
			for _, x := range list {
				u, v, back := x.U, x.V, uint32(0)
				if u == v {
					continue
				}
				if !b.directed {
					u, v, back = min(u, v), max(u, v), uint32(v-u)>>31
				}
				k := of[u>>shift]
				h := &heads[k]
				if h.n%chunkSize == 0 {
					s.more(k)
				}
				h.last[h.n%chunkSize] = Edge{U: u, V: int32(uint32(v)<<1 | back)}
				h.n++
			}
			s.give(list)
		})
	})
}
