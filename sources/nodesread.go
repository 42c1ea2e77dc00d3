package sources

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"path"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

func (s Nodes) readFolder(ctx context.Context) (*NodeSet, error) {
	memory, err := reading.NewBudget("Nodes", s.Memory, 4<<30)
	if err != nil {
		return nil, err
	}
	f, err := reading.OpenPlace(s.Path, s.FS, s.MaxBytes, memory)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	f.Ctx, f.Alive = ctx, reading.Ending(ctx)
	err = f.FindOnly("", "edges.txt", "sets", "edges.txt", func(folder string) bool {
		return path.Base(folder) != "__MACOSX" // macOS adds this folder to archives
	})
	if err != nil {
		return nil, err
	}
	n := &NodeSet{Graph: &graph.Graph{}}
	for _, read := range []func(*reading.Folder) error{n.readLabels, n.readEdges, n.readFeatures, n.readSplit} {
		if err := read(f); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// perNode calls do for every line of a file with one line per node. Empty lines count as lines, except after
// the last node.
func perNode(f *reading.Folder, what string, nodes int, do func(l *reading.Lines, row []byte) error) error {
	l, err := f.Open(what)
	if l == nil || err != nil {
		return err
	}
	defer l.Close()
	count := 0
	for {
		row, err := l.Raw()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		l.Line++
		row = bytes.TrimSpace(row)
		if count == nodes {
			if len(row) > 0 {
				return l.Errorf("a line more than the %d nodes", nodes)
			}
			continue
		}
		if err := do(l, row); err != nil {
			return err
		}
		count++
	}
	return reading.CheckEnd(l.File, int64(count), int64(nodes), "nodes")
}

// readLabels reads labels.txt, which determines the number of nodes.
func (n *NodeSet) readLabels(f *reading.Folder) error {
	index := map[string]int32{}
	file, err := f.Scan("labels", func(l *reading.Lines, row []byte) (err error) {
		if len(n.Class) == math.MaxInt32-1 {
			return l.Errorf("more than %d nodes", math.MaxInt32-1)
		}
		c, ok := index[string(row)]
		if string(row) == "-1" {
			c = -1
		} else if !ok {
			if err := l.Take(2*int64(len(row)) + 200); err != nil { // the name is stored here and in the schema
				return err
			}
			c = int32(len(n.Classes))
			n.Classes = append(n.Classes, string(row))
			index[n.Classes[c]] = c
		}
		n.Class, err = reading.Push(l, n.Class, c)
		return err
	})
	switch {
	case err != nil:
		return err
	case file == "":
		return f.Missing("labels")
	case len(n.Classes) == 0:
		return &FileError{File: file, Line: 0, Err: errors.New("no node has a class")}
	}
	// Class indices must not depend on the order of lines.
	came := append([]string(nil), n.Classes...)
	reading.SortClasses(n.Classes)
	for c, text := range n.Classes {
		index[text] = int32(c)
	}
	for v, c := range n.Class {
		if c >= 0 {
			n.Class[v] = index[came[c]]
		}
	}
	return nil
}

func (n *NodeSet) readEdges(f *reading.Folder) error {
	table := edgeTable{nodes: int64(len(n.Class)), open: func() (*reading.Lines, error) { return f.Must("edges") }}
	set, err := Tables{
		Edges:  EdgeTable{Table: table, Source: "1", Target: "2", Spaces: OneSpace, Attributes: []string{}},
		Memory: f.Budget.Left,
	}.Read(f.Ctx)
	if err != nil {
		return err
	}
	n.Graph, n.Stats, n.Notes = set.Items[0].Graph, set.Stats.EdgeCounts, set.Notes
	return f.Take(path.Join(f.Place, f.Prefix+"edges.txt"), n.Graph.Bytes())
}

func (n *NodeSet) readSplit(f *reading.Folder) error {
	return perNode(f, "split", len(n.Class), func(l *reading.Lines, row []byte) error {
		p, ok := ParseSubset(string(row))
		if !ok {
			return l.Errorf("%s, want train, val, test or none", reading.Quote(row))
		}
		var err error
		n.Split, err = reading.Push(l, n.Split, p)
		return err
	})
}
