package parquet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/internal/tabular"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// Table is a [sources.Table], of which [sources.Tables] makes graphs:
//
//	COPY (SELECT * FROM payments) TO 'payments.parquet';   -- DuckDB
//
//	sources.Tables{Edges: sources.EdgeTable{Table: parquet.Table{Path: "payments.parquet"}, Source: "from", Target: "to"}}
//
// Columns of integers, floats, strings, truth values, dates and timestamps can be used, in
// the types of [sources.RecordTable], with nulls, which are missing values. A DECIMAL is the nearest
// float64, and a UUID a string. Columns of other types are there and cannot be used: cast them
// where the table is written. Parts of a directory without rows may have any columns.
type Table struct {
	// Path is a file, or a directory of files *.parquet with the same columns, as for
	// Source.
	Path string
	// MaxBytes bounds the memory for one row group. The default is 1 GiB.
	MaxBytes int64
}

var _ sources.Table = Table{}

// String names the input, for the plan of a pipeline.
func (s Table) String() string { return "ParquetTable(" + s.Path + ")" }

// OpenTable reads the schema of the first file.
func (s Table) OpenTable(ctx context.Context) (sources.TableReader, error) {
	files := Source{Path: s.Path, MaxBytes: s.MaxBytes}.files()
	files.Source = "ParquetTable"
	inputs, err := files.Inputs()
	if err != nil {
		return nil, err
	}
	t := &tableReader{ctx: ctx, path: s.Path, inputs: inputs}
	for first := true; first || t.file.footer.rows == 0 && len(t.inputs) > 0; first = false {
		if err := t.next(); err != nil {
			return nil, err
		}
	}
	t.columns = t.file.tableColumns()
	return t, nil
}

type tableReader struct {
	ctx     context.Context
	path    string
	inputs  []tabular.Input // files not opened yet
	name    string          // name of the open file
	file    opened
	columns []sources.TableColumn
	chosen  []int
	group   tabular.Batch
	at      int   // rows of the group returned so far
	values  []int // values of the group returned so far, by chosen column
	row     int64 // rows of the file before the group
	batch   sources.TableBatch
}

type opened struct {
	*reader
	file io.Closer
}

func open(in tabular.Input) (opened, error) {
	d, file, err := in.Open()
	if err != nil {
		return opened{}, err
	}
	return opened{d.(*reader), file}, nil
}

func (t *tableReader) Name() string                   { return t.path }
func (t *tableReader) Columns() []sources.TableColumn { return t.columns }

func (t *tableReader) Choose(columns []int) {
	t.chosen, t.values = columns, make([]int, len(columns))
	t.batch.Values = make([]sources.TableValues, len(columns))
	t.choose()
}

func (t *tableReader) Close() error {
	if t.file.file == nil {
		return nil
	}
	return t.file.file.Close()
}

// Rows returns the rows of all files. Tables refuses too many before it reads them.
func (t *tableReader) Rows() int64 {
	rows := t.file.footer.rows
	for _, in := range t.inputs {
		if d, err := open(in); err == nil { // next reports the error of the file
			rows += d.footer.rows
			d.file.Close()
		}
	}
	return rows
}

func (t *tableReader) next() (err error) {
	in := t.inputs[0]
	t.inputs = t.inputs[1:]
	if t.file.file != nil {
		t.file.file.Close()
		t.file.file = nil
	}
	t.name, t.row = in.Name, 0
	if in.Verify != nil {
		if err := in.Verify(t.ctx); err != nil {
			return reading.InFile(in.Name, err)
		}
	}
	if t.file, err = open(in); err != nil {
		t.file.file = nil
		return reading.InFile(in.Name, err)
	}
	return nil
}

// choose selects the columns of the open file, and enables nulls and buffer reuse.
func (t *tableReader) choose() {
	use := make([]bool, len(t.columns))
	for _, c := range t.chosen {
		use[c] = true
	}
	t.file.Choose(use)
	t.file.again = make([]scratch, len(t.columns))
	for i := range t.file.where {
		t.file.where[i].nulls = true
	}
}

func (d opened) tableColumns() (columns []sources.TableColumn) {
	for i, c := range d.columns {
		typ := sources.Unusable
		switch w := d.where[i]; {
		case w.depth > 0:
		case w.truth || w.uuid:
			typ = sources.String
		case w.seconds > 0 || w.tens > 0:
			typ = sources.Float
		case arrow.IsInteger(c.Elem):
			typ = sources.Integer
		case arrow.IsFloating(c.Elem):
			typ = sources.Float
		case c.Elem == arrow.STRING:
			typ = sources.String
		}
		columns = append(columns, sources.TableColumn{Name: c.Name, Type: typ, Has: d.where[i].other, Dates: d.where[i].seconds > 0})
	}
	return columns
}

// tableRows bounds the rows of a batch.
const tableRows = 1 << 14

// Next returns the next rows. No file should make a decoder panic. If one does, the panic
// is returned as an error of the file.
func (t *tableReader) Next() (_ *sources.TableBatch, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = reading.InFile(t.name, fmt.Errorf("it cannot be read: %v", p))
		}
	}()
	for t.at == t.group.Rows {
		t.row += int64(t.group.Rows)
		t.group, t.at = tabular.Batch{}, 0
		clear(t.values)
		t.group, err = t.file.Next(t.ctx)
		switch {
		case err == nil:
		case t.ctx.Err() != nil:
			return nil, context.Cause(t.ctx)
		case err != io.EOF:
			return nil, reading.InFile(t.name, err)
		case len(t.inputs) == 0:
			return nil, io.EOF
		default:
			if err := t.next(); err != nil {
				return nil, err
			}
			if t.file.footer.rows == 0 { // a file without rows may have columns without types
				t.group = tabular.Batch{}
				continue
			}
			if !slices.Equal(t.file.tableColumns(), t.columns) {
				return nil, reading.InFile(t.name, errors.New("its columns are not those of the first file"))
			}
			t.choose()
		}
	}
	n := min(tableRows, t.group.Rows-t.at)
	t.batch.Rows = n
	for i, c := range t.chosen {
		row, err := t.set(&t.batch.Values[i], t.group.Data[c], n, &t.values[i], t.file.where[c])
		if err != nil {
			return nil, reading.InFile(t.name, fmt.Errorf("row %d: column %q: %w", t.row+int64(t.at+row)+1, t.columns[c].Name, err))
		}
	}
	t.at += n
	return &t.batch, nil
}

// set converts the next n rows of a column. place is the index of the next value, which advances. With an
// error it returns the row within the batch.
func (t *tableReader) set(v *sources.TableValues, data tabular.Data, n int, place *int, of column) (row int, err error) {
	real := of.seconds > 0 || of.tens > 0 // dates, timestamps and decimals become floats
	v.Missing = nil
	if data.Nulls != nil {
		v.Missing = data.Nulls[t.at:][:n]
	}
	if text, ok := data.Values.(tabular.Text); ok && of.length > 0 {
		v.Text, v.Spans, v.Floats = v.Text[:0], v.Spans[:0], v.Floats[:0]
		for i := range n {
			from, x := len(v.Text), 0.0
			if v.Missing == nil || !v.Missing[i] {
				b := text.Bytes[text.Ends[*place]:text.Ends[*place+1]]
				if of.uuid {
					v.Text = fmt.Appendf(v.Text, "%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
				} else {
					x = decimal(b) / of.tens
				}
				*place++
			}
			if of.uuid {
				v.Spans = append(v.Spans, sources.Span{From: int32(from), To: int32(len(v.Text))})
			} else {
				v.Floats = append(v.Floats, x)
			}
		}
		return 0, nil
	} else if ok {
		v.Text, v.Spans = text.Bytes, v.Spans[:0]
		for i := range n {
			s := sources.Span{}
			if v.Missing == nil || !v.Missing[i] {
				s = sources.Span{From: text.Ends[*place], To: text.Ends[*place+1]}
				*place++
			}
			if !utf8.Valid(v.Text[s.From:s.To]) {
				return i, fmt.Errorf("%.40q is no UTF-8", v.Text[s.From:s.To])
			}
			v.Spans = append(v.Spans, s)
		}
		return 0, nil
	}
	switch x := data.Values.(type) {
	case []uint8: // booleans
		v.Text, v.Spans = []byte("falsetrue"), v.Spans[:0]
		for i := range n {
			s := sources.Span{}
			if v.Missing == nil || !v.Missing[i] {
				s = sources.Span{From: 5 * int32(x[*place]), To: 5 + 4*int32(x[*place])}
				*place++
			}
			v.Spans = append(v.Spans, s)
		}
	case []int32:
		spread(v, x, real, n, place)
	case []int64:
		spread(v, x, real, n, place)
	case []uint32:
		spread(v, x, false, n, place)
	case []uint64:
		for i, big := range x[*place:min(len(x), *place+n)] {
			if big > math.MaxInt64 {
				return i, fmt.Errorf("%d is beyond %d", big, int64(math.MaxInt64))
			}
		}
		spread(v, x, false, n, place)
	case []float32:
		spread(v, x, true, n, place)
	case []float64:
		spread(v, x, true, n, place)
	default:
		return 0, fmt.Errorf("values are %T", data.Values)
	}
	for i := range v.Floats {
		if of.tens > 0 {
			v.Floats[i] /= of.tens
		} else if of.seconds > 0 {
			v.Floats[i] *= of.seconds
		}
	}
	return 0, nil
}

// decimal converts a big-endian two's complement integer.
func decimal(b []byte) float64 {
	var x big.Int
	if x.SetBytes(b); b[0] >= 0x80 {
		x.Sub(&x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	f, _ := new(big.Float).SetInt(&x).Float64()
	return f
}

// spread sets the next n rows of v to the values in from, as floats if real is set, else as integers. A missing one is 0.
func spread[T int32 | int64 | uint32 | uint64 | float32 | float64](v *sources.TableValues, from []T, real bool, n int, place *int) {
	v.Integers, v.Floats = v.Integers[:0], v.Floats[:0]
	for i := range n {
		x := T(0)
		if v.Missing == nil || !v.Missing[i] {
			x = from[*place]
			*place++
		}
		if real {
			v.Floats = append(v.Floats, float64(x))
		} else {
			v.Integers = append(v.Integers, int64(x))
		}
	}
}
