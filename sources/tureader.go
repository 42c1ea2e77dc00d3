package sources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// TUReader reads the graphs of an open [TU] collection. One goroutine uses it.
type TUReader struct {
	tu    TU
	files *tuFiles
	ctx   context.Context // of the call under way: files ask it before each read

	targets tuTargets
	index   *tuIndex
	order   edgeOrder
	nodes   *graphNodes
	edges   *graphEdges
	csr     csr
	g       graph.Graph

	build *record.Builder
	size  recordSize
	stats TUStats
	at    int   // next graph
	err   error // what ended the stream
}

// open scans all files, then opens those that are streamed.
func (r *TUReader) open(mem memory.Allocator) (err error) {
	f := r.files
	if r.targets, err = readTargets(f, r.tu.Real, r.tu.Column); err != nil {
		return err
	}
	if r.index, err = readIndex(f, &r.targets); err != nil {
		return err
	}
	if r.order, err = scanEdges(f, r.index); err != nil {
		return err
	}
	n, m := int64(r.index.nodes()), r.order.lines
	if r.stats.NodeLabels, err = scanLabels(f, tuNodeLabels, n, "nodes"); err != nil {
		return err
	}
	if r.stats.EdgeLabels, err = scanLabels(f, tuEdgeLabels, m, "lines of "+tuA); err != nil {
		return err
	}
	nodeAttrs, err := scanAttributes(f, tuNodeAttributes, n, "nodes")
	if err != nil {
		return err
	}
	edgeAttrs, err := scanAttributes(f, tuEdgeAttributes, m, "lines of "+tuA)
	if err != nil {
		return err
	}
	if r.nodes, err = openNodes(f, r.index, r.stats.NodeLabels, nodeAttrs); err != nil {
		return err
	}
	if r.edges, err = openEdges(f, r.index, r.order, r.stats.EdgeLabels, edgeAttrs); err != nil {
		return err
	}
	r.stats.Grouped = r.index.slot == nil && r.order.grouped
	r.build = record.NewBuilder(mem, record.Layout{
		Directed: r.tu.Directed,
		NodeCat:  channels("node_label", r.stats.NodeLabels, len(r.stats.NodeLabels)),
		NodeAttr: channels("node_attribute", nil, nodeAttrs),
		EdgeCat:  channels("edge_label", r.stats.EdgeLabels, len(r.stats.EdgeLabels)),
		EdgeAttr: channels("edge_attribute", nil, edgeAttrs),
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

// Schema returns the schema of every record.
func (r *TUReader) Schema() *arrow.Schema { return r.build.Schema() }

// Stats returns the counts so far.
func (r *TUReader) Stats() TUStats {
	s := r.stats
	s.EdgeCounts = r.csr.counts
	return s
}

// Next returns the next graphs, at most TU.Rows of them, or io.EOF. The caller
// owns the record. After an error, every call returns that error.
func (r *TUReader) Next(ctx context.Context) (arrow.Record, error) {
	if r.err != nil {
		return nil, r.err
	}
	open := r.ctx
	r.ctx = ctx
	defer func() { r.ctx = open }()
	for r.build.Rows() < r.tu.Rows && r.at < r.graphs() {
		if r.err = cmp.Or(context.Cause(open), context.Cause(ctx)); r.err != nil {
			return nil, r.err
		}
		var full arrow.Record
		if full, r.err = r.add(r.at); r.err != nil || full != nil {
			return full, r.err
		}
	}
	if r.build.Rows() == 0 {
		r.err = io.EOF
		return nil, io.EOF
	}
	return r.record(), nil
}

func (r *TUReader) record() arrow.Record {
	r.size.rows = 0
	return r.build.Record()
}

func (r *TUReader) graphs() int { return r.targets.len() }

// add appends a graph to the record under construction. It returns that record
// if the graph did not fit in it.
func (r *TUReader) add(graph int) (full arrow.Record, err error) {
	g := &r.g
	if g.NodeCat, g.NodeAttr, err = r.nodes.of(graph); err != nil {
		return nil, err
	}
	g.NodeCats, g.NodeAttrs = len(r.nodes.table.values), r.nodes.table.width
	lines, err := r.edges.of(graph, r.order)
	if err != nil {
		return nil, err
	}
	n, m, l := r.index.size(graph), len(lines.u), r.edges.l
	// Its rows, and the attributes of their entries.
	bytes := csrBytes(n, m, lines.cats+lines.attrs) + 5*(int64(n+1)+2*int64(m)*int64(1+lines.cats+lines.attrs))
	if err := r.csr.room.atLeast(l, bytes); err != nil {
		return nil, err
	}
	if err := r.csr.build(n, r.tu.Directed, lines, g); err != nil {
		return nil, err
	}
	if r.build.Rows() > 0 && (!r.build.Fits(g, record.Row{}) || r.size.full(l, g)) {
		full = r.record()
	}
	if err := r.size.add(l, g); err != nil {
		if full != nil {
			full.Release()
		}
		return nil, err
	}
	row := record.Row{ID: int64(graph), Pos: int64(graph)}
	if r.targets.class != nil {
		row.Class = r.targets.class[graph]
	} else {
		row.Value = r.targets.value[graph]
	}
	if err := r.build.Append(g, row); err != nil {
		if full != nil {
			full.Release()
		}
		return nil, err
	}
	r.at++
	r.stats.Graphs++
	r.stats.Nodes += int64(g.N())
	return full, nil
}

// Close closes the files. The records that were handed out stay valid.
func (r *TUReader) Close() error {
	if r.build != nil {
		r.build.Release()
	}
	if r.nodes != nil {
		r.nodes.close()
	}
	if r.edges != nil {
		r.edges.close()
	}
	r.err = errClosed
	return r.files.close()
}

var errClosed = errors.New("sources: the reader is closed")
