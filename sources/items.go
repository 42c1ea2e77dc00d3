package sources

import (
	"context"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/record"
)

// itemsReader makes records of graphs that come one by one. A record has up to 64 MiB of them, or
// one.
type itemsReader struct {
	item  func() (*Item, error) // nil: one is left out
	fail  func(err error) error // blames the place of the item
	close func() error
	rows  int
	build *record.Builder
	at    int64 // graphs that were appended
	held  *Item // that did not fit
	err   error
}

// Schema returns the schema of the records.
func (r *itemsReader) Schema() *arrow.Schema { return r.build.Schema() }

// Next returns the next graphs, and io.EOF after the last.
func (r *itemsReader) Next(ctx context.Context) (arrow.Record, error) {
	for bytes := int64(0); r.err == nil && r.build.Rows() < r.rows && bytes < 64<<20; {
		if r.err = context.Cause(ctx); r.err != nil {
			break
		}
		it := r.held
		if r.held = nil; it == nil {
			if it, r.err = r.item(); it == nil {
				continue
			}
		}
		row := it.row(r.at)
		if row.ID != r.at {
			row.Pos = row.ID // the number of a molecule, some of which are left out
		}
		if r.build.Rows() > 0 && !r.build.Fits(it.Graph, row) {
			r.held = it
			break
		}
		if err := r.build.Append(it.Graph, row); err != nil {
			r.err = r.fail(err)
		}
		bytes += it.Graph.Bytes()
		r.at++
	}
	if r.err != nil && (r.err != io.EOF || r.build.Rows() == 0) {
		return nil, r.err
	}
	return r.build.Record(), nil
}

// Close ends the reading. Records that were handed out stay valid.
func (r *itemsReader) Close() error {
	if r.err == errClosed {
		return nil
	}
	r.build.Release()
	r.err = errClosed
	return r.close()
}
