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

// TUReader returns the graphs of an open [TU] collection. One goroutine uses it.
type TUReader struct {
	tu    TU
	files *tuFiles
	ctx   context.Context // of the call under way

	targets tuTargets
	index   *tuIndex
	edges   tuEdges
	nodes   graph.Graph // the attributes of all nodes, by slot
	csr     csr
	g       graph.Graph

	build *record.Builder
	size  recordSize
	stats TUStats
	at    int   // next graph
	err   error // what ended the stream
}

// open reads all files.
func (r *TUReader) open(mem memory.Allocator) (err error) {
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
	if e.attr, e.one.attrs, err = readColumns(f, tuEdgeAttributes, m, linesOf, nil, finites); err != nil {
		return err
	}
	nodes.NodeCats, e.one.cats = len(s.NodeLabels), len(s.EdgeLabels)
	r.build = record.NewBuilder(mem, record.Layout{
		Directed: r.tu.Directed,
		NodeCat:  channels("node_label", s.NodeLabels, nodes.NodeCats),
		NodeAttr: channels("node_attribute", nil, nodes.NodeAttrs),
		EdgeCat:  channels("edge_label", s.EdgeLabels, e.one.cats),
		EdgeAttr: channels("edge_attribute", nil, e.one.attrs),
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
	for r.build.Rows() < r.tu.Rows && r.at < r.targets.len() {
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

// add appends a graph to the record under construction. It returns that record
// if the graph did not fit in it.
func (r *TUReader) add(graph int) (full arrow.Record, err error) {
	g, all, e := &r.g, &r.nodes, &r.edges
	from, to := int(r.index.start[graph]), int(r.index.start[graph+1])
	g.NodeCats, g.NodeCat = all.NodeCats, all.NodeCat[from*all.NodeCats:to*all.NodeCats]
	g.NodeAttrs, g.NodeAttr = all.NodeAttrs, all.NodeAttr[from*all.NodeAttrs:to*all.NodeAttrs]
	n, m, width, l := to-from, int(e.start[graph+1]-e.start[graph]), e.one.cats+e.one.attrs, &lines{file: r.files.path(tuA), budget: r.files.budget}
	// Its lines, its rows, and the attributes of their entries.
	bytes := csrBytes(n, m, width) + 5*int64(m)*int64(2+width) + 5*(int64(n+1)+2*int64(m)*int64(1+width))
	if err := r.csr.room.atLeast(l, bytes); err != nil {
		return nil, err
	}
	if err := r.csr.build(n, r.tu.Directed, e.of(graph), g); err != nil {
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

// Close gives up the data. The records that were handed out stay valid.
func (r *TUReader) Close() error {
	r.build.Release()
	r.err = errClosed
	return nil
}

var errClosed = errors.New("sources: the reader is closed")
