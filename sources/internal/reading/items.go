package reading

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/rows"
)

// ItemsReader makes records of graphs that come one by one, each valid until the next is asked for.
type ItemsReader struct {
	Item   func() (*graph.Graph, record.Row, error) // no graph: one is left out; io.EOF after the last. ID 0 is the number of the graph
	Fail   func(err error) error                    // if set, blames the place of the item
	Closer func() error                             // if set
	Rows   int
	Most   int64  // if set, a record ends behind so many bytes of graphs
	L      *Lines // if set, its budget is charged with records
	Lend   int64  // if set, a graph of so many bytes goes out alone, and not as a copy; then lent is called
	Lent   func()
	Placed bool     // pos is the number of the item, some of which are left out
	Report []string // of Notes
	Build  *record.Builder
	Ctx    context.Context // of the call under way, before and behind it that of Open, if that matters
	size   recordSize
	at     int64        // graphs that were appended
	held   *graph.Graph // that did not fit
	row    record.Row   // of it
	err    error
}

// RecordBytes is the most that graphs of a record have together, of sources without a budget of their own.
const RecordBytes = 64 << 20

// Notes returns the lines of a report about what was read.
func (r *ItemsReader) Notes() []string { return r.Report }

// Schema returns the schema of the records.
func (r *ItemsReader) Schema() *arrow.Schema { return r.Build.Schema() }

// Next returns the next graphs, and io.EOF after the last. The caller owns the record. After an error,
// every call returns that error.
func (r *ItemsReader) Next(ctx context.Context) (arrow.Record, error) {
	open := cmp.Or(r.Ctx, ctx)
	r.Ctx = ctx
	defer func() { r.Ctx = open }()
	for r.err == nil && r.Build.Rows() < r.Rows && (r.Most == 0 || r.size.rows < r.Most) {
		if r.err = cmp.Or(context.Cause(open), context.Cause(ctx)); r.err != nil {
			break
		}
		g, row := r.held, r.row
		if r.held = nil; g == nil {
			if g, row, r.err = r.Item(); g == nil {
				continue
			}
		}
		row.ID, row.Pos = cmp.Or(row.ID, r.at), r.at
		if r.Placed {
			row.Pos = row.ID
		}
		alone := r.Build.Rows() == 0
		if !alone && (!r.Build.Fits(g, row) || r.L != nil && r.size.full(r.L, g)) {
			r.held, r.row = g, row
			break
		}
		if bytes := g.Bytes(); alone && r.Lend > 0 && bytes >= r.Lend {
			rec, err := r.Build.Lend(g, row)
			if r.err = err; err != nil {
				return nil, err
			}
			if r.Lent != nil {
				r.Lent()
			}
			r.at++
			return rec, nil
		} else if r.L == nil {
			r.size.rows += bytes
		} else if r.err = r.size.add(r.L, g); r.err != nil {
			break
		}
		if r.err = r.Build.Append(g, row); r.err != nil && r.Fail != nil {
			r.err = r.Fail(r.err)
		}
		r.at++
	}
	if r.err == nil && r.Build.Rows() == 0 {
		r.err = io.EOF
	}
	if r.err != nil && (r.err != io.EOF || r.Build.Rows() == 0) {
		return nil, r.err
	}
	r.size.rows = 0
	return r.Build.Record(), nil
}

// Close ends the reading. Records that were handed out stay valid.
func (r *ItemsReader) Close() error {
	if r.err == ErrClosed {
		return nil
	}
	r.Build.Release()
	if r.err = ErrClosed; r.Closer == nil {
		return nil
	}
	return r.Closer()
}

// ErrClosed is the error of a reader that was closed.
var ErrClosed = errors.New("sources: the reader is closed")

// Build makes g the graph of n nodes with the edges of a, in the memory of g if there is room. Attributes of nodes are
// left alone.
func Build(c *rows.Csr, n int, directed bool, a *rows.Arcs, g *graph.Graph) error {
	r := rows.Graph{Offsets: g.Offsets, Neighbors: g.Neighbors, EdgeCat: g.EdgeCat, EdgeAttr: g.EdgeAttr}
	err := c.Build(n, directed, a, &r)
	g.Offsets, g.Neighbors, g.EdgeCat, g.EdgeAttr = r.Offsets, r.Neighbors, r.EdgeCat, r.EdgeAttr
	g.Directed, g.EdgeCats, g.EdgeAttrs = directed, a.Cats, a.Attrs
	return err
}
