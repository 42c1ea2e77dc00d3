package sources

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources/internal/rows"
)

// maxDeclared is the number of nodes that a comment may state without a file
// that bears it out: a line of text must not allocate gigabytes.
const maxDeclared = 1 << 24

// Read reads the graph without making a record of it.
func (s EdgeList) Read(ctx context.Context) (*Network, error) {
	if s.Workers < 0 {
		return nil, fmt.Errorf("sources: EdgeList: Workers is %d, want at least 0", s.Workers)
	}
	l, err := s.input().lines(ending(ctx))
	if err != nil {
		return nil, err
	}
	defer l.close()
	l.note = s.Progress
	e := &edgeScan{l: l, workers: s.Workers, weighted: s.Weights}
	if err := e.run(); err != nil {
		return nil, err
	}
	var labels nodeLabels
	if s.Labels != "" {
		if labels, err = s.readLabels(ctx); err != nil {
			return nil, err
		}
	}
	n := &Network{}
	count, err := e.number(n, labels.ids)
	if err != nil {
		return nil, err
	}
	if labels.label != nil {
		ids := n.IDs.Ints()
		if ids == nil {
			ids = upTo(0, count)
		}
		if n.NodeClass, n.Classes, err = labels.classes(ids, s.Partial); err != nil {
			return nil, err
		}
	}
	n.Stats = EdgeListStats{Lines: e.count, Declared: e.declared}
	n.Graph = &graph.Graph{}
	if n.Stats.EdgeCounts, err = e.graph(count, s.Directed, n.Graph); err != nil {
		return nil, err
	}
	n.Stats.Isolated = rows.Isolated(n.Graph)
	return n, nil
}

// number gives the nodes of the lines, the labels and the comment their numbers,
// and returns how many there are: at least one. IDs is set where an id is not its
// number.
func (e *edgeScan) number(n *Network, named []int64) (int, error) {
	more := make([]int32, len(named))
	for i, id := range named {
		if more[i] = int32(id); id < 0 || id > math.MaxInt32 {
			return e.numberWide(n, named)
		}
	}
	if len(e.wide) > 0 {
		return e.numberWide(n, named)
	}
	ids, err := e.edges.IDs(more)
	if err != nil {
		return 0, err
	}
	count, first := e.declared, int32(0)
	switch top := int64(ids.Last()); {
	case count > 0 && top < count:
	case count > 0 && top == count && ids.First() > 0:
		first = 1
	case ids.Len() == 0:
		return 0, &FileError{e.l.file, 0, errors.New("no edge, and no comment with the number of nodes")}
	default:
		if int(ids.Last()) < ids.Len() { // 0 … n-1
			return ids.Len(), nil
		}
		if err := e.take(8 * int64(ids.Len())); err != nil {
			return 0, err
		}
		n.IDs = graph.IDsOf(ids.List())
		e.edges.Renumber(ids)
		return ids.Len(), nil
	}
	if count > max(maxDeclared, 2*int64(ids.Len())) {
		e.l.line = e.declaredAt
		return 0, e.l.errorf("a comment tells of %d nodes, but only %d are named; correct it, or name the others in Labels", count, ids.Len())
	}
	if first == 0 {
		return int(count), nil
	}
	if err := e.take(8 * count); err != nil {
		return 0, err
	}
	n.IDs = graph.IDsOf(upTo(first, int(count)))
	e.edges.Shift(first)
	return int(count), nil
}

// upTo is n numbers from first on.
func upTo(first int32, n int) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = int64(first) + int64(i)
	}
	return all
}

// graph makes the graph of the lines, which are gone then.
func (e *edgeScan) graph(n int, directed bool, g *graph.Graph) (EdgeCounts, error) {
	offsets, neighbors, c, err := e.edges.Rows(n, directed)
	g.Offsets, g.Neighbors, g.Directed = offsets, neighbors, directed
	counts := EdgeCounts{Edges: c.Edges, SelfLoops: c.SelfLoops, Duplicates: c.Duplicates, OneWay: c.OneWay}
	if err == nil && e.weighted {
		g.EdgeAttrs = 1
		g.EdgeAttr, counts.Conflicts, err = e.edges.Values(offsets, neighbors, directed, e.weights)
	}
	if err != nil {
		if f := new(FileError); !errors.As(err, &f) && e.l.alive() == nil {
			err = &FileError{e.l.file, 0, err}
		}
		return EdgeCounts{}, err
	}
	e.edges, e.weights = rows.Edges{}, nil
	return counts, nil
}

// data returns the next line that is neither empty nor a comment. Comments go
// to the function.
func (l *lines) data(comment func(text []byte) error) ([]byte, error) {
	for {
		row, err := l.raw()
		if err != nil {
			return nil, err
		}
		l.line++
		row = bytes.TrimSpace(row)
		switch {
		case len(row) == 0:
		case row[0] != '#' && row[0] != '%':
			return row, nil
		default:
			if err := comment(row); err != nil {
				return nil, err
			}
		}
	}
}

var errMatrixMarket = errors.New("a Matrix Market file, want an edge list: remove the line of sizes, and count from either end")

var errBipartite = errors.New("a bipartite network of KONECT, whose two ends are numbered apart: read it as a table, sources.Tables with Text, or -edges FILE -source 1 -target 2; remove the line if they are not")

// edgeOf reads a line with an edge, and returns what is behind its nodes. They have a
// bound where labels.txt tells how many there are.
func edgeOf(row []byte, below int64) (u, v int32, rest []byte, err error) {
	if u, rest, err = nodeID(row); err != nil {
		return 0, 0, nil, err
	}
	if len(rest) == 0 {
		return 0, 0, nil, fmt.Errorf("%s, want two nodes", quote(row))
	}
	if v, rest, err = nodeID(rest); err != nil {
		return 0, 0, nil, err
	}
	if top := int64(max(u, v)); top >= below {
		return 0, 0, nil, fmt.Errorf("node %d, want 0 to %d: labels.txt has %d lines", top, below-1, below)
	}
	return u, v, rest, nil
}

// nodeID reads the id of a node, and returns what is behind it.
func nodeID(line []byte) (id int32, rest []byte, err error) {
	f, rest := field(line)
	v, ok := integer(f)
	switch {
	case ok && 0 <= v && v <= math.MaxInt32:
		return int32(v), rest, nil
	case len(f) > 0 && len(bytes.Trim(f, "0123456789")) == 0 && (!ok || v > math.MaxInt32):
		return 0, nil, fmt.Errorf("node %s is beyond %d", quote(f), math.MaxInt32)
	case !ok:
		return 0, nil, fmt.Errorf("%s, want the id of a node: an integer from 0", quote(f))
	}
	return 0, nil, fmt.Errorf("node %d, want 0 to %d", v, math.MaxInt32)
}

// statedNodes finds the number of nodes in a comment: "4941 nodes" or "Nodes:
// 4941".
func statedNodes(comment []byte) (int64, bool) {
	words := bytes.FieldsFunc(bytes.ToLower(comment), func(r rune) bool {
		return r == ' ' || r == '\t' || r == ',' || r == ';' || r == ':' || r == '=' || r == '#' || r == '%' || r == '(' || r == ')'
	})
	for i, w := range words {
		if string(w) != "nodes" && string(w) != "vertices" {
			continue
		}
		// "Nodes: 3 Edges: 2" has the number behind; "2 edges, 3 nodes" before.
		for _, j := range []int{i - 1, i + 1} {
			if j < 0 || j >= len(words) {
				continue
			}
			if n, ok := integer(words[j]); ok && n > 0 && n <= math.MaxInt32 {
				return n, true
			}
		}
	}
	return 0, false
}
