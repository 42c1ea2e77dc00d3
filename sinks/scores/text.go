package scores

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sanflow/sanflow/flow"
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
	// finite is null.
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
	for _, f := range in.Fields() {
		switch f.Type.ID() {
		case arrow.INT32, arrow.INT64, arrow.FLOAT32, arrow.FLOAT64, arrow.STRING:
		default:
			return nil, fmt.Errorf("column %q is %s, want integers, floats or strings", f.Name, f.Type)
		}
	}
	ext, begin := ".csv", csvOf
	if s.JSON {
		ext, begin = ".jsonl", jsonOf
	}
	return s.target().Open(in, parts.Format{Ext: ext, Live: true, New: func(w io.Writer, _ *arrow.Schema) (parts.Encoder, error) {
		e := &encoder{out: bufio.NewWriterSize(w, 64<<10)}
		var err error
		e.row, err = begin(in, e.out)
		return e, err
	}})
}

// csvOf writes the names of the columns, and returns a writer of rows.
func csvOf(in *arrow.Schema, w io.Writer) (row, error) {
	c := csv.NewWriter(w)
	text := make([]string, in.NumFields())
	for i, f := range in.Fields() {
		text[i] = f.Name
	}
	return func(values []value) error {
		for i, v := range values {
			text[i] = v.text
		}
		err := c.Write(text)
		c.Flush()
		if err == nil {
			err = c.Error()
		}
		return err
	}, c.Write(text)
}

// jsonOf returns a writer of rows.
func jsonOf(in *arrow.Schema, w io.Writer) (row, error) {
	var keys [][]byte
	for i, f := range in.Fields() {
		key, err := json.Marshal(f.Name)
		if err != nil {
			return nil, err
		}
		keys = append(keys, append(append([]byte{"{,"[min(i, 1)]}, key...), ':'))
	}
	var b []byte
	return func(values []value) error {
		b = b[:0]
		for i, v := range values {
			b = append(b, keys[i]...)
			switch {
			case v.number && (v.text == "NaN" || v.text == "+Inf" || v.text == "-Inf"):
				b = append(b, "null"...)
			case v.number:
				b = append(b, v.text...)
			default:
				text, err := json.Marshal(v.text)
				if err != nil {
					return err
				}
				b = append(b, text...)
			}
		}
		_, err := w.Write(append(b, "}\n"...))
		return err
	}, nil
}

// value is one value of a row as text.
type value struct {
	text   string
	number bool
}

// row writes one row.
type row func(values []value) error

// encoder writes one file.
type encoder struct {
	out    *bufio.Writer
	row    row
	values []value
}

func (e *encoder) Write(rec arrow.Record) error {
	for i := range int(rec.NumRows()) {
		e.values = e.values[:0]
		for c, col := range rec.Columns() {
			v := value{number: true}
			switch col := col.(type) {
			case *array.Int32:
				v.text = strconv.FormatInt(int64(col.Value(i)), 10)
			case *array.Int64:
				v.text = strconv.FormatInt(col.Value(i), 10)
			case *array.Float32:
				v.text = strconv.FormatFloat(float64(col.Value(i)), 'g', -1, 32)
			case *array.Float64:
				v.text = strconv.FormatFloat(col.Value(i), 'g', -1, 64)
			case *array.String:
				v = value{text: col.Value(i)}
			default:
				return fmt.Errorf("column %q is %s", rec.ColumnName(c), col.DataType())
			}
			if col.IsNull(i) {
				return fmt.Errorf("column %q: row %d is null", rec.ColumnName(c), i)
			}
			e.values = append(e.values, v)
		}
		if err := e.row(e.values); err != nil {
			return err
		}
	}
	return e.out.Flush()
}

func (e *encoder) Close() error { return e.out.Flush() }

func (e *encoder) Abandon() {}
