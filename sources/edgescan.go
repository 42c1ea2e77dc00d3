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
	pieceSize = 256 << 10 // of text, which stays in the second cache
	listSize  = 32 << 10  // edges that are allocated at once
	maxEdges  = math.MaxInt32 / 2
)

// errOddLine is a line that edgeScan does not read. The tables are then read again, line by line.
var errOddLine = errors.New("a line that is no edge between two numbers from 0 to 2 147 483 647")

// edgeScan reads the rest of an edge list on several processors: one goroutine reads the text and cuts it behind
// line ends, others take the pieces and turn them into edges, in no order.
//
//	reader   0 1⏎0 2⏎…│9 3⏎9 4⏎…│7 7⏎…      pieces of 256 KB
//	parser   │0-1 0-2 …│             lists of 32 K edges
//	parser            │9-3 9-4 …│
type edgeScan struct {
	b     *tableBuild
	below uint64 // an id is below it

	mu       sync.Mutex
	comments int64
	err      error
	failed   atomic.Bool // no more pieces are needed
}

// scan reads what is behind the first batch, and gives the edges to b.
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
		if started < workers { // no more than there are pieces
			parsers.Go(func() { s.parse(texts, free) })
			started++
		}
		texts <- text
	})
	close(texts)
	parsers.Wait()
	if err = cmp.Or(s.err, err); err != nil { // that of a line comes before what ends the text
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

// cut cuts the text into pieces of whole lines for give.
func (s *edgeScan) cut(l *reading.Lines, free chan []byte, give func([]byte)) error {
	var left []byte // of a line whose end is to come
	for eof := false; !eof && !s.failed.Load(); {
		b := <-free
		if most := max(pieceSize, 2*len(left)); cap(b) < most+1 {
			if err := s.b.Take(int64(most + 1 - cap(b))); err != nil {
				return s.b.edges.inFile(err)
			}
			b = make([]byte, most+1)
		}
		b = b[:cap(b)-1] // with room for a last line end
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

// parse takes pieces until there are no more.
func (s *edgeScan) parse(texts <-chan []byte, free chan<- []byte) {
	p := edgeParser{edgeScan: s, marks: &rows.Marks{Take: s.b.Take}}
	fail := func(err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.err == nil || s.err == errOddLine { // another error comes again
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

// edgeParser turns lines into edges.
type edgeParser struct {
	*edgeScan
	list     []graph.Edge
	marks    *rows.Marks
	comments int64
}

// text reads whole lines, each with its end.
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

// edge reads a line, if it is an edge between ids that are allowed.
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

// quick reads lines from i on as long as they are two numbers of up to eight digits
// with one blank, tab or comma between them and nothing behind, and there is memory.
// It returns where the next one begins.
//
// Eight bytes are looked at as one number x. In x ^ "00000000" a digit is its value and
// anything else above 9, so that adding 0x76 to each byte sets the upper bit of those
// that are no digits; what is behind them may have carried, and is not asked. The digits
// are then moved to the end of the eight, and two, four and eight of them summed up.
func (p *edgeParser) quick(b []byte, i int) int {
	const zeros, no, upper = 0x3030303030303030, 0x7676767676767676, 0x8080808080808080
	below := p.below
	list := p.list[len(p.list):cap(p.list)]
	n := 0
	for n < len(list) && i+24 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:]) ^ zeros
		first := bits.TrailingZeros64((x+no|x)&upper) / 8 // digits
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

// eight is the number of eight digits, the first of which is the lowest byte.
func eight(x uint64) uint64 {
	x = x * (10<<8 + 1) >> 8 & 0x00ff00ff00ff00ff
	x = x * (100<<16 + 1) >> 16 & 0x0000ffff0000ffff
	return x * (10000<<32 + 1) >> 32
}

// flush hands over the edges.
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
