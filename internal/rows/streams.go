package rows

// chunkSize is the number of edges of a chunk. The incomplete chunks, one for each bucket, fit into the
// second cache.
const chunkSize = 256

type chunk [chunkSize]Edge

// streams are edges in buckets, in the order in which they were appended. A bucket is a list of chunks, so
// its size need not be known.
type streams struct {
	free   []*chunk
	heads  []head // of each bucket
	chunks [][]*chunk
}

// head is the end of a bucket.
type head struct {
	last *chunk // the incomplete chunk
	n    uint32 // edges in all chunks
}

func newStreams(buckets int) *streams {
	return &streams{heads: make([]head, buckets), chunks: make([][]*chunk, buckets)}
}

// more begins a chunk of bucket k. The inlined code that appends an edge calls it before the first edge of a
// chunk.
func (s *streams) more(k uint16) {
	if len(s.free) == 0 {
		s.give(make([]Edge, 32*chunkSize))
	}
	c := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	s.heads[k].last, s.chunks[k] = c, append(s.chunks[k], c)
}

// give lends the memory of a list to chunks.
func (s *streams) give(list []Edge) {
	for ; len(list) >= chunkSize; list = list[chunkSize:] {
		s.free = append(s.free, (*chunk)(list))
	}
}

// drain calls do with the edges of bucket k, chunk by chunk, and gives the chunks to another streams.
func (s *streams) drain(k int, to *streams, do func([]Edge)) {
	left := s.heads[k].n
	for _, c := range s.chunks[k] {
		n := min(left, chunkSize)
		do(c[:n])
		left -= n
	}
	to.free = append(to.free, s.chunks[k]...)
	s.drop(k)
}

// drop empties bucket k.
func (s *streams) drop(k int) { s.chunks[k], s.heads[k] = nil, head{} }

// cursor reads a bucket from its beginning.
type cursor struct {
	chunks []*chunk
	left   uint32
	at     []Edge // the remaining edges of the current chunk
}

func (s *streams) cursor(k int) cursor {
	c := cursor{chunks: s.chunks[k], left: s.heads[k].n}
	c.next()
	return c
}

// next moves to the next chunk. at is empty behind the last one.
func (c *cursor) next() {
	n := min(c.left, chunkSize)
	c.at = nil
	if n > 0 {
		c.at, c.chunks = c.chunks[0][:n], c.chunks[1:]
		c.left -= n
	}
}
