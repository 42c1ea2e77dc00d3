package sources

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/pool"
	"github.com/sanflow/sanflow/sources/internal/rows"
)

const (
	pieceSize = 256 << 10 // of text, which stays in the second cache
	listSize  = 32 << 10  // edges that are allocated at once
	maxEdges  = math.MaxInt32 / 2
)

// edgeScan reads the lines of an edge list on several processors: one goroutine
// reads and cuts the text after line ends, others take the pieces as they come and
// turn them into edges. The edges are in no order, and whatever else is found is
// put in that of the pieces at the end.
//
//	reader   0 1⏎0 2⏎…│9 3⏎9 4⏎…│7 7⏎…      pieces of 256 KB
//	parser   │0-1 0-2 …│             lists of 32 K edges
//	parser            │9-3 9-4 …│
type edgeScan struct {
	l        *lines // what is read, and what is charged
	below    int64  // an id must be below it; 0: any may be
	workers  int
	weighted bool // the third field is kept

	mu      sync.Mutex
	edges   rows.Edges
	weights [][]float32 // of the lists of edges, which are then in the order of the file
	parts   []part      // what these are made of
	wide    []widePart  // edges that are in no list
	pieces  []piece
	failed  atomic.Bool // in some piece: no more are needed

	declared   int64 // number of nodes that a comment states
	declaredAt int   // its line
	count      int64 // edges
}

// part is the edges of a piece of the text, and their weights.
type part struct {
	at      int
	edges   []graph.Edge
	weights []float32
}

// piece is what was found in a piece of the text. Lines are counted from its
// first.
type piece struct {
	at         int
	lines      int
	edges      int64
	declared   int64 // by the first such comment before an edge of the piece
	declaredAt int
	err        error // of line errAt
	errAt      int
}

// run reads all there is.
func (s *edgeScan) run() error {
	s.workers = pool.Workers(s.workers, math.MaxInt)
	s.edges = rows.Edges{Keep: s.weighted, Workers: s.workers, Alive: s.l.alive, Take: s.take, Give: s.l.give}
	free, texts := make(chan []byte, s.workers+2), make(chan text, 1)
	for range cap(free) {
		free <- nil
	}
	var parsers sync.WaitGroup
	started := 0
	err := s.read(free, func(t text) {
		if started < s.workers { // no more than there are pieces
			parsers.Go(func() { s.parse(texts, free) })
			started++
		}
		texts <- t
	})
	close(texts)
	parsers.Wait()
	if err = s.finish(err); err == nil && s.l.note != nil {
		s.l.note(s.l.packed.Load(), s.l.size)
	}
	return err
}

// text is whole lines, the last of which may lack its end.
type text struct {
	at int
	b  []byte
}

// read cuts the text into pieces for give, and returns what has ended it, but for the
// end of the file.
func (s *edgeScan) read(free chan []byte, give func(text)) error {
	var left []byte // of a line whose end is to come
	foresee := foresight{bytes: 8}
	if s.weighted {
		foresee.bytes = 12
	}
	for at := 0; !s.failed.Load(); at++ {
		b := <-free
		if most := max(pieceSize, 2*len(left)); cap(b) < most+1 {
			if err := s.take(int64(most + 1 - cap(b))); err != nil {
				return err
			}
			b = make([]byte, most+1)
		}
		n, err := s.fill(b[:cap(b)-1], copy(b[:cap(b)], left))
		b = b[:n]
		end := bytes.LastIndexByte(b, '\n') + 1
		if err == io.EOF {
			end = n
		}
		if err == nil {
			err = foresee.lines(s.l, b[:end])
		}
		left = append(left[:0], b[end:]...)
		if end > 0 {
			give(text{at, b[:end]})
		} else {
			free <- b
		}
		switch {
		case err == io.EOF:
			return nil
		case err == nil && len(left) > maxLine:
			s.found(piece{at: at + 1, err: fmt.Errorf("line of more than %d bytes", maxLine), errAt: 1})
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// fill reads until b is full.
func (s *edgeScan) fill(b []byte, n int) (int, error) {
	for n < len(b) {
		if err := s.l.alive(); err != nil {
			return n, err
		}
		k, err := s.l.r.Read(b[n:])
		n += k
		s.l.read += int64(k)
		switch {
		case s.l.read > s.l.limit:
			return n, s.l.tooLong()
		case err == io.EOF:
			return n, err
		case err != nil:
			return n, inFile(s.l.file, err)
		}
	}
	return n, nil
}

// parse takes pieces until there are no more.
func (s *edgeScan) parse(texts <-chan text, free chan<- []byte) {
	p := edgeParser{scan: s, below: cmp.Or(s.below, math.MaxInt32+1), marks: rows.Marks{Take: s.take}}
	for t := range texts {
		p.piece = piece{at: t.at}
		b := t.b
		if b[len(b)-1] != '\n' {
			b = append(b, '\n') // there is room
		}
		if s.weighted {
			p.weighted(b)
		} else {
			p.text(b)
		}
		if err := p.handWide(); err != nil && p.piece.err == nil {
			p.piece.err, p.piece.errAt = err, p.piece.lines
		}
		s.found(p.piece)
		free <- t.b
	}
	if s.weighted {
		return
	}
	if err := p.flush(); err != nil {
		s.found(piece{at: p.piece.at, err: err})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.edges.Marks = append(s.edges.Marks, &p.marks)
}

// found keeps what was found in a piece.
func (s *edgeScan) found(p piece) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pieces = append(s.pieces, p)
	s.count += p.edges
	if s.count > maxEdges && p.err == nil {
		last := &s.pieces[len(s.pieces)-1]
		last.err, last.errAt = fmt.Errorf("more than %d edges", maxEdges), p.lines
		s.failed.Store(true)
	}
	if p.err != nil {
		s.failed.Store(true)
	}
}

// take charges memory, for any goroutine.
func (s *edgeScan) take(bytes int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.l.take(bytes)
}

// finish puts together what was found in the pieces: the first error of the file,
// or that of reading it, and the first comment that counts.
func (s *edgeScan) finish(err error) error {
	slices.SortFunc(s.pieces, func(a, b piece) int { return cmp.Compare(a.at, b.at) })
	line, edges := 0, int64(0)
	for _, p := range s.pieces {
		if p.declaredAt > 0 && s.declaredAt == 0 && edges == 0 {
			s.declared, s.declaredAt = p.declared, line+p.declaredAt
		}
		if p.err != nil {
			if e := new(FileError); errors.As(p.err, &e) {
				return e
			}
			return &FileError{s.l.file, line + p.errAt, p.err}
		}
		line, edges = line+p.lines, edges+p.edges
	}
	s.pieces = nil
	slices.SortFunc(s.parts, func(a, b part) int { return cmp.Compare(a.at, b.at) })
	for _, p := range s.parts {
		s.edges.Lists, s.weights = append(s.edges.Lists, p.edges), append(s.weights, p.weights)
	}
	s.parts = nil
	return err
}

// keep keeps the edges of a piece with their weights.
func (s *edgeScan) keep(p part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = append(s.parts, p)
}

// add keeps a list of edges, and returns the memory for the next.
func (s *edgeScan) add(list []graph.Edge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.edges.Lists = append(s.edges.Lists, list)
}
