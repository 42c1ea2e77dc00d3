package rows

import (
	"math"
	"math/bits"
)

// bucket is a range of rows in a wave.
type bucket struct {
	k, worker   int
	first, rows int
	keys        []uint64 // in scratch: row and neighbour of each edge, later sorted and without repeats
	at          int      // where its rows begin in adjacent
}

// wave returns the buckets from k on that fit into scratch, at least one, and the bucket behind them. Each
// worker gets consecutive buckets.
func (b *builder) wave(k int) (wave []bucket, next int, err error) {
	total := 0
	var sizes []int
	for ; k < len(b.first)-1; k++ {
		n := 0
		for _, x := range b.by {
			n += int(x.edges.heads[k].n)
		}
		if len(wave) > 0 && total+n > len(b.scratch) {
			break
		}
		wave = append(wave, bucket{k: k, first: int(b.first[k]), rows: int(b.first[k+1] - b.first[k])})
		sizes = append(sizes, n)
		total += n
	}
	if len(b.scratch) < total { // a bucket of a hub
		if err := b.take(8 * int64(total)); err != nil {
			return nil, 0, err
		}
		b.give(8 * int64(len(b.scratch)))
		b.scratch = make([]uint64, total)
	}
	at := 0
	for i, n := range sizes {
		wave[i].worker = at * len(b.by) / max(total, 1)
		wave[i].keys = b.scratch[at : at+n]
		at += n
	}
	return wave, k, nil
}

// run makes the rows of a wave.
func (b *builder) run(wave []bucket) error {
	if err := each(b.by, func(w int, _ worker) error {
		for i := range wave {
			if wave[i].worker == w {
				if err := b.sort(&wave[i], &b.by[w]); err != nil {
					return err
				}
			}
		}
		return nil
	}); err != nil {
		return err
	}
	for i := range wave {
		g := &wave[i]
		g.at = b.end
		b.end += len(g.keys)
		for _, x := range b.by {
			b.end += int(x.lower.heads[g.k].n)
		}
	}
	return each(b.by, func(w int, _ worker) error {
		for i := w; i < len(wave); i += len(b.by) {
			if err := b.write(&wave[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// sort sorts the edges of a bucket, drops and counts repeats, and appends the others to the buckets of their
// larger ends.
func (b *builder) sort(g *bucket, x *worker) error {
	if len(g.keys) == 0 {
		return nil
	}
	if room := min(len(g.keys), sortRoom); len(x.tmp) < room {
		x.tmp = make([]uint64, max(room, min(bucketSize, sortRoom)))
	}
	low, first, at := (b.colBits+1)&63, uint32(g.first), 0
	for i := range b.by {
		b.by[i].edges.drain(g.k, x.lower, func(list []Edge) {
			keys := g.keys[at : at+len(list)]
			for i, e := range list {
				keys[i] = uint64(uint32(e.U)-first)<<low | uint64(uint32(e.V))
			}
			at += len(list)
		})
	}
	if err := b.alive(); err != nil {
		return err
	}
	keys := SortKeys(g.keys, x.tmp, low+bits.Len(uint(g.rows-1)))
	g.keys = g.keys[:b.unite(g, keys, x)]
	return nil
}

// unite writes each edge once, without its direction, to the keys of the bucket, and returns their number.
func (b *builder) unite(g *bucket, keys []uint64, x *worker) int {
	c, to, lower, of := &x.Counts, g.keys[:len(keys)], x.lower, b.of
	colBits, colMask, shift, first, directed := b.colBits&63, uint64(1)<<b.colBits-1, b.binShift&31, int32(g.first), b.directed
	heads, left := lower.heads, 0
	for i := 0; i < len(keys); {
		key := keys[i]
		edge, ways := key>>1, 1<<(key&1)
		for i++; i < len(keys) && keys[i]>>1 == edge; i++ {
			way := 1 << (keys[i] & 1)
			if ways&way != 0 {
				c.Duplicates++
			}
			ways |= way
		}
		to[left] = edge
		left++
		if directed {
			continue
		}
		if ways != 3 {
			c.OneWay++
		}
		v := int32(edge & colMask)
		k := of[v>>shift]
		h := &heads[k]
		if h.n%chunkSize == 0 {
			lower.more(k)
		}
		h.last[h.n%chunkSize] = Edge{U: v, V: first + int32(edge>>colBits)}
		h.n++
	}
	c.Edges += int64(left)
	return left
}

// write writes the rows of a bucket. offsets[r+1] is first the length of row r, then its beginning, and
// advances to its end while the row is filled.
func (b *builder) write(g *bucket) error {
	ends := b.offsets[g.first+1 : g.first+g.rows+1]
	colBits, colMask, first := b.colBits&63, uint64(1)<<b.colBits-1, int32(g.first)
	for _, k := range g.keys {
		ends[k>>colBits]++
	}
	cursors := make([]cursor, 0, len(b.by))
	for _, x := range b.by {
		if x.lower.heads[g.k].n == 0 {
			continue
		}
		c := x.lower.cursor(g.k)
		cursors = append(cursors, c)
		for ; len(c.at) > 0; c.next() {
			for _, e := range c.at {
				ends[e.U-first]++
			}
		}
	}
	at := int32(g.at)
	for r, n := range ends {
		ends[r] = at
		at += n
	}
	if err := b.merge(cursors, ends, first); err != nil {
		return err
	}
	for i := 0; i < len(g.keys); {
		row := g.keys[i] >> colBits
		at := ends[row]
		for ; i < len(g.keys) && g.keys[i]>>colBits == row; i++ {
			b.adjacent[at] = int32(g.keys[i] & colMask)
			at++
		}
		ends[row] = at
	}
	for i := range b.by {
		b.by[i].lower.drop(g.k)
	}
	return nil
}

// merge writes the smaller neighbours of rows in ascending order. Each stream is in this order, and its runs
// between those of other streams are long.
func (b *builder) merge(cursors []cursor, ends []int32, first int32) error {
	adjacent := b.adjacent
	for chunks := 0; len(cursors) > 0; chunks++ {
		if chunks%1024 == 0 {
			if err := b.alive(); err != nil {
				return err
			}
		}
		least, limit := 0, int32(math.MaxInt32)
		for i := 1; i < len(cursors); i++ {
			if v := cursors[i].at[0].V; v < cursors[least].at[0].V {
				least, limit = i, cursors[least].at[0].V
			} else {
				limit = min(limit, v)
			}
		}
		c := &cursors[least]
		n := len(c.at)
		for i, e := range c.at {
			if e.V >= limit {
				n = i
				break
			}
			row := &ends[e.U-first]
			adjacent[*row] = e.V
			*row++
		}
		if c.at = c.at[n:]; len(c.at) == 0 {
			if c.next(); len(c.at) == 0 {
				cursors = append(cursors[:least], cursors[least+1:]...)
			}
		}
	}
	return nil
}
