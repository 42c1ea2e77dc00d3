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

// ItemsReader builds records from a sequence of graphs. A graph is valid until the next call of Item.
type ItemsReader struct {
	Item   func() (*graph.Graph, record.Row, error) // a nil graph is skipped; io.EOF ends the sequence; a zero ID becomes the index
	Fail   func(err error) error                    // adds the position of the graph to an error of Build; optional
	Closer func() error                             // optional
	Rows   int
	Most   int64    // a record ends once its graphs exceed this size; 0 = no bound
	L      *Lines   // its budget is charged for records; optional
	Lend   int64    // a graph of at least this size is lent to a record of its own, without a copy; 0 = never
	Lent   func()   // called after a graph was lent; optional
	Placed bool     // pos is the ID instead of the index, since items are skipped
	Report []string // returned by Notes
	Build  *record.Builder
	Ctx    context.Context // context of the current call of Next; between calls that of Open
	size   recordSize
	at     int64        // graphs appended so far
	held   *graph.Graph // a graph that did not fit the last record
	row    record.Row   // row of held
	err    error
}

// RecordBytes is the value of Most for sources without a budget.
const RecordBytes = 64 << 20

// Notes returns Report.
func (r *ItemsReader) Notes() []string { return r.Report }

func (r *ItemsReader) Schema() *arrow.Schema { return r.Build.Schema() }

// Next returns the next record, which the caller owns, and io.EOF after the last. Errors are sticky.
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

// Close releases the builder and closes the input. Records returned before stay valid.
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

// Build sets the rows and edge attributes of g from the edges of a, in the memory of g if it suffices. It
// does not change node attributes.
func Build(c *rows.Csr, n int, directed bool, a *rows.Arcs, g *graph.Graph) error {
	r := rows.Graph{Offsets: g.Offsets, Neighbors: g.Neighbors, EdgeCat: g.EdgeCat, EdgeAttr: g.EdgeAttr}
	err := c.Build(n, directed, a, &r)
	g.Offsets, g.Neighbors, g.EdgeCat, g.EdgeAttr = r.Offsets, r.Neighbors, r.EdgeCat, r.EdgeAttr
	g.Directed, g.EdgeCats, g.EdgeAttrs = directed, a.Cats, a.Attrs
	return err
}
