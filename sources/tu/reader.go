package tu

import (
	"io"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/rows"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

type reader struct {
	reading.ItemsReader
	tu    Source
	files *reading.Folder

	targets targets
	index   *index
	edges   edgeLines
	nodes   graph.Graph // attributes of all nodes, by slot
	csr     rows.Csr
	room    reading.Room // memory charged for csr
	made    graph.Graph
	next    int // number of the next graph
}

// open reads all files of the collection.
func (r *reader) open(mem memory.Allocator) (err error) {
	f := r.files
	var ofNodes, ofEdges [][]int64 // distinct label values by column
	if r.targets, err = readTargets(f); err != nil {
		return err
	}
	if r.index, err = readIndex(f, &r.targets); err != nil {
		return err
	}
	if r.edges, err = readLines(f, r.index); err != nil {
		return err
	}
	e, nodes, slot := &r.edges, &r.nodes, r.index.slot
	n, m, linesOf := int64(r.index.nodes()), int64(e.lines), "lines of "+edgesFile
	if nodes.NodeCat, ofNodes, err = readLabels(f, nodeLabels, n, "nodes", slot); err != nil {
		return err
	}
	if e.cat, ofEdges, err = readLabels(f, edgeLabels, m, linesOf, nil); err != nil {
		return err
	}
	if nodes.NodeAttr, nodes.NodeAttrs, err = readColumns(f, nodeAttributes, n, "nodes", slot, reading.Finites); err != nil {
		return err
	}
	if e.attr, e.one.Attrs, err = readColumns(f, edgeAttributes, m, linesOf, nil, reading.Finites); err != nil {
		return err
	}
	nodes.NodeCats, e.one.Cats = len(ofNodes), len(ofEdges)
	r.Build = record.NewBuilder(mem, record.Layout{
		Directed: r.tu.Directed,
		NodeCat:  reading.Channels("node_label", ofNodes, nodes.NodeCats),
		NodeAttr: reading.Channels("node_attribute", nil, nodes.NodeAttrs),
		EdgeCat:  reading.Channels("edge_label", ofEdges, e.one.Cats),
		EdgeAttr: reading.Channels("edge_attribute", nil, e.one.Attrs),
		Classes:  r.targets.names,
		Real:     r.targets.names == nil,
	})
	return nil
}

// Notes returns the lines of a report about the edges of the graphs so far.
func (r *reader) Notes() []string {
	lines := int64(0)
	if r.next > 0 {
		lines = int64(r.edges.start[r.next])
	}
	return reading.EdgeNotes(r.csr.Counts, lines, r.L.File, "")
}

func (r *reader) graph() (*graph.Graph, record.Row, error) {
	at := r.next
	if at == r.targets.len() {
		return nil, record.Row{}, io.EOF
	}
	r.next++
	g, all, e := &r.made, &r.nodes, &r.edges
	from, to := int(r.index.start[at]), int(r.index.start[at+1])
	g.NodeCats, g.NodeCat = all.NodeCats, all.NodeCat[from*all.NodeCats:to*all.NodeCats]
	g.NodeAttrs, g.NodeAttr = all.NodeAttrs, all.NodeAttr[from*all.NodeAttrs:to*all.NodeAttrs]
	n, m, width := to-from, int(e.start[at+1]-e.start[at]), e.one.Cats+e.one.Attrs
	// The estimate covers the edge lines, the CSR rows, and the attributes of their entries.
	bytes := rows.CsrBytes(n, m, width) + 5*int64(m)*int64(2+width) + 5*(int64(n+1)+2*int64(m)*int64(1+width))
	if err := r.room.AtLeast(r.L, bytes); err != nil {
		return nil, record.Row{}, err
	}
	if err := reading.Build(&r.csr, n, r.tu.Directed, e.of(at), g); err != nil {
		return nil, record.Row{}, err
	}
	var row record.Row
	if r.targets.class != nil {
		row.Class = r.targets.class[at]
	} else {
		row.Value = r.targets.value[at]
	}
	return g, row, nil
}
