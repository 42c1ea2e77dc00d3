package sources

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources/internal/rows"
)

// edgeParser turns lines into edges.
type edgeParser struct {
	scan  *edgeScan
	below int64
	list  []graph.Edge
	marks rows.Marks
	piece piece

	weights []float32  // of the list, if they are kept
	apart   []wideEdge // of the piece
}

// text reads whole lines, each with its end.
func (p *edgeParser) text(b []byte) {
	for i := 0; i < len(b); {
		if i = p.quick(b, i); i < len(b) {
			if i = p.next(b, i); i < 0 {
				return
			}
		}
	}
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
	below := uint64(p.below)
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
	p.piece.lines += n
	p.piece.edges += int64(n)
	return i
}

// eight is the number of eight digits, the first of which is the lowest byte.
func eight(x uint64) uint64 {
	x = x * (10<<8 + 1) >> 8 & 0x00ff00ff00ff00ff
	x = x * (100<<16 + 1) >> 16 & 0x0000ffff0000ffff
	return x * (10000<<32 + 1) >> 32
}

// next reads the line at i, and returns where the one behind it begins, or -1 after an
// error. Two numbers of up to nine digits may have other fields behind them.
func (p *edgeParser) next(b []byte, i int) int {
	below := uint32(min(p.below, 1<<31))
	p.piece.lines++
	if u, v, n := twoNumbers(b[i:]); n > 0 && u < below && v < below {
		at := i + n
		switch c := b[at]; {
		case c == '\n':
			at++
		case c == '\r' && b[at+1] == '\n':
			at += 2
		case isBlank(c) || c == ',':
			at += bytes.IndexByte(b[at:], '\n') + 1
		default:
			at = 0
		}
		if at > 0 {
			if !p.edge(int32(u), int32(v)) {
				return -1
			}
			return at
		}
	}
	end := i + bytes.IndexByte(b[i:], '\n')
	if u, v, ok := p.line(b[i:end]); ok {
		if !p.edge(u, v) {
			return -1
		}
	} else if p.piece.err != nil {
		p.piece.errAt = p.piece.lines
		return -1
	}
	return end + 1
}

// edge adds an edge.
func (p *edgeParser) edge(u, v int32) bool {
	if len(p.list) == cap(p.list) {
		if p.piece.err = p.flush(); p.piece.err == nil {
			p.piece.err = p.scan.take(8 * listSize)
		}
		if p.piece.err != nil {
			p.piece.errAt = p.piece.lines
			return false
		}
		p.list = make([]graph.Edge, 0, listSize)
	}
	p.list = append(p.list, graph.Edge{U: u, V: v})
	p.piece.edges++
	return true
}

// flush hands over the edges.
func (p *edgeParser) flush() error {
	list := p.list
	if p.list = nil; len(list) == 0 {
		return nil
	}
	p.scan.add(list)
	return p.marks.Add(list)
}

// line reads any line. It is no edge, and err is not set, if there is none on it.
func (p *edgeParser) line(row []byte) (u, v int32, ok bool) {
	row = bytes.TrimSpace(row)
	if len(row) == 0 || p.comment(row) {
		return 0, 0, false
	}
	u, v, _, err := edgeOf(row, p.below)
	if err != nil && p.scan.below == 0 {
		var a, b int64
		if a, b, _, err = wideOf(row); err == nil {
			p.piece.err = p.wide(a, b, 0)
			return 0, 0, false
		}
	}
	p.piece.err = err
	return u, v, err == nil
}

// comment reports whether a line is one, and reads it.
func (p *edgeParser) comment(row []byte) bool {
	if row[0] != '#' && row[0] != '%' {
		return false
	}
	q := &p.piece
	if matrixMarket.Match(row) {
		q.err = errMatrixMarket
	} else if q.at == 0 && q.lines == 1 && isBipartite(row) {
		q.err = errBipartite
	} else if n, stated := statedNodes(row); stated && q.declaredAt == 0 && q.edges == 0 {
		q.declared, q.declaredAt = n, q.lines
	}
	return true
}

// weighted is text for lines with weights. Their edges are handed over by pieces,
// whose order is that of the file.
func (p *edgeParser) weighted(b []byte) {
	p.list, p.weights = p.list[:0], p.weights[:0]
	q := &p.piece
	for len(b) > 0 && q.err == nil {
		end := bytes.IndexByte(b, '\n')
		row := bytes.TrimSpace(b[:end])
		b = b[end+1:]
		if q.lines++; len(row) == 0 || p.comment(row) {
			continue
		}
		var e graph.Edge
		var rest []byte
		var x float32
		if e.U, e.V, rest, q.err = edgeOf(row, p.below); q.err != nil && p.scan.below == 0 {
			var u, v int64
			if u, v, rest, q.err = wideOf(row); q.err == nil {
				if x, q.err = weight(row, rest); q.err == nil {
					q.err = p.wide(u, v, x)
				}
			}
			continue
		}
		if q.err == nil {
			if x, q.err = weight(row, rest); q.err == nil {
				p.list, p.weights = append(p.list, e), append(p.weights, x)
				q.edges++
			}
		}
	}
	if q.err == nil && len(p.list) > 0 {
		if q.err = p.scan.take(12 * int64(len(p.list))); q.err == nil {
			p.scan.keep(part{q.at, slices.Clone(p.list), slices.Clone(p.weights)})
		}
	}
	if q.err != nil {
		q.errAt = q.lines
	}
}

// weight reads the third field of a line.
func weight(row, rest []byte) (float32, error) {
	f, _ := field(rest)
	if len(f) == 0 {
		return 0, fmt.Errorf("%s, want two nodes and a weight", quote(row))
	}
	if i, ok := integer(f); ok && len(f) < 7 && f[0] != '-' { // -0 is one
		return float32(i), nil
	}
	return finite(f)
}
