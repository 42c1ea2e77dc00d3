package sources

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
)

// edgeParser turns lines into edges.
type edgeParser struct {
	scan  *edgeScan
	below int64
	list  []graph.Edge
	piece piece

	weights []float32 // of the list, where they are kept
}

// text reads whole lines, each with its end. A line of two numbers of up to nine
// digits, and what may follow them, is read here, byte by byte; any other one by
// line.
func (p *edgeParser) text(b []byte) {
	below := uint32(min(p.below, 1<<31))
	for i := 0; i < len(b); {
		start := i
		u := uint32(0)
		for b[i]-'0' <= 9 {
			u = 10*u + uint32(b[i]-'0')
			i++
		}
		usual := uint(i-start-1) < 9 // and more than 0
		for isBlank(b[i]) {
			i++
		}
		if b[i] == ',' {
			i++
			for isBlank(b[i]) {
				i++
			}
		}
		second := i
		v := uint32(0)
		for b[i]-'0' <= 9 {
			v = 10*v + uint32(b[i]-'0')
			i++
		}
		switch c := b[i]; {
		case !usual || uint(i-second-1) >= 9 || u >= below || v >= below:
			usual = false
		case c == '\n':
			i++
		case c == '\r' && b[i+1] == '\n':
			i += 2
		case isBlank(c) || c == ',':
			i += bytes.IndexByte(b[i:], '\n') + 1
		default:
			usual = false
		}
		if p.piece.lines++; !usual {
			end := start + bytes.IndexByte(b[start:], '\n')
			i = end + 1
			if u, v, ok := p.line(b[start:end]); !ok {
				if p.piece.err != nil {
					p.piece.errAt = p.piece.lines
					return
				}
			} else if !p.edge(u, v) {
				return
			}
			continue
		}
		if len(p.list) < cap(p.list) {
			p.list = append(p.list, graph.Edge{U: int32(u), V: int32(v)})
			p.piece.edges++
		} else if !p.edge(int32(u), int32(v)) {
			return
		}
	}
}

// edge adds an edge.
func (p *edgeParser) edge(u, v int32) bool {
	if len(p.list) == cap(p.list) {
		p.flush()
		if p.piece.err = p.scan.take(8 * listSize); p.piece.err != nil {
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
func (p *edgeParser) flush() {
	if len(p.list) > 0 {
		p.scan.add(p.list)
	}
	p.list = nil
}

// line reads any line. It is no edge, and err is not set, where there is none on it.
func (p *edgeParser) line(row []byte) (u, v int32, ok bool) {
	row = bytes.TrimSpace(row)
	if len(row) == 0 || p.comment(row) {
		return 0, 0, false
	}
	u, v, _, p.piece.err = edgeOf(row, p.below)
	return u, v, p.piece.err == nil
}

// comment reports whether a line is one, and reads it.
func (p *edgeParser) comment(row []byte) bool {
	if row[0] != '#' && row[0] != '%' {
		return false
	}
	q := &p.piece
	if bytes.HasPrefix(row, []byte("%%MatrixMarket")) {
		q.err = errMatrixMarket
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
		if e.U, e.V, rest, q.err = edgeOf(row, p.below); q.err == nil {
			if x, q.err = weight(row, rest); q.err == nil {
				p.list, p.weights = append(p.list, e), append(p.weights, x)
				q.edges++
			}
		}
	}
	if q.err == nil && q.edges > 0 {
		if q.err = p.scan.take(12 * q.edges); q.err == nil {
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
