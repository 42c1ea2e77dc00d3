package sources

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources/internal/rows"
)

// plainRead is EdgeList.Read in the plain way: line by line, ids sorted and looked
// up, one sort of all lines.
func plainRead(ctx context.Context, s EdgeList) (*Network, error) {
	l, err := s.input().lines(ctx.Err)
	if err != nil {
		return nil, err
	}
	defer l.close()
	e := edgeLines{l: l, weighted: s.Weights}
	if s.Weights {
		e.a.attrs = 1
	}
	if err := e.read(); err != nil {
		return nil, err
	}
	n := &Network{}
	var labels nodeLabels
	if s.Labels != "" {
		if labels, err = s.readLabels(ctx); err != nil {
			return nil, err
		}
	}
	ids, err := e.nodes(narrow(labels.ids))
	if err != nil {
		return nil, err
	}
	if n.NodeClass, n.Classes, err = labels.classes(wide(ids), s.Partial); err != nil {
		return nil, err
	}
	if int(ids[len(ids)-1]) >= len(ids) { // not 0 … n-1
		n.IDs = graph.IDsOf(wide(ids))
		for i := range e.a.u {
			u, _ := slices.BinarySearch(ids, e.a.u[i])
			v, _ := slices.BinarySearch(ids, e.a.v[i])
			e.a.u[i], e.a.v[i] = int32(u), int32(v)
		}
	}
	n.Graph = &graph.Graph{}
	c := csr{alive: e.l.alive}
	if err := c.build(len(ids), s.Directed, &e.a, n.Graph); err != nil {
		return nil, err
	}
	n.Stats = EdgeListStats{c.counts, int64(len(e.a.u)), e.declared, rows.Isolated(n.Graph)}
	return n, nil
}

// edgeLines is the content of an edge file.
type edgeLines struct {
	l          *lines
	a          arcs
	below      int64 // an id must be below it; 0: any may be
	weighted   bool
	declared   int64 // number of nodes that a comment states, and its line
	declaredAt int
}

func (e *edgeLines) read() error {
	for {
		row, err := e.l.data(e.comment)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if _, _, _, err := edgeOf(row, math.MaxInt32+1); err != nil && e.below == 0 { // as the other reader says it
			if _, _, _, err := wideOf(row); err != nil {
				return e.l.errorf("%w", err)
			}
			return errWide
		}
		u, rest, err := nodeID(row)
		if err != nil {
			return e.l.errorf("%w", err)
		}
		if len(rest) == 0 {
			return e.l.errorf("%s, want two nodes", quote(row))
		}
		v, rest, err := nodeID(rest)
		if err != nil {
			return e.l.errorf("%w", err)
		}
		if top := max(u, v); e.below > 0 && int64(top) >= e.below {
			return e.l.errorf("node %d, want 0 to %d", top, e.below-1)
		}
		if f, _ := field(rest); e.weighted {
			if len(f) == 0 {
				return e.l.errorf("%s, want two nodes and a weight", quote(row))
			}
			x, err := finite(f)
			if err != nil {
				return e.l.errorf("%w", err)
			}
			e.a.attr = append(e.a.attr, x)
		}
		if len(e.a.u) >= math.MaxInt32/2 {
			return e.l.errorf("more than %d edges", math.MaxInt32/2)
		}
		if e.a.u, err = push(e.l, e.a.u, u); err != nil {
			return err
		}
		if e.a.v, err = push(e.l, e.a.v, v); err != nil {
			return err
		}
	}
}

func (e *edgeLines) comment(text []byte) error {
	if bytes.HasPrefix(text, []byte("%%MatrixMarket")) {
		return e.l.errorf("a Matrix Market file, want an edge list: remove the line of sizes, and count from either end")
	}
	if e.declaredAt == 0 && len(e.a.u) == 0 {
		if n, ok := statedNodes(text); ok {
			e.declared, e.declaredAt = n, e.l.line
		}
	}
	return nil
}

// nodes returns the ids of all nodes, ascending: of the lines, the labels and
// the comment. There is at least one.
func (e *edgeLines) nodes(more []int32) ([]int32, error) {
	if err := e.l.take(4 * int64(2*len(e.a.u)+len(more))); err != nil {
		return nil, err
	}
	ids := slices.Concat(e.a.u, e.a.v, more)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if e.declared == 0 {
		if len(ids) == 0 {
			return nil, &FileError{e.l.file, 0, errors.New("no edge, and no comment with the number of nodes")}
		}
		return ids, nil
	}
	first := int32(0)
	if len(ids) > 0 {
		switch top := int64(ids[len(ids)-1]); {
		case top < e.declared:
		case top == e.declared && ids[0] > 0:
			first = 1
		default:
			return ids, nil
		}
	}
	if e.declared > max(maxDeclared, 2*int64(len(ids))) {
		e.l.line = e.declaredAt
		return nil, e.l.errorf("a comment tells of %d nodes, but only %d are named; correct it, or name the others in Labels", e.declared, len(ids))
	}
	if err := e.l.take(4 * e.declared); err != nil {
		return nil, err
	}
	all := make([]int32, e.declared)
	for i := range all {
		all[i] = first + int32(i)
	}
	return all, nil
}

func wide(ids []int32) (out []int64) {
	for _, id := range ids {
		out = append(out, int64(id))
	}
	return out
}

// errWide is of an edge list that is not read the plain way.
var errWide = errors.New("an id outside 32 bits")

func narrow(ids []int64) (out []int32) {
	for _, id := range ids {
		out = append(out, int32(id))
	}
	return out
}
