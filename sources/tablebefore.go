package sources

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sanflow/sanflow/sources/internal/reading"
)

// TableBefore is the rows of a table before a time. Rows at that time or later and rows of unknown time are left out while the
// table is read, so that graphs, fields, words and answers are those of a table that ends at the time, also where several
// rows have the same ends:
//
//	sources.Tables{Edges: sources.EdgeTable{Table: sources.TableBefore{Table: t, Column: "when", Time: 1_700_000_000}}}
//
// A note says how many rows are left out. Rows has a time for each row, for rows as nodes.
type TableBefore struct {
	Table  Table
	Column string  // of the time: see ParseTime
	Time   float64 // in the unit of the column
	// Missing are texts that stand for no value, as in Tables.
	Missing []string
}

// OpenTable opens the table, which must have the column.
func (b TableBefore) OpenTable(ctx context.Context) (TableReader, error) {
	r, err := b.Table.OpenTable(ctx)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(r.Columns(), func(c TableColumn) bool { return c.Name == b.Column })
	if at < 0 || math.IsNaN(b.Time) {
		err := fmt.Errorf("no column %s, the time of rows before %v", reading.Quote([]byte(b.Column)), b.Time)
		return nil, errors.Join(&FileError{File: r.Name(), Err: err}, r.Close())
	}
	return &beforeReader{TableReader: r, TableBefore: b, column: at}, nil
}

// beforeReader reads the rows before a time.
type beforeReader struct {
	TableReader
	TableBefore
	column     int // of the time
	chosen, at int // how many values a row of Next has, and where the time is among those read
	read, left int // rows
	scratch    []byte
}

// Choose chooses the column of the time too.
func (r *beforeReader) Choose(columns []int) {
	r.chosen, r.at = len(columns), slices.Index(columns, r.column)
	if r.at < 0 {
		r.at, columns = r.chosen, append(slices.Clone(columns), r.column)
	}
	r.TableReader.Choose(columns)
}

// Next returns rows that are before the time.
func (r *beforeReader) Next() (*TableBatch, error) {
	for {
		b, err := r.TableReader.Next()
		if err != nil {
			return nil, err
		}
		b = b.WithMissing(r.Missing)
		var kept []int
		for row := range b.Rows {
			if r.read++; b.Errors[row] != nil {
				return nil, b.Errors[row]
			}
			text, ok := b.Values[r.at].At(row, &r.scratch)
			if !ok {
				continue
			}
			at, _, err := ParseTime(string(text))
			if err != nil {
				line := 0
				if row < len(b.Lines) {
					line = b.Lines[row]
				}
				return nil, &FileError{File: r.Name(), Line: line, Err: fmt.Errorf("row %d: column %s: %w", r.read, reading.Quote([]byte(r.Column)), err)}
			}
			if at < r.Time {
				kept = append(kept, row)
			}
		}
		if r.left += b.Rows - len(kept); len(kept) > 0 {
			return b.of(kept, r.chosen), nil
		}
	}
}

// Notes says how many rows are left out.
func (r *beforeReader) Notes() (notes []string) {
	if of, ok := r.TableReader.(interface{ Notes() []string }); ok {
		notes = of.Notes()
	}
	return append(notes, fmt.Sprintf("left out: %d of %d rows of %s, whose %s is not before %v, or not known", r.left, r.read, r.Name(), reading.Quote([]byte(r.Column)), r.Time))
}

// of returns some rows of a batch, with its first columns. It shares texts with b.
func (b *TableBatch) of(rows []int, columns int) *TableBatch {
	c := &TableBatch{Rows: len(rows), Lines: some(b.Lines, rows)}
	for _, v := range b.Values[:columns] {
		c.Values = append(c.Values, TableValues{some(v.Integers, rows), some(v.Floats, rows), v.Text, some(v.Spans, rows), some(v.Missing, rows)})
	}
	return c
}

// some returns some of x; nil of nil.
func some[T any](x []T, at []int) (y []T) {
	if x == nil {
		return nil
	}
	y = make([]T, len(at))
	for i, j := range at {
		y[i] = x[j]
	}
	return y
}
