// Package walk reads some columns of a table row by row.
package walk

import (
	"context"
	"fmt"

	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// Rows iterates over the rows of a table.
type Rows struct {
	Table   sources.TableReader
	Columns []string // the columns read
	Row     int64    // index of the current row; -1 before the first

	missing []string
	batch   *sources.TableBatch
	at      int // index of the current row in batch
	scratch []byte
}

// Open opens a table and selects columns. missing are texts that stand for no value.
func Open(ctx context.Context, table sources.Table, missing []string, columns ...string) (*Rows, error) {
	r, err := table.OpenTable(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := Of(r, missing, columns...)
	if err != nil {
		r.Close()
	}
	return rows, err
}

// Of iterates over an open table.
func Of(r sources.TableReader, missing []string, columns ...string) (*Rows, error) {
	var places []int
	var all []string
	for _, c := range r.Columns() {
		all = append(all, c.Name)
	}
	for _, name := range columns {
		at, err := reading.ColumnIn(r.Name(), all, name)
		if err == nil && r.Columns()[at].Type == sources.Unusable {
			err = &reading.FileError{File: r.Name(), Line: 0, Err: fmt.Errorf("column %s: its values are neither integers nor floats nor strings", reading.Quote([]byte(name)))}
		}
		if err != nil {
			return nil, err
		}
		places = append(places, at)
	}
	r.Choose(places)
	return &Rows{Table: r, Columns: columns, missing: missing, Row: -1}, nil
}

// Next moves to the next row. It returns io.EOF after the last.
func (r *Rows) Next() error {
	for r.at++; r.batch == nil || r.at >= r.batch.Rows; r.at = 0 {
		var err error
		if r.batch, err = r.Table.Next(); err != nil {
			r.batch = nil
			return err
		}
		r.batch = r.batch.WithMissing(r.missing)
	}
	r.Row++
	return nil
}

// Value returns the text of a column, and whether it has a value.
func (r *Rows) Value(column int) ([]byte, bool) { return r.batch.Values[column].At(r.at, &r.scratch) }

// Broken returns the error of a row that sources.CSV.Ragged accepts without values.
func (r *Rows) Broken() error { return r.batch.Errors[r.at] }

// Fail returns an error that names the row and a column.
func (r *Rows) Fail(column int, err error) error {
	return r.FailRow(fmt.Errorf("column %s: %w", reading.Quote([]byte(r.Columns[column])), err))
}

// FailRow returns an error that names the row.
func (r *Rows) FailRow(err error) error {
	line := 0
	if r.at < len(r.batch.Lines) {
		line = r.batch.Lines[r.at]
	}
	return &reading.FileError{File: r.Table.Name(), Line: line, Err: fmt.Errorf("row %d: %w", r.Row+1, err)}
}
