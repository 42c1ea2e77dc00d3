package rows

// chunkSize is the edges of a chunk: small enough that those which are begun, one
// for each bucket, stay in the second cache.
const chunkSize = 256

type chunk [chunkSize]Edge

// streams are edges in buckets, in the order in which they were put there. A bucket
// is a list of chunks, so that it needs not be known how many edges come.
type streams struct {
	free   []*chunk
	heads  []head // of each bucket
	chunks [][]*chunk
}

// head is where a bucket goes on.
type head struct {
	last *chunk // which is being filled
	n    uint32 // edges in all chunks
}

func newStreams(buckets int) *streams {
	return &streams{heads: make([]head, buckets), chunks: make([][]*chunk, buckets)}
}

// more begins a chunk of bucket k. The inlined code that appends an edge calls it before the
// first edge of a chunk.
func (s *streams) more(k uint16) {
	if len(s.free) == 0 {
		s.give(make([]Edge, 32*chunkSize))
	}
	c := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	s.heads[k].last, s.chunks[k] = c, append(s.chunks[k], c)
}

// give lends memory to chunks.
func (s *streams) give(list []Edge) {
	for ; len(list) >= chunkSize; list = list[chunkSize:] {
		s.free = append(s.free, (*chunk)(list))
	}
}

// drain calls do with the edges of bucket k, chunk by chunk, and leaves the chunks to
// another one.
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

// drop forgets bucket k.
func (s *streams) drop(k int) { s.chunks[k], s.heads[k] = nil, head{} }

// cursor reads a bucket from its beginning.
type cursor struct {
	chunks []*chunk
	left   uint32
	at     []Edge // of a chunk, what is to come
}

func (s *streams) cursor(k int) cursor {
	c := cursor{chunks: s.chunks[k], left: s.heads[k].n}
	c.next()
	return c
}

// next goes on to a chunk; at is empty if there is none.
func (c *cursor) next() {
	n := min(c.left, chunkSize)
	c.at = nil
	if n > 0 {
		c.at, c.chunks = c.chunks[0][:n], c.chunks[1:]
		c.left -= n
	}
}
