package sources

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/pool"
	"github.com/sanflow/sanflow/internal/rows"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

const (
	pieceSize = 256 << 10 // bytes of text; fits the level-2 cache
	listSize  = 32 << 10  // edges per allocation
	maxEdges  = math.MaxInt32 / 2
)

// errOddLine is returned for a line that edgeScan does not parse. The tables are then read again line by line.
var errOddLine error = &again{
	errors.New("a line that is no edge between two numbers from 0 to 2 147 483 647"), func(known *shown) { known.odd = true },
}

// edgeScan parses the rest of an edge list in parallel. One goroutine reads the text and cuts it at line ends, the
// others parse the pieces. The order of edges is arbitrary.
//
//	reader   0 1⏎0 2⏎…│9 3⏎9 4⏎…│7 7⏎…      pieces of 256 KB
//	parser   │0-1 0-2 …│             lists of 32 K edges
//	parser            │9-3 9-4 …│
type edgeScan struct {
	b     *tableBuild
	below uint64 // exclusive bound of ids

	mu       sync.Mutex
	comments int64
	err      error
	failed   atomic.Bool // set by the first error; parsers and reader then stop
}

// scan parses the text after the first batch, and appends the edges to b.
func (r *edgeListReader) scan(b *tableBuild) error {
	s := &edgeScan{b: b, below: 1 << 31}
	if r.below > 0 {
		s.below = uint64(r.below)
	}
	b.marks = []*rows.Marks{{Take: b.Take}}
	for _, part := range b.ends.Parts {
		if err := b.marks[0].Add(part); err != nil {
			return err
		}
	}
	workers := pool.Workers(b.Workers, math.MaxInt)
	free, texts := make(chan []byte, workers+2), make(chan []byte, 1)
	for range cap(free) {
		free <- nil
	}
	var parsers sync.WaitGroup
	started := 0
	err := s.cut(r.l, free, func(text []byte) {
		if started < workers { // short texts need fewer workers
			parsers.Go(func() { s.parse(texts, free) })
			started++
		}
		texts <- text
	})
	close(texts)
	parsers.Wait()
	if err = cmp.Or(s.err, err); err != nil { // a bad line precedes the end of the text
		return err
	}
	r.comments += s.comments
	n := int64(0)
	for _, list := range b.ends.Parts {
		n += int64(len(list))
	}
	if b.set.Stats.EdgeRows = n; n > maxEdges {
		return b.tooMany(n)
	}
	return nil
}

// cut passes pieces of whole lines to give.
func (s *edgeScan) cut(l *reading.Lines, free chan []byte, give func([]byte)) error {
	var left []byte // incomplete last line
	for eof := false; !eof && !s.failed.Load(); {
		b := <-free
		if most := max(pieceSize, 2*len(left)); cap(b) < most+1 {
			if err := s.b.Take(int64(most + 1 - cap(b))); err != nil {
				return s.b.edges.inFile(err)
			}
			b = make([]byte, most+1)
		}
		b = b[:cap(b)-1] // one byte is reserved for a missing last line end
		n := copy(b, left)
		for n < len(b) && !eof {
			k, err := l.Read(b[n:])
			n += k
			if eof = err == io.EOF; err != nil && !eof {
				return err
			}
		}
		end := bytes.LastIndexByte(b[:n], '\n') + 1
		if eof && end < n {
			b[:n+1][n] = '\n'
			n++
			end = n
		}
		if left = append(left[:0], b[end:n]...); len(left) > reading.MaxLine {
			return errOddLine
		}
		if end > 0 {
			give(b[:end])
		} else {
			free <- b
		}
	}
	return nil
}

// parse parses pieces until texts is closed.
func (s *edgeScan) parse(texts <-chan []byte, free chan<- []byte) {
	p := edgeParser{edgeScan: s, marks: &rows.Marks{Take: s.b.Take}}
	fail := func(err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.err == nil || s.err == errOddLine { // any other error is permanent
			s.err = err
		}
		s.failed.Store(true)
	}
	for text := range texts {
		if !s.failed.Load() {
			if err := p.text(text); err != nil {
				fail(err)
			}
		}
		free <- text
	}
	if err := p.flush(); err != nil {
		fail(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.comments += p.comments
	s.b.marks = append(s.b.marks, p.marks)
}

// edgeParser parses pieces of text. Each goroutine has one.
type edgeParser struct {
	*edgeScan
	list     []graph.Edge
	marks    *rows.Marks
	comments int64
}

// text parses whole lines into p.list: with quick, and one by one where quick stops. A line that is no edge,
// comment or blank is errOddLine.
func (p *edgeParser) text(b []byte) error {
	for i := 0; i < len(b); {
		if i = p.quick(b, i); i == len(b) {
			break
		}
		if len(p.list) == cap(p.list) {
			if err := p.flush(); err != nil {
				return err
			}
			if err := p.b.Take(8 * listSize); err != nil {
				return p.b.edges.inFile(err)
			}
			p.list = make([]graph.Edge, 0, listSize)
			continue
		}
		end := i + bytes.IndexByte(b[i:], '\n')
		row := bytes.TrimSpace(b[i:end])
		i = end + 1
		switch x, ok := p.edge(row); {
		case ok:
			p.list = append(p.list, x)
		case len(row) == 0:
		case (row[0] == '#' || row[0] == '%') && !matrixMarket.Match(row):
			p.comments++
		default:
			return errOddLine
		}
	}
	return nil
}

// edge parses a line. It reports false if the line is not an edge between valid ids.
func (p *edgeParser) edge(row []byte) (graph.Edge, bool) {
	if u, v, n := reading.TwoNumbers(row); n > 0 && (n == len(row) || row[n] == ',' || reading.IsBlank(row[n])) {
		return graph.Edge{U: int32(u), V: int32(v)}, uint64(max(u, v)) < p.below
	}
	u, rest, err := edgeID(row)
	if err != nil || len(rest) == 0 {
		return graph.Edge{}, false
	}
	v, _, err := edgeID(rest)
	return graph.Edge{U: int32(u), V: int32(v)}, err == nil && max(uint64(u), uint64(v)) < p.below
}

// quick is the fast path of text. It parses lines from offset i while they consist of two numbers of at most
// eight digits, one separator and a line end, and returns the offset of the first other line.
// It loads eight bytes as one number x. In x ^ "00000000" a digit byte is its value, and any other byte
// exceeds 9, so adding 0x76 to each byte sets the high bit of non-digits. A carry can only corrupt bytes
// behind the first non-digit, which are not used. The digits are shifted to the end of the eight bytes and
// summed in pairs, fours and eights.
func (p *edgeParser) quick(b []byte, i int) int {
	const zeros, no, upper = 0x3030303030303030, 0x7676767676767676, 0x8080808080808080
	below := p.below
	list := p.list[len(p.list):cap(p.list)]
	n := 0
	for n < len(list) && i+24 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:]) ^ zeros
		first := bits.TrailingZeros64((x+no|x)&upper) / 8 // number of digits
		if c := b[i+first]; first == 0 || c != ' ' && c != '\t' && c != ',' {
			break
		}
		j := i + first + 1
		y := binary.LittleEndian.Uint64(b[j:]) ^ zeros
		second := bits.TrailingZeros64((y+no|y)&upper) / 8
		if second == 0 || b[j+second] != '\n' {
			break
		}
		u, v := eight(x<<((64-8*first)&63)), eight(y<<((64-8*second)&63))
		if u >= below || v >= below {
			break
		}
		list[n] = graph.Edge{U: int32(u), V: int32(v)}
		n++
		i = j + second + 1
	}
	p.list = p.list[:len(p.list)+n]
	return i
}

// eight returns the number of eight digit values, the first in the lowest byte.
func eight(x uint64) uint64 {
	x = x * (10<<8 + 1) >> 8 & 0x00ff00ff00ff00ff
	x = x * (100<<16 + 1) >> 16 & 0x0000ffff0000ffff
	return x * (10000<<32 + 1) >> 32
}

// flush appends the parsed edges to the table.
func (p *edgeParser) flush() error {
	list := p.list
	if p.list = nil; len(list) == 0 {
		return nil
	}
	p.mu.Lock()
	p.b.ends.Parts = append(p.b.ends.Parts, list)
	p.mu.Unlock()
	if err := p.marks.Add(list); err != nil {
		return p.b.edges.inFile(err)
	}
	return nil
}
