// Package edgelist writes a graph as a text file with an edge per line, which sources.EdgeList
// reads:
//
//	# 3 nodes, 2 edges
//	0 1
//	1 2
package edgelist

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// Sink writes the only graph of a stream; a second graph is an error. A line has the ids of the
// two ends, which are integers, or their numbers if the nodes have no ids, and then the
// attributes of the edge. An undirected edge is one line. A node with an id and without an edge is the line of a loop, which
// sources.EdgeList takes as a node. The first line is a comment with the number of nodes.
type Sink struct {
	// Writer gets the text. The caller closes it.
	Writer io.Writer
}

// Name is its name in plans and errors.
func (Sink) Name() string { return "edges" }

// Open implements flow.Sink.
func (s Sink) Open(*arrow.Schema) (flow.Writer, error) {
	if s.Writer == nil {
		return nil, errors.New("Writer is not set")
	}
	return &writer{out: bufio.NewWriterSize(s.Writer, 1<<16)}, nil
}

type writer struct {
	out    *bufio.Writer
	line   []byte
	graphs int
}

// Write implements flow.Writer.
func (w *writer) Write(ctx context.Context, rec arrow.Record) error {
	graphs, err := record.GraphsOf(rec)
	if err != nil || graphs.Len() == 0 {
		return err
	}
	if w.graphs += graphs.Len(); w.graphs > 1 {
		return errors.New("there is more than one graph, and an edge list is of one")
	}
	var g graph.Graph
	graphs.At(0, &g)
	ids := graphs.Row(0).NodeID
	if ids.Kind() == graph.StringIDs {
		return errors.New("an edge list has integers as ids, and the nodes have strings: Parquet and Arrow take these")
	}
	fmt.Fprintf(w.out, "# %d nodes, %d edges\n", g.N(), g.M())
	joined, none := make([]bool, g.N()), make([]float32, g.EdgeAttrs)
	for u := range int32(g.N()) {
		if u&(1<<12-1) == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for i, v := range g.Adj(u) {
			joined[u], joined[v] = true, true
			if g.Directed || u < v {
				entry := int(g.Offsets[u]) + i
				w.edge(ids, u, v, g.EdgeAttr[entry*g.EdgeAttrs:][:g.EdgeAttrs])
			}
		}
	}
	for v := range int32(ids.Len()) {
		if !joined[v] {
			w.edge(ids, v, v, none)
		}
	}
	return w.out.Flush()
}

// edge writes the ends and the attributes of an edge as a line. Flush returns a write error.
func (w *writer) edge(ids graph.IDs, u, v int32, attributes []float32) {
	w.line = append(ids.Append(w.line[:0], u), ' ')
	w.line = ids.Append(w.line, v)
	for _, x := range attributes {
		w.line = strconv.AppendFloat(append(w.line, ' '), float64(x), 'g', -1, 32)
	}
	_, _ = w.out.Write(append(w.line, '\n'))
}

// Close implements flow.Writer.
func (w *writer) Close(error) error { return nil }
