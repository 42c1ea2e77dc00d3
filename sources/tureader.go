package sources

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/rows"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// tuReader reads a collection.
type tuReader struct {
	reading.ItemsReader
	tu    TU
	files *tuFiles

	targets tuTargets
	index   *tuIndex
	edges   tuEdges
	nodes   graph.Graph // the attributes of all nodes, by slot
	csr     rows.Csr
	room    reading.Room // what was charged for its memory
	made    Item
	next    int // graph
	stats   tuStats
}

// open reads all files.
func (r *tuReader) open(mem memory.Allocator) (err error) {
	f, s := r.files, &r.stats
	if r.targets, err = readTargets(f, r.tu.Real, r.tu.Column); err != nil {
		return err
	}
	if r.index, err = readIndex(f, &r.targets); err != nil {
		return err
	}
	if r.edges, err = readLines(f, r.index); err != nil {
		return err
	}
	e, nodes, slot := &r.edges, &r.nodes, r.index.slot
	n, m, linesOf := int64(r.index.nodes()), int64(e.ends.len()), "lines of "+tuA
	if nodes.NodeCat, s.NodeLabels, err = readLabels(f, tuNodeLabels, n, "nodes", slot); err != nil {
		return err
	}
	if e.cat, s.EdgeLabels, err = readLabels(f, tuEdgeLabels, m, linesOf, nil); err != nil {
		return err
	}
	if nodes.NodeAttr, nodes.NodeAttrs, err = readColumns(f, tuNodeAttributes, n, "nodes", slot, finites); err != nil {
		return err
	}
	if e.attr, e.one.Attrs, err = readColumns(f, tuEdgeAttributes, m, linesOf, nil, finites); err != nil {
		return err
	}
	nodes.NodeCats, e.one.Cats = len(s.NodeLabels), len(s.EdgeLabels)
	r.Build = record.NewBuilder(mem, record.Layout{
		Directed: r.tu.Directed,
		NodeCat:  channels("node_label", s.NodeLabels, nodes.NodeCats),
		NodeAttr: channels("node_attribute", nil, nodes.NodeAttrs),
		EdgeCat:  channels("edge_label", s.EdgeLabels, e.one.Cats),
		EdgeAttr: channels("edge_attribute", nil, e.one.Attrs),
		Classes:  r.targets.names,
		Real:     r.targets.names == nil,
	})
	return nil
}

// channels names n attributes: by one name, or by numbers from 0 if they are
// several.
func channels(name string, values [][]int64, n int) []record.Channel {
	var c []record.Channel
	for i := range n {
		ch := record.Channel{Name: name}
		if n > 1 {
			ch.Name = fmt.Sprintf("%s_%d", name, i)
		}
		if values != nil {
			ch.Card = len(values[i])
		}
		c = append(c, ch)
	}
	return c
}

// Notes returns the lines of a report about the edges of the graphs so far.
func (r *tuReader) Notes() []string {
	lines := int64(0)
	if r.next > 0 {
		lines = int64(r.edges.start[r.next])
	}
	return EdgeCounts(r.csr.Counts).notes(lines, r.L.File)
}

// counted returns the counts so far.
func (r *tuReader) counted() tuStats {
	s := r.stats
	s.EdgeCounts = EdgeCounts(r.csr.Counts)
	return s
}

// graph makes the next graph.
func (r *tuReader) graph() (*Item, error) {
	at := r.next
	if at == r.targets.len() {
		return nil, io.EOF
	}
	r.next++
	g, all, e := r.made.Graph, &r.nodes, &r.edges
	from, to := int(r.index.start[at]), int(r.index.start[at+1])
	g.NodeCats, g.NodeCat = all.NodeCats, all.NodeCat[from*all.NodeCats:to*all.NodeCats]
	g.NodeAttrs, g.NodeAttr = all.NodeAttrs, all.NodeAttr[from*all.NodeAttrs:to*all.NodeAttrs]
	n, m, width := to-from, int(e.start[at+1]-e.start[at]), e.one.Cats+e.one.Attrs
	// Its lines, its rows, and the attributes of their entries.
	bytes := rows.CsrBytes(n, m, width) + 5*int64(m)*int64(2+width) + 5*(int64(n+1)+2*int64(m)*int64(1+width))
	if err := r.room.AtLeast(r.L, bytes); err != nil {
		return nil, err
	}
	if err := reading.Build(&r.csr, n, r.tu.Directed, e.of(at), g); err != nil {
		return nil, err
	}
	if r.targets.class != nil {
		r.made.Class = r.targets.class[at]
	} else {
		r.made.Value = r.targets.value[at]
	}
	r.stats.Graphs++
	r.stats.Nodes += int64(n)
	return &r.made, nil
}
