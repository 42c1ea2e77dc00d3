package sources

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"strings"

	"github.com/sanflow/sanflow/sources/internal/reading"
)

// edgeTable is the [Table] of an [EdgeList]. Its columns are named 1, 2 and 3.
type edgeTable struct {
	reading.Input
	weights bool  // column 3 is the weight; otherwise further fields are ignored
	nodes   int64 // if not 0, the graph has exactly the nodes 0 … nodes-1
	note    func(read, size int64)
	open    func() (*reading.Lines, error) // replaces Input if set
}

func (s edgeTable) OpenTable(ctx context.Context) (TableReader, error) {
	if s.open == nil {
		s.open = func() (*reading.Lines, error) { return s.Lines(reading.Ending(ctx)) }
	}
	if err := refuseMETIS(s.Path); err != nil {
		return nil, err
	}
	l, err := s.open()
	if err != nil {
		return nil, err
	}
	l.Note = s.note
	r := &edgeListReader{weights: s.weights, below: s.nodes}
	r.l, r.columns = l, []TableColumn{{Name: "1", Type: Integer}, {Name: "2", Type: Integer}}
	if s.weights {
		r.columns = append(r.columns, TableColumn{Name: "3", Type: Float})
	}
	r.values = make([]TableValues, len(r.columns))
	return r, nil
}

// refuseMETIS rejects METIS files by name: they have a line of sizes, then one line per node.
func refuseMETIS(file string) error {
	name := strings.TrimSuffix(strings.TrimSuffix(file, ".gz"), ".zst")
	if ext := path.Ext(name); ext != ".graph" && ext != ".metis" {
		return nil
	}
	return &FileError{File: file, Line: 0, Err: errors.New("a METIS graph has a line of neighbors for each node, want an edge on each line: write one, or rename an edge list that only has the name")}
}

// edgeListReader is the TableReader of an edge list. It parses the numbers of a line directly, without a splitter.
type edgeListReader struct {
	textTable
	weights bool
	below   int64         // exclusive bound of ids; 0 = none
	values  []TableValues // values of all columns

	declared, declaredAt int64 // number of nodes in a comment, and the line of that comment
}

// Notes returns a line about comments behind the first row.
func (r *edgeListReader) Notes() []string { return commentNotes(r.comments, r.l.File, 0) }

// commentNotes returns the note about comment lines after the first row. columns is the number of columns
// that would have made them rows, or 0.
func commentNotes(comments int64, file string, columns int) []string {
	if comments == 0 {
		return nil
	}
	note := fmt.Sprintf("left out: %d lines of %s behind the first row that begin with # or %%", comments, file)
	if columns > 0 {
		note += fmt.Sprintf(" and have not one value for each of %d columns", columns)
	}
	return []string{note}
}

func (r *edgeListReader) Next() (*TableBatch, error) {
	r.batch.clear()
	for c := range r.values {
		v := &r.values[c]
		v.Integers, v.Floats = v.Integers[:0], v.Floats[:0]
	}
	for r.err == nil && r.batch.Rows < maxBatch {
		var row []byte
		if row, r.err = r.l.Raw(); r.err != nil {
			break
		}
		r.l.Line++
		if row = bytes.TrimSpace(row); len(row) == 0 {
			continue
		}
		if row[0] == '#' || row[0] == '%' {
			r.err = r.comment(row)
			continue
		}
		if r.err = r.edge(row); r.err != nil {
			r.err = &FileError{File: r.l.File, Line: r.l.Line, Err: r.err}
			break
		}
		r.batch.Lines = append(r.batch.Lines, r.l.Line)
		r.batch.Rows++
		r.row++
	}
	if r.batch.Rows == 0 {
		return nil, r.err
	}
	for i, at := range r.chosen {
		r.batch.Values[i] = r.values[at]
	}
	return &r.batch, nil
}

// edge parses a line with an edge, and appends the edge to r.values.
func (r *edgeListReader) edge(row []byte) error {
	u, rest, err := edgeID(row)
	if err != nil {
		return err
	}
	r.values[0].Integers = append(r.values[0].Integers, u)
	if len(rest) == 0 {
		return fmt.Errorf("%s, want two nodes", reading.Quote(row))
	}
	v, rest, err := edgeID(rest)
	if err != nil {
		return err
	}
	for _, id := range [2]int64{u, v} {
		if r.below > 0 && (id < 0 || id >= r.below) {
			return fmt.Errorf("node %d, want 0 to %d: labels.txt has %d lines", id, r.below-1, r.below)
		}
	}
	r.values[1].Integers = append(r.values[1].Integers, v)
	if r.weights {
		f, _ := reading.Field(rest)
		if len(f) == 0 {
			return fmt.Errorf("%s, want two nodes and a weight", reading.Quote(row))
		}
		x, err := reading.Finite(f)
		if err != nil {
			return err
		}
		r.values[2].Floats = append(r.values[2].Floats, float64(x))
	}
	return nil
}

// edgeID parses a node id and returns the rest of the line.
func edgeID(line []byte) (id int64, rest []byte, err error) {
	f, rest := reading.Field(line)
	if id, ok := reading.Integer(f); ok {
		return id, rest, nil
	}
	if len(f) > 18 && len(bytes.Trim(bytes.TrimLeft(f, "+-"), "0123456789")) == 0 {
		return 0, nil, fmt.Errorf("node %s is beyond 64 bits", reading.Quote(f))
	}
	return 0, nil, fmt.Errorf("%s, want the id of a node: an integer; sources.Tables reads strings", reading.Quote(f))
}

var errMatrixMarket = errors.New("a Matrix Market file, want an edge list: remove the line of sizes, and count from either end")

var errBipartite = errors.New("a bipartite network of KONECT, whose two ends are numbered apart: read it as a table, sources.Tables with Text, or -edges FILE -source 1 -target 2; remove the line if they are not")

var matrixMarket = regexp.MustCompile(`^(?i:%+\s*MatrixMarket\b)`)

// isBipartite reports whether line is the KONECT header of a bipartite network.
func isBipartite(line []byte) bool {
	words := bytes.Fields(line)
	return len(words) > 1 && string(words[0]) == "%" && string(words[1]) == "bip"
}

// comment reads the number of nodes from a line with # or % before the first row, and counts such lines
// after it. The header of a Matrix Market file or, in line 1, of a bipartite KONECT network is an error.
func (r *edgeListReader) comment(row []byte) error {
	switch n, stated := statedNodes(row); {
	case matrixMarket.Match(row):
		return r.l.Errorf("%w", errMatrixMarket)
	case r.l.Line == 1 && isBipartite(row):
		return r.l.Errorf("%w", errBipartite)
	case r.row > 0:
		r.comments++
	case stated && r.declared == 0:
		r.declared, r.declaredAt = n, int64(r.l.Line)
	}
	return nil
}

// statedNodes parses the number of nodes in a comment such as "4941 nodes" or "Nodes: 4941".
func statedNodes(comment []byte) (int64, bool) {
	words := bytes.FieldsFunc(bytes.ToLower(comment), func(r rune) bool { return strings.ContainsRune(" \t,;:=#%()", r) })
	for i, w := range words {
		if string(w) != "nodes" && string(w) != "vertices" {
			continue
		}
		// The number may precede or follow the word.
		for _, j := range []int{i - 1, i + 1} {
			if j < 0 || j >= len(words) {
				continue
			}
			if n, ok := reading.Integer(words[j]); ok && n > 0 && n <= math.MaxInt32 {
				return n, true
			}
		}
	}
	return 0, false
}

// maxDeclared bounds the number of isolated nodes that a comment may state, since one line must not allocate
// gigabytes.
const maxDeclared = 1 << 24

// all returns the node range 0 … count-1, or 1 … count, if a comment states count and all ids of edges fit
// the range. named, low and high are the number and the bounds of these ids. Without such a range count is 0.
func (r *edgeListReader) all(named int, low, high int64) (first int32, count int, err error) {
	n := cmp.Or(r.below, r.declared)
	if n == 0 || named > 0 && (low < 0 || high > n || high == n && low == 0) {
		return 0, 0, nil
	}
	if r.below == 0 && n > max(maxDeclared, 2*int64(named)) {
		return 0, 0, &FileError{File: r.l.File, Line: int(r.declaredAt), Err: fmt.Errorf("a comment tells of %d nodes, but only %d are named; correct it", n, named)}
	}
	if named > 0 && high == n {
		first = 1
	}
	return first, int(n), nil
}
