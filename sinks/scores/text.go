package scores

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks/internal/parts"
)

// Text is a sink that writes records of integers, floats and strings: comma-separated values (RFC
// 4180), the names of the columns first, or JSON objects. Floats are the shortest decimal numbers that
// read back as they were.
type Text struct {
	// Path is the file to write. Otherwise W receives the bytes, and is not closed.
	Path string
	W    io.Writer
	// JSON writes an object a line, with the keys in the order of the columns. A float that is not
	// finite is null. A column may be of lists too, which nest by the shape of the column (record.MetaShape); an element
	// that is null is null.
	JSON bool
}

var _ flow.Sink = Text{}

// String returns the destination, for the plan of a pipeline.
func (s Text) String() string {
	return map[bool]string{false: "CSV(", true: "JSONLines("}[s.JSON] + s.target().String() + ")"
}

func (s Text) target() parts.Target { return parts.Target{Path: s.Path, W: s.W} }

// Open checks the columns and begins the file.
func (s Text) Open(in *arrow.Schema) (flow.Writer, error) {
	shapes := make([][]int, in.NumFields())
	for i, f := range in.Fields() {
		of, ext := f.Type, ""
		if list, ok := of.(arrow.ListLikeType); ok && s.JSON {
			of, ext = list.Elem(), ", or lists of them"
			if err := record.Meta(in, f.Name, record.MetaShape, &shapes[i]); err != nil {
				return nil, err
			}
		}
		switch of.ID() {
		case arrow.INT32, arrow.INT64, arrow.FLOAT32, arrow.FLOAT64, arrow.STRING:
		default:
			return nil, fmt.Errorf("column %q is %s, want integers, floats or strings%s", f.Name, f.Type, ext)
		}
	}
	f := parts.Format{Ext: ".csv", Live: true, New: func(w io.Writer, _ *arrow.Schema) (parts.Encoder, error) {
		e := &csvEncoder{out: csv.NewWriter(w)}
		for _, f := range in.Fields() {
			e.text = append(e.text, f.Name)
		}
		return e, e.out.Write(e.text)
	}}
	if s.JSON {
		f.Ext, f.New = ".jsonl", func(w io.Writer, _ *arrow.Schema) (parts.Encoder, error) {
			e := &jsonEncoder{out: bufio.NewWriterSize(w, 64<<10), shapes: shapes}
			for i, f := range in.Fields() {
				key, err := json.Marshal(f.Name)
				if err != nil {
					return nil, err
				}
				e.keys = append(e.keys, append(append([]byte{"{,"[min(i, 1)]}, key...), ':'))
			}
			return e, nil
		}
	}
	return s.target().Open(in, f)
}

// eachRow calls row for the rows of a record in order. A value that is null is an error.
func eachRow(rec arrow.Record, row func(i int) error) error {
	for i := range int(rec.NumRows()) {
		for c, col := range rec.Columns() {
			if col.IsNull(i) {
				return fmt.Errorf("column %q: row %d is null", rec.ColumnName(c), i)
			}
		}
		if err := row(i); err != nil {
			return err
		}
	}
	return nil
}

// appendValue appends a number, or the bytes of a string.
func appendValue(b []byte, col arrow.Array, i int) []byte {
	switch col := col.(type) {
	case *array.Int32:
		return strconv.AppendInt(b, int64(col.Value(i)), 10)
	case *array.Int64:
		return strconv.AppendInt(b, col.Value(i), 10)
	case *array.Float32:
		return strconv.AppendFloat(b, float64(col.Value(i)), 'g', -1, 32)
	case *array.Float64:
		return strconv.AppendFloat(b, col.Value(i), 'g', -1, 64)
	}
	return append(b, col.(*array.String).Value(i)...)
}

// csvEncoder writes one file of comma-separated values.
type csvEncoder struct {
	out  *csv.Writer
	text []string // texts of the values of one row
	b    []byte
}

func (e *csvEncoder) Write(rec arrow.Record) error {
	err := eachRow(rec, func(i int) error {
		for c, col := range rec.Columns() {
			e.b = appendValue(e.b[:0], col, i)
			e.text[c] = string(e.b)
		}
		return e.out.Write(e.text)
	})
	if err != nil {
		return err
	}
	return e.Close()
}

func (e *csvEncoder) Close() error {
	e.out.Flush()
	return e.out.Error()
}

func (e *csvEncoder) Abandon() {}

// jsonEncoder writes one file of JSON objects.
type jsonEncoder struct {
	out    *bufio.Writer
	keys   [][]byte // by column: the text before its value, with the key
	shapes [][]int  // by column: the shape of its lists; nil without one
	b      []byte
}

func (e *jsonEncoder) Write(rec arrow.Record) error {
	err := eachRow(rec, func(i int) (err error) {
		b := e.b[:0]
		for c, col := range rec.Columns() {
			b = append(b, e.keys[c]...)
			if list, ok := col.(array.ListLike); ok {
				from, to := list.ValueOffsets(i)
				b, err = appendList(b, list.ListValues(), int(from), int(to), e.shapes[c])
			} else {
				b, err = appendJSON(b, col, i)
			}
			if err != nil {
				return err
			}
		}
		e.b = b
		_, err = e.out.Write(append(b, "}\n"...))
		return err
	})
	if err != nil {
		return err
	}
	return e.out.Flush()
}

func (e *jsonEncoder) Close() error { return e.out.Flush() }
func (e *jsonEncoder) Abandon()     {}

// appendList appends values[from:to] as a list. With more than one dimension, it is a list of shape[0] lists of the shape shape[1:].
func appendList(b []byte, values arrow.Array, from, to int, shape []int) (_ []byte, err error) {
	n, width := to-from, 1
	if len(shape) > 1 {
		n, width = shape[0], (to-from)/max(1, shape[0])
	}
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		if at := from + i*width; len(shape) > 1 {
			b, err = appendList(b, values, at, at+width, shape[1:])
		} else {
			b, err = appendJSON(b, values, at)
		}
		if err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

// appendJSON appends a value as JSON: null if the value is null or not finite.
func appendJSON(b []byte, col arrow.Array, i int) ([]byte, error) {
	isNull, x := col.IsNull(i), 0.
	switch col := col.(type) {
	case *array.String:
		if !isNull {
			text, err := json.Marshal(col.Value(i))
			return append(b, text...), err
		}
	case *array.Float32:
		x = float64(col.Value(i))
	case *array.Float64:
		x = col.Value(i)
	}
	if isNull || math.IsNaN(x) || math.IsInf(x, 0) {
		return append(b, "null"...), nil
	}
	return appendValue(b, col, i), nil
}
