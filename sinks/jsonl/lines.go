package jsonl

import (
	"context"
	"errors"
	"io"
	"math"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// Lines makes a text of each record that [Columns] emits, a line of JSON per field, in
// the column text of one row.
type Lines struct{}

var _ flow.Operator = Lines{}

// text is the only column of its records, bytes.
const text = "text"

// Open implements flow.Operator.
func (Lines) Open(in *arrow.Schema) (flow.Stage, error) {
	l := &liner{schema: arrow.NewSchema([]arrow.Field{{Name: text, Type: record.ListType[uint8]()}}, nil)}
	l.cats, l.attrs, l.edges = in.HasField(record.NodesCat), in.HasField(record.Nodes), in.HasField(record.EdgeAttr)
	return l, nil
}

type liner struct {
	schema             *arrow.Schema
	cats, attrs, edges bool // nodes, and edges, have attributes
	b                  []byte
}

func (l *liner) Schema() *arrow.Schema { return l.schema }
func (l *liner) Fork() flow.Stage {
	return &liner{schema: l.schema, cats: l.cats, attrs: l.attrs, edges: l.edges}
}

func (l *liner) Process(rec arrow.Record, out *flow.Out) (err error) {
	ids, err := record.Values[int64](rec, "graph")
	if err != nil {
		return err
	}
	root, err := record.Values[int32](rec, "root")
	ints := func(name string) (v []int32) {
		if err == nil {
			v, _, err = record.FixedValues[int32](rec, name)
		}
		return v
	}
	members, dist, edges := ints(record.Members), ints(record.Dist), ints(record.Edges)
	var cats []int32
	var attrs []float32
	if l.cats {
		cats = ints(record.NodesCat)
	}
	if l.attrs && err == nil {
		attrs, _, err = record.FixedValues[float32](rec, record.Nodes)
	}
	var weights []float32
	if l.edges && err == nil {
		weights, _, err = record.FixedValues[float32](rec, record.EdgeAttr)
	}
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return nil
	}
	b, cells := l.b[:0], max(1, len(members))
	k, nc, na := cells/max(1, len(ids)), len(cats)/cells, len(attrs)/cells
	for f := range ids {
		b = append(b, `{"graph":`...)
		b = strconv.AppendInt(b, ids[f], 10)
		b = append(b, `,"root":`...)
		b = strconv.AppendInt(b, int64(root[f]), 10)
		b = append(b, `,"members":`...)
		b = numbers(b, members[f*k:(f+1)*k])
		b = append(b, `,"dist":`...)
		b = numbers(b, dist[f*k:(f+1)*k])
		b = append(b, `,"edges":`...)
		b = list(b, k, func(b []byte, i int) []byte {
			return numbers(b, edges[(f*k+i)*k:(f*k+i+1)*k])
		})
		b = append(b, `,"nodes":`...)
		b = list(b, k, func(b []byte, i int) []byte {
			return list(b, nc+na, func(b []byte, a int) []byte {
				if a < nc {
					return strconv.AppendInt(b, int64(cats[(f*k+i)*nc+a]), 10)
				}
				return number(b, attrs[(f*k+i)*na+a-nc])
			})
		})
		if l.edges {
			b = append(b, `,"edge_attr":`...)
			b = attributes(b, k, weights[f*len(weights)/len(ids):(f+1)*len(weights)/len(ids)])
		}
		b = append(b, "}\n"...)
	}
	l.b = b
	col := record.NewLists[uint8](out.Allocator())
	col.Append(b)
	column := col.Finish()
	defer column.Release()
	return out.Emit(array.NewRecord(l.schema, []arrow.Array{column}, 1))
}

// numbers is list for integers, of which nearly all have one digit.
func numbers(b []byte, v []int32) []byte {
	b = append(b, '[')
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		if 0 <= x && x <= 9 {
			b = append(b, '0'+byte(x))
		} else {
			b = strconv.AppendInt(b, int64(x), 10)
		}
	}
	return append(b, ']')
}

// attributes writes those of k×k edges.
func attributes(b []byte, k int, v []float32) []byte {
	n := len(v) / (k * k)
	return list(b, k, func(b []byte, i int) []byte {
		return list(b, k, func(b []byte, j int) []byte {
			return list(b, n, func(b []byte, a int) []byte { return number(b, v[(i*k+j)*n+a]) })
		})
	})
}

func list(b []byte, n int, item func(b []byte, i int) []byte) []byte {
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = item(b, i)
	}
	return append(b, ']')
}

// number writes the shortest text that reads back as x; sources refuse what
// JSON cannot say.
func number(b []byte, x float32) []byte {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, float64(x), 'g', -1, 32)
}

// Sink writes what [Lines] emits, in order.
type Sink struct{ Writer io.Writer }

var _ flow.Sink = Sink{}

// String returns the name for the plan of a pipeline.
func (Sink) String() string { return "lines" }

// Open implements flow.Sink.
func (l Sink) Open(*arrow.Schema) (flow.Writer, error) {
	if l.Writer == nil {
		return nil, errors.New("the field Writer is not set")
	}
	return writer{l.Writer}, nil
}

type writer struct{ io.Writer }

func (w writer) Write(_ context.Context, rec arrow.Record) error {
	texts, err := record.ListsOf[uint8](rec, text)
	if err != nil {
		return err
	}
	for row := range texts.Len() {
		if _, err := w.Writer.Write(texts.Row(row)); err != nil {
			return err
		}
	}
	return nil
}

func (writer) Close(error) error { return nil }
