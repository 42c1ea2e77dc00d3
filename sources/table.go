package sources

import (
	"context"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/sanflow/sanflow/sources/internal/reading"
)

// Table is rows of named columns, from which [Tables] makes graphs. [CSV], [Text],
// [JSONLines] and [RecordTable] are tables, and so is parquet.Table.
type Table interface {
	// OpenTable reads the names of the columns. Rows are read by the reader that is
	// returned, until ctx ends.
	OpenTable(ctx context.Context) (TableReader, error)
}

// TableReader reads the rows of a table, some at a time. One goroutine uses it.
type TableReader interface {
	// Name is the name of the table in messages: the path of a file.
	Name() string
	// Columns returns all columns of the table.
	Columns() []TableColumn
	// Choose selects the columns that Next returns, by their indices in Columns, in that order. It
	// is called once, before Next.
	Choose(columns []int)
	// Next returns the next rows, and io.EOF after the last. They are valid until the
	// next call.
	Next() (*TableBatch, error)
	io.Closer
}

// TableColumn is the name and the type of a column.
type TableColumn struct {
	Name string
	Type ColumnType
	Has  string // type name of the format, for errors; optional
	// Dates says that the floats are points of time, in seconds since 1970.
	Dates bool
}

// ColumnType is the type of the values of a column.
type ColumnType int8

// The types that a table declares for its columns.
const (
	Untyped  ColumnType = iota // text whose type is inferred, as in CSV
	Integer                    // int64
	Float                      // float64
	String                     // UTF-8
	Unusable                   // lists and other values that a graph cannot have
)

// String returns the name of the type.
func (t ColumnType) String() string {
	return [...]string{"untyped", "integer", "float", "string", "unusable"}[t]
}

// TableBatch is some rows of a table.
type TableBatch struct {
	Rows   int
	Values []TableValues // of the chosen columns
	Lines  []int         // line of each row in a text file, from 1; optional
	Errors map[int]error // errors of rows without values, by row: see CSV.Ragged
}

// TableValues is the values of a column in some rows: Integers of an integer column,
// Floats of a float column, else Text and Spans, which is allowed for all types.
type TableValues struct {
	Integers []int64
	Floats   []float64
	Text     []byte
	Spans    []Span // span of each row in Text; nil if Integers or Floats is set
	Missing  []bool // rows without a value; optional. An empty text and NaN also mean no value.
}

// Span is where a text begins and ends.
type Span struct{ From, To int32 }

// At returns the text of a row, in Text or in the memory of scratch, and whether the row has a value.
func (v *TableValues) At(row int, scratch *[]byte) (text []byte, ok bool) {
	return v.text(row, scratch), !v.missing(row)
}

// text returns the text of a row, in Text or scratch.
func (v *TableValues) text(row int, scratch *[]byte) []byte {
	if v.Spans != nil {
		return v.Text[v.Spans[row].From:v.Spans[row].To]
	}
	b := (*scratch)[:0]
	if v.Integers != nil {
		b = strconv.AppendInt(b, v.Integers[row], 10)
	} else if x := v.Floats[row]; x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		b = strconv.AppendInt(b, int64(x), 10)
	} else {
		b = strconv.AppendFloat(b, x, 'g', -1, 64)
	}
	*scratch = b
	return b
}

func (v *TableValues) missing(row int) bool {
	switch {
	case v.Missing != nil && v.Missing[row]:
		return true
	case v.Spans != nil:
		return v.Spans[row].From == v.Spans[row].To
	}
	return row < len(v.Floats) && v.Floats[row] != v.Floats[row]
}

// WithMissing returns the batch in which values that are one of some texts are missing, but for blanks
// around them and the spelling of a whole number. The batch shares the values of b.
func (b *TableBatch) WithMissing(texts []string) *TableBatch {
	if len(texts) == 0 {
		return b
	}
	declared, c, scratch := reading.MissingOf(texts), *b, []byte(nil)
	c.Values = slices.Clone(b.Values)
	for i := range c.Values {
		v, missing := &c.Values[i], make([]bool, b.Rows)
		for row := range missing {
			missing[row] = v.missing(row) || declared.Has(v.text(row, &scratch))
		}
		v.Missing = missing
	}
	return &c
}

// findColumn returns the index of the only column of that name. No such column and several are errors.
func findColumn(file string, columns []TableColumn, name string) (int, error) {
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return reading.ColumnIn(file, names, name)
}
