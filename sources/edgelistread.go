package sources

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
)

// maxDeclared is the number of nodes that a comment may state without a file
// that bears it out: a line of text must not allocate gigabytes.
const maxDeclared = 1 << 24

// Read reads the graph without making a record of it.
func (s EdgeList) Read(ctx context.Context) (*Network, error) {
	l, err := s.input().lines(ctx.Err)
	if err != nil {
		return nil, err
	}
	defer l.close()
	e := edgeLines{l: l}
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
	ids, err := e.nodes(labels.ids)
	if err != nil {
		return nil, err
	}
	if n.NodeClass, n.Classes, err = labels.classes(ids, s.Partial); err != nil {
		return nil, err
	}
	if int(ids[len(ids)-1]) >= len(ids) { // not 0 … n-1
		n.IDs = ids
		for i := range e.a.u {
			u, _ := slices.BinarySearch(ids, e.a.u[i])
			v, _ := slices.BinarySearch(ids, e.a.v[i])
			e.a.u[i], e.a.v[i] = int32(u), int32(v)
		}
	}
	n.Graph = &graph.Graph{}
	counts, err := e.graph(len(ids), s.Directed, n.Graph)
	if err != nil {
		return nil, err
	}
	n.Stats = EdgeListStats{counts, int64(len(e.a.u)), e.declared, isolated(n.Graph)}
	return n, nil
}

// graph makes the graph of the lines. What it charges includes a copy in a record.
func (e *edgeLines) graph(n int, directed bool, g *graph.Graph) (EdgeCounts, error) {
	c := csr{alive: e.l.alive}
	m := len(e.a.u)
	if err := e.l.take(csrBytes(n, m, 0) + 2*4*(int64(n+1)+2*int64(m))); err != nil {
		return EdgeCounts{}, err
	}
	err := c.build(n, directed, &e.a, g)
	return c.counts, err
}

func isolated(g *graph.Graph) (count int64) {
	met := make([]bool, g.N())
	for v := range int32(g.N()) {
		for _, u := range g.Adj(v) {
			met[u], met[v] = true, true
		}
	}
	for _, m := range met {
		if !m {
			count++
		}
	}
	return count
}

// edgeLines is the content of an edge file.
type edgeLines struct {
	l          *lines
	a          arcs
	below      int64 // an id must be below it; 0: any may be
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
		u, rest, err := nodeID(e.l, row)
		if err != nil {
			return err
		}
		if len(rest) == 0 {
			return e.l.errorf("%s, want two nodes", quote(row))
		}
		v, _, err := nodeID(e.l, rest)
		if err != nil {
			return err
		}
		if top := max(u, v); e.below > 0 && int64(top) >= e.below {
			return e.l.errorf("node %d, want 0 to %d", top, e.below-1)
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

// nodeID reads the id of a node, and returns what is behind it.
func nodeID(l *lines, line []byte) (id int32, rest []byte, err error) {
	f, rest := field(line)
	v, ok := integer(f)
	switch {
	case len(f) > 0 && len(bytes.Trim(f, "0123456789")) == 0 && (!ok || v > math.MaxInt32):
		return 0, nil, l.errorf("node %s is beyond %d", quote(f), math.MaxInt32)
	case !ok:
		return 0, nil, l.errorf("%s, want the id of a node: an integer from 0", quote(f))
	case v < 0 || v > math.MaxInt32:
		return 0, nil, l.errorf("node %d, want 0 to %d", v, math.MaxInt32)
	}
	return int32(v), rest, nil
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
