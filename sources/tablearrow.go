package sources

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sanflow/sanflow/sources/internal/reading"
)

// RecordTable is a [Table] of any reader of Arrow records: of DuckDB, ADBC, Flight SQL or
// an Iceberg scan. arrow18.Rows of package flow/record/arrow18 adapts the readers of
// newer versions of Arrow. Columns may have integers, floats, truth values, which are the words false and
// true, strings, dictionaries of strings, and dates and timestamps, which are floats, the
// seconds since 1970. A null is no value.
type RecordTable struct {
	// Reader is read once, to its end, and is the caller's to release.
	Reader array.RecordReader
	// Title names the table in messages. The default is records.
	Title string
}

// String returns the name, for the plan of a pipeline.
func (s RecordTable) String() string { return "RecordTable(" + s.Title + ")" }

// OpenTable reads the schema.
func (s RecordTable) OpenTable(ctx context.Context) (TableReader, error) {
	if s.Reader == nil {
		return nil, fmt.Errorf("sources: RecordTable: the field Reader is not set")
	}
	r := &recordTableReader{ctx: ctx, in: s.Reader, name: s.Title}
	if r.name == "" {
		r.name = "records"
	}
	for _, f := range s.Reader.Schema().Fields() {
		dates := f.Type.ID() == arrow.DATE32 || f.Type.ID() == arrow.TIMESTAMP
		r.columns = append(r.columns, TableColumn{f.Name, typeOfArrow(f.Type), f.Type.String(), dates})
	}
	return r, nil
}

func typeOfArrow(t arrow.DataType) ColumnType {
	switch t := t.(type) {
	case *arrow.StringType, *arrow.LargeStringType, *arrow.BooleanType:
		return String
	case *arrow.DictionaryType:
		if typeOfArrow(t.ValueType) == String {
			return String
		}
	case *arrow.Date32Type, *arrow.TimestampType, *arrow.Float16Type, *arrow.Float32Type, *arrow.Float64Type:
		return Float
	}
	if arrow.IsInteger(t.ID()) {
		return Integer
	}
	return Unusable
}

type recordTableReader struct {
	ctx     context.Context
	in      array.RecordReader
	name    string
	columns []TableColumn
	chosen  []int
	rec     arrow.Record // valid until the next call of in.Next
	at      int64        // rows of rec returned so far
	row     int64        // rows of earlier records
	batch   TableBatch
}

func (r *recordTableReader) Name() string           { return r.name }
func (r *recordTableReader) Columns() []TableColumn { return r.columns }
func (r *recordTableReader) Close() error           { return nil }

func (r *recordTableReader) Choose(columns []int) {
	r.chosen, r.batch.Values = columns, make([]TableValues, len(columns))
}

func (r *recordTableReader) Next() (*TableBatch, error) {
	if err := context.Cause(r.ctx); err != nil {
		return nil, err
	}
	for r.rec == nil || r.at == r.rec.NumRows() {
		if r.rec != nil {
			r.row += r.rec.NumRows()
		}
		r.rec, r.at = nil, 0
		if !r.in.Next() {
			if err := r.in.Err(); err != nil && err != io.EOF {
				return nil, &FileError{File: r.name, Line: 0, Err: err}
			}
			return nil, io.EOF
		}
		r.rec = r.in.Record()
	}
	n := min(maxBatch, r.rec.NumRows()-r.at)
	r.batch.Rows = int(n)
	for c, at := range r.chosen {
		v := &r.batch.Values[c]
		if at >= int(r.rec.NumCols()) || typeOfArrow(r.rec.Column(at).DataType()) != r.columns[at].Type {
			return nil, &FileError{File: r.name, Line: 0, Err: fmt.Errorf("row %d: column %s: the type is not that of the schema", r.row+r.at+1, reading.Quote([]byte(r.columns[at].Name)))}
		}
		values := array.NewSlice(r.rec.Column(at), r.at, r.at+n)
		row, err := v.arrow(values)
		values.Release()
		if err != nil {
			return nil, &FileError{File: r.name, Line: 0, Err: fmt.Errorf("row %d: column %s: %w", r.row+r.at+int64(row)+1, reading.Quote([]byte(r.columns[at].Name)), err)}
		}
	}
	if err := r.batch.utf8(r.name, r.row+r.at, r.columns, r.chosen); err != nil {
		return nil, err
	}
	r.at += n
	return &r.batch, nil
}

// arrow converts an array. With an error it returns the row that has the value.
func (v *TableValues) arrow(a arrow.Array) (row int, err error) {
	*v = TableValues{Integers: v.Integers[:0], Floats: v.Floats[:0], Text: v.Text[:0], Spans: v.Spans[:0], Missing: v.Missing[:0]}
	for i := range a.Len() {
		v.Missing = append(v.Missing, a.IsNull(i))
	}
	switch a := a.(type) {
	case *array.Int8:
		v.Integers = appendAll(v.Integers, a.Int8Values())
	case *array.Int16:
		v.Integers = appendAll(v.Integers, a.Int16Values())
	case *array.Int32:
		v.Integers = appendAll(v.Integers, a.Int32Values())
	case *array.Int64:
		v.Integers = append(v.Integers, a.Int64Values()...)
	case *array.Uint8:
		v.Integers = appendAll(v.Integers, a.Uint8Values())
	case *array.Uint16:
		v.Integers = appendAll(v.Integers, a.Uint16Values())
	case *array.Uint32:
		v.Integers = appendAll(v.Integers, a.Uint32Values())
	case *array.Uint64:
		v.Integers = appendAll(v.Integers, a.Uint64Values())
		for i, x := range a.Uint64Values() {
			if x > math.MaxInt64 && !v.Missing[i] {
				return i, fmt.Errorf("%d is beyond %d", x, int64(math.MaxInt64))
			}
		}
	case *array.Float16:
		for _, x := range a.Values() {
			v.Floats = append(v.Floats, float64(x.Float32()))
		}
	case *array.Float32:
		v.Floats = appendAll(v.Floats, a.Float32Values())
	case *array.Float64:
		v.Floats = append(v.Floats, a.Float64Values()...)
	case *array.Date32:
		for _, day := range a.Date32Values() {
			v.Floats = append(v.Floats, 24*60*60*float64(day))
		}
	case *array.Timestamp:
		unit := a.DataType().(*arrow.TimestampType).Unit.Multiplier().Seconds()
		for _, x := range a.TimestampValues() {
			v.Floats = append(v.Floats, unit*float64(x))
		}
	default:
		return v.arrowText(a)
	}
	v.Text, v.Spans = nil, nil
	if len(v.Integers) > 0 {
		v.Floats = nil
	} else {
		v.Integers = nil
	}
	return 0, nil
}

func (v *TableValues) arrowText(a arrow.Array) (row int, err error) {
	d, _ := a.(*array.Dictionary)
	v.Integers, v.Floats = nil, nil
	for i := range a.Len() {
		from := int32(len(v.Text))
		if d != nil && !v.Missing[i] {
			v.Missing[i] = d.Dictionary().IsNull(d.GetValueIndex(i))
		}
		if !v.Missing[i] {
			s := a.ValueStr(i)
			if len(s) > maxRow {
				return i, fmt.Errorf("a string of %d bytes, want at most %d", len(s), maxRow)
			}
			if len(v.Text)+len(s) > math.MaxInt32 {
				return i, fmt.Errorf("%d rows have more than %d bytes", maxBatch, math.MaxInt32)
			}
			v.Text = append(v.Text, s...)
		}
		v.Spans = append(v.Spans, Span{from, int32(len(v.Text))})
	}
	return 0, nil
}

func appendAll[T int8 | int16 | int32 | uint8 | uint16 | uint32 | uint64 | float32, D int64 | float64](to []D, from []T) []D {
	for _, x := range from {
		to = append(to, D(x))
	}
	return to
}
