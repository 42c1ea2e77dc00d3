// Package rows converts the edges of a graph to rows. Csr does so for graphs with attributes, one graph after the other. Edges does
// so for one large graph without attributes, with edges in any order, on several processors and in memory that is known beforehand.
//
//	lists of edges ──▶ ids, which edges name ──▶ nodes 0 … n-1 ──▶ buckets of rows ──▶ rows
//	8 bytes each       a bit each, or a hash     in place         a few at a time     CSR
//
// The rows depend neither on the number of processors nor on the order of the edges.
package rows

import (
	"cmp"
	"context"

	"github.com/sanflow/sanflow/internal/pool"
)

// Edges is the input of Rows, which overwrites the lists.
type Edges struct {
	Lists   [][]Edge
	Marks   []*Marks                // if set, the marks of all lists
	Workers int                     // goroutines; 0 = one per processor
	Alive   func() error            // if set, called every few milliseconds, from several goroutines; its error ends the work
	Take    func(bytes int64) error // if set, called with the bytes of memory before they are allocated
	Give    func(bytes int64)       // if set, called with the bytes of memory that are released

	rename func([]Edge) // if set, changes a list when Rows first reads it
	bucket int          // replaces bucketSize in tests
	wave   int          // replaces waveSize in tests, and the steps that justify another worker
}

// Edge is an edge u–v, or an arc u→v: the type graph.Edge.
type Edge struct{ U, V int32 }

// Counts counts what became of the edges.
type Counts struct {
	Edges      int64 // unordered pairs, or arcs
	SelfLoops  int64 // dropped loops
	Duplicates int64 // dropped repeats of an earlier edge in the same direction
	OneWay     int64 // undirected edges that occurred in one direction only
	Conflicts  int64 // edges whose attributes differ from the smallest before
}

// Len returns the number of edges in the lists.
func (e *Edges) Len() (n int) {
	for _, l := range e.Lists {
		n += len(l)
	}
	return n
}

// All returns the edges of all lists, renumbered as Rows would do it, in one list. It consumes the lists.
func (e *Edges) All() (all []Edge, err error) {
	if err := e.take(8 * int64(e.Len())); err != nil {
		return nil, err
	}
	all = make([]Edge, 0, e.Len())
	err = e.pieces(e.Lists, func(list []Edge) {
		if e.rename != nil {
			e.rename(list)
		}
		all = append(all, list...)
	})
	e.Lists, e.rename = nil, nil
	return all, err
}

func (e *Edges) alive() error {
	if e.Alive == nil {
		return nil
	}
	return e.Alive()
}

func (e *Edges) take(bytes int64) error {
	if e.Take == nil {
		return nil
	}
	return e.Take(bytes)
}

func (e *Edges) give(bytes int64) {
	if e.Give != nil {
		e.Give(bytes)
	}
}

// workers returns the number of goroutines for that many steps.
func (e *Edges) workers(steps int) int {
	return pool.Workers(e.Workers, steps/cmp.Or(e.wave, 1<<15))
}

// shares divides the lists into n shares of about equal length.
func (e *Edges) shares(n int) [][][]Edge {
	shares := make([][][]Edge, n)
	total, before := e.Len(), 0
	for _, l := range e.Lists {
		for len(l) > 0 {
			at := min(n-1, before*n/total)
			piece := l[:min(len(l), max(1, (total*(at+1)+n-1)/n-before))]
			shares[at] = append(shares[at], piece)
			before, l = before+len(piece), l[len(piece):]
		}
	}
	return shares
}

// each calls do for all shares concurrently, and returns the error of the lowest share that has one.
func each[T any](shares []T, do func(i int, share T) error) error {
	return pool.Each(context.Background(), len(shares), len(shares), func(_ context.Context, _, i int) error { return do(i, shares[i]) })
}

// pieces calls do with the edges of a share, piece by piece.
func (e *Edges) pieces(share [][]Edge, do func([]Edge)) error {
	for _, l := range share {
		for len(l) > 0 {
			if err := e.alive(); err != nil {
				return err
			}
			piece := l[:min(len(l), 1<<15)]
			do(piece)
			l = l[len(piece):]
		}
	}
	return nil
}
