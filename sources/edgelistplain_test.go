package sources

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/rows"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// network is the only graph of an edge list.
type network struct {
	Graph     *graph.Graph
	IDs       graph.IDs
	NodeClass []int32
	Classes   []string
	Stats     TableStats
	Notes     []string
}

func readEdges(s EdgeList) (*network, error) {
	set, err := s.Read(context.Background())
	if err != nil {
		return nil, err
	}
	it := set.Items[0]
	return &network{it.Graph, it.NodeID, it.NodeClass, set.Layout.NodeClasses, set.Stats, set.Notes}, nil
}

// isolated counts the nodes without an edge.
func isolated(g *graph.Graph) (count int) {
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

// plainRead is EdgeList.Read without labels in the plain way: line by line, ids sorted and looked up, one
// sort of all lines. Of an error only the line counts.
func plainRead(ctx context.Context, s EdgeList) (*network, error) {
	l, err := reading.Input{Kind: "EdgeList", Path: s.Path, Fsys: s.FS, Reader: s.Reader, MaxBytes: s.MaxBytes, PerByte: 64}.Lines(ctx.Err)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	text, failed := io.ReadAll(l.R)
	var ends [2][]int64
	var a rows.Arcs
	declared, declaredAt := int64(0), 0
	lines := strings.Split(string(text), "\n")
	if failed != nil { // the last line is not whole
		lines = lines[:len(lines)-1]
	}
	for at, line := range lines {
		bad := &FileError{File: s.Path, Line: at + 1, Err: errors.New("bad")}
		row := []byte(strings.TrimSpace(line))
		switch {
		case len(line) > reading.MaxLine:
			return nil, bad
		case len(row) == 0:
			continue
		case row[0] == '#' || row[0] == '%':
			if bytes.HasPrefix(bytes.ToLower(row), []byte("%%matrixmarket")) || at == 0 && bytes.HasPrefix(row, []byte("% bip ")) {
				return nil, bad
			}
			if n, ok := statedNodes(row); ok && declared == 0 && len(ends[0]) == 0 {
				declared, declaredAt = n, at+1
			}
			continue
		}
		for i := range ends {
			var f []byte
			f, row = reading.Field(row)
			id, err := strconv.ParseInt(string(f), 10, 64)
			if err != nil {
				return nil, bad
			}
			ends[i] = append(ends[i], id)
		}
		if s.Weights {
			f, _ := reading.Field(row)
			x, err := reading.Finite(f)
			if err != nil {
				return nil, bad
			}
			a.Attr = append(a.Attr, x)
		}
	}
	if failed != nil {
		return nil, &FileError{File: s.Path, Line: 0, Err: failed}
	}
	ids := slices.Concat(ends[0], ends[1])
	slices.Sort(ids)
	ids = slices.Compact(ids)
	named := len(ids)
	for first := range int64(2) {
		if declared > 0 && (named == 0 && first == 0 || named > 0 && ids[0] >= first && ids[named-1] < first+declared) {
			if declared > max(maxDeclared, 2*int64(named)) {
				return nil, &FileError{File: s.Path, Line: declaredAt, Err: errors.New("bad")}
			}
			ids = ids[:0]
			for i := range declared {
				ids = append(ids, first+i)
			}
			break
		}
	}
	if len(ids) == 0 {
		return nil, &FileError{File: s.Path, Line: 0, Err: errors.New("bad")}
	}
	for i, u := range ends[0] {
		u, _ := slices.BinarySearch(ids, u)
		v, _ := slices.BinarySearch(ids, ends[1][i])
		a.Ends = append(a.Ends, graph.Edge{U: int32(u), V: int32(v)})
	}
	if s.Weights {
		a.Attrs = 1
	}
	n := &network{Graph: &graph.Graph{}}
	c := rows.Csr{Alive: ctx.Err}
	if err := reading.Build(&c, len(ids), s.Directed, &a, n.Graph); err != nil {
		return nil, err
	}
	if ids[0] != 0 || ids[len(ids)-1] != int64(len(ids)-1) {
		n.IDs = graph.IDsOf(ids)
	}
	n.Stats = TableStats{EdgeCounts: c.Counts, EdgeRows: int64(len(a.Ends))}
	return n, nil
}
