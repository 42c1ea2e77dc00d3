package sources

import (
	"cmp"
	"context"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/record"
)

// itemsReader makes records of graphs that come one by one, each valid until the next is asked for.
type itemsReader struct {
	item   func() (*Item, error) // nil: one is left out; io.EOF after the last
	fail   func(err error) error // if set, blames the place of the item
	close  func() error          // if set
	rows   int
	most   int64  // if set, a record ends behind so many bytes of graphs
	l      *lines // if set, its budget is charged with records
	lend   int64  // if set, a graph of so many bytes goes out alone, and not as a copy; then lent is called
	lent   func()
	placed bool     // pos is the number of the item, some of which are left out
	notes  []string // of Notes
	build  *record.Builder
	ctx    context.Context // of the call under way, before and behind it that of Open, if that matters
	size   recordSize
	at     int64 // graphs that were appended
	held   *Item // that did not fit
	err    error
}

// recordBytes is the most that graphs of a record have together, of sources without a budget of their own.
const recordBytes = 64 << 20

// indexed returns n items one by one.
func indexed(n int, of func(i int) (Item, error)) func() (*Item, error) {
	i := -1
	return func() (*Item, error) {
		if i++; i == n {
			return nil, io.EOF
		}
		it, err := of(i)
		if err != nil {
			return nil, err
		}
		return &it, nil
	}
}

// Notes returns the lines of a report about what was read.
func (r *itemsReader) Notes() []string { return r.notes }

// Schema returns the schema of the records.
func (r *itemsReader) Schema() *arrow.Schema { return r.build.Schema() }

// Next returns the next graphs, and io.EOF after the last. The caller owns the record. After an error,
// every call returns that error.
func (r *itemsReader) Next(ctx context.Context) (arrow.Record, error) {
	open := cmp.Or(r.ctx, ctx)
	r.ctx = ctx
	defer func() { r.ctx = open }()
	for r.err == nil && r.build.Rows() < r.rows && (r.most == 0 || r.size.rows < r.most) {
		if r.err = cmp.Or(context.Cause(open), context.Cause(ctx)); r.err != nil {
			break
		}
		it := r.held
		if r.held = nil; it == nil {
			if it, r.err = r.item(); it == nil {
				continue
			}
		}
		row := it.row(r.at)
		if r.placed {
			row.Pos = row.ID
		}
		alone := r.build.Rows() == 0
		if !alone && (!r.build.Fits(it.Graph, row) || r.l != nil && r.size.full(r.l, it.Graph)) {
			r.held = it
			break
		}
		if bytes := it.Graph.Bytes(); alone && r.lend > 0 && bytes >= r.lend {
			rec, err := r.build.Lend(it.Graph, row)
			if r.err = err; err != nil {
				return nil, err
			}
			r.lent()
			r.at++
			return rec, nil
		} else if r.l == nil {
			r.size.rows += bytes
		} else if r.err = r.size.add(r.l, it.Graph); r.err != nil {
			break
		}
		if r.err = r.build.Append(it.Graph, row); r.err != nil && r.fail != nil {
			r.err = r.fail(r.err)
		}
		r.at++
	}
	if r.err == nil && r.build.Rows() == 0 {
		r.err = io.EOF
	}
	if r.err != nil && (r.err != io.EOF || r.build.Rows() == 0) {
		return nil, r.err
	}
	r.size.rows = 0
	return r.build.Record(), nil
}

// Close ends the reading. Records that were handed out stay valid.
func (r *itemsReader) Close() error {
	if r.err == errClosed {
		return nil
	}
	r.build.Release()
	if r.err = errClosed; r.close == nil {
		return nil
	}
	return r.close()
}
