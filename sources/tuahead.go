package sources

import (
	"bytes"
	"io"
	"sync"
)

// edgesAhead reads the edge file of a collection ahead of the reader that takes its
// edges: one goroutine unpacks the text and cuts it after line ends, others turn the
// pieces into edges. It reads lines of two numbers that are nodes of one graph. From
// the first piece on that has any other line, an empty one, or an error, the text goes
// to the plain reader, which knows what is wrong and where. On two idle processors it
// reads NCI1, DD, REDDIT-BINARY and COLLAB 1.4, 1.6, 1.6 and 1.7 times as fast as one
// worker does (BenchmarkTU).
//
//	reader   1, 2⏎2, 1⏎…│9, 3⏎…     pieces of 256 KB, a few of them at a time
//	parser   │0-1 1-0 …│
//	parser             │8-2 …│
//	taken    0-1 1-0 … 8-2 …       in the order of the file
type edgesAhead struct {
	x     *tuIndex
	order chan *aheadPiece // as they were read
	work  chan *aheadPiece
	free  chan *aheadPiece
	stop  chan struct{}
	all   sync.WaitGroup
	err   error // of the reader, when order is closed

	now   *aheadPiece
	taken int   // edges of now
	read  int64 // bytes of the pieces before now, and of now
}

// aheadPiece is whole lines, unless odd is set.
type aheadPiece struct {
	text  []byte
	pairs []pair
	odd   bool // has something that the plain reader reads
	done  chan struct{}
}

type pair struct{ u, v int32 }

// errTooLong ends a text that is longer than it may be.
var errTooLong = io.ErrShortBuffer

const (
	aheadSize  = 256 << 10 // bytes of a piece
	aheadBytes = 1 << 20   // that it takes with its pairs, which grow from nothing
	aheadLeast = 1 << 20   // of a file that is worth goroutines
)

// readAhead reads text of up to limit bytes in pieces of that size.
func readAhead(r io.Reader, x *tuIndex, workers, size int, limit int64) *edgesAhead {
	a := &edgesAhead{
		x: x, order: make(chan *aheadPiece, workers+2), work: make(chan *aheadPiece, workers+2),
		free: make(chan *aheadPiece, workers+2), stop: make(chan struct{}),
	}
	for range workers + 2 {
		a.free <- &aheadPiece{text: make([]byte, 0, size), done: make(chan struct{}, 1)}
	}
	a.all.Go(func() {
		a.err = a.cut(r, limit)
		close(a.work)
		close(a.order)
	})
	for range workers {
		a.all.Go(func() {
			for p := range a.work {
				p.parse(a.x)
				p.done <- struct{}{}
			}
		})
	}
	return a
}

// cut reads all there is, and returns what has ended it.
func (a *edgesAhead) cut(r io.Reader, limit int64) error {
	var left []byte // of a line whose end is to come
	for read := int64(0); ; {
		var p *aheadPiece
		select {
		case p = <-a.free:
		case <-a.stop:
			return nil
		}
		b := p.text[:cap(p.text)]
		n, err := copy(b, left), error(nil)
		for n < len(b) && err == nil && read <= limit {
			var k int
			k, err = r.Read(b[n:])
			n, read = n+k, read+int64(k)
		}
		if err == nil && read > limit {
			err = errTooLong
		}
		end := bytes.LastIndexByte(b[:n], '\n') + 1
		if p.odd = end == 0 && err == nil; p.odd || err == io.EOF {
			end = n
		}
		left = append(left[:0], b[end:n]...)
		p.text = b[:end]
		select {
		case a.order <- p:
		case <-a.stop:
			return nil
		}
		a.work <- p // there is room for all of them
		if err != nil {
			return err
		}
	}
}

// parse fills pairs, or sets odd.
func (p *aheadPiece) parse(x *tuIndex) {
	p.pairs = p.pairs[:0]
	for b := p.text; len(b) > 0 && !p.odd; {
		line := b
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			line, b = b[:i], b[i+1:]
		} else {
			b = nil
		}
		for len(line) > 0 && (isBlank(line[len(line)-1]) || line[len(line)-1] == '\r') {
			line = line[:len(line)-1]
		}
		u, v, ok := x.edge(line)
		p.pairs, p.odd = append(p.pairs, pair{u, v}), !ok
	}
}

// edge reads a line of two numbers that are nodes of one graph, counted from 0 then.
func (x *tuIndex) edge(line []byte) (u, v int32, ok bool) {
	if a, b, n := twoNumbers(line); n == len(line) && a > 0 && b > 0 && int(max(a, b)) <= x.nodes() {
		if u, v = int32(a-1), int32(b-1); x.graphOf[u] == x.graphOf[v] {
			return u, v, true
		}
	}
	return 0, 0, false
}

// next returns the next edge. It is not ok where l has to go on, plainly.
func (a *edgesAhead) next(l *lines) (e pair, ok bool, err error) {
	for a.now == nil || a.taken == len(a.now.pairs) {
		if err := l.alive(); err != nil {
			return e, false, err
		}
		before := a.read
		if a.piece(); a.now == nil || a.now.odd {
			l.r, l.read = &afterAhead{a: a, l: l, file: l.r}, before
			return e, false, nil
		}
	}
	e = a.now.pairs[a.taken]
	a.taken++
	l.line++
	return e, true, nil
}

// piece waits for the next piece; now is nil behind the last.
func (a *edgesAhead) piece() {
	if a.now != nil {
		a.free <- a.now
	}
	p, more := <-a.order
	if a.now, a.taken = nil, 0; more {
		<-p.done
		a.now = p
		a.read += int64(len(p.text))
	}
}

// close ends the goroutines.
func (a *edgesAhead) close() {
	close(a.stop)
	a.all.Wait()
}

// afterAhead is the text from the piece in hand on.
type afterAhead struct {
	a    *edgesAhead
	at   int // in the piece
	l    *lines
	file io.Closer
}

func (t *afterAhead) Read(b []byte) (int, error) {
	for t.a.now != nil && t.at == len(t.a.now.text) {
		t.a.piece()
		t.at = 0
	}
	switch {
	case t.a.now != nil:
		n := copy(b, t.a.now.text[t.at:])
		t.at += n
		return n, nil
	case t.a.err == errTooLong:
		t.l.read = t.l.limit + 1
		return 0, nil
	}
	return 0, t.a.err
}

func (t *afterAhead) Close() error { return t.file.Close() }
