package jsonl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// Lines makes a text of each record that [Columns] emits, a line of JSON per field, in
// the column text of one row.
type Lines struct{}

var _ flow.Operator = Lines{}

// text is the only column of the records, of bytes.
const text = "text"

// Open implements flow.Operator.
func (Lines) Open(in *arrow.Schema) (flow.Stage, error) {
	l := &liner{schema: arrow.NewSchema([]arrow.Field{{Name: text, Type: record.ListType[uint8]()}}, nil)}
	l.cats, l.attrs, l.edges = in.HasField(record.NodesCat), in.HasField(record.Nodes), in.HasField(record.EdgeAttr)
	l.ids = in.HasField(record.MemberIDs)
	return l, nil
}

type liner struct {
	schema             *arrow.Schema
	cats, attrs, edges bool // whether nodes and edges have attributes
	ids                bool // whether nodes have ids
	b                  []byte
}

func (l *liner) Schema() *arrow.Schema { return l.schema }
func (l *liner) Fork() flow.Stage {
	return &liner{schema: l.schema, cats: l.cats, attrs: l.attrs, edges: l.edges, ids: l.ids}
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
	var rootIDs, memberIDs record.IDsView
	if l.ids && err == nil {
		if rootIDs, err = record.IDsOfColumn(rec, record.RootIDs); err == nil {
			memberIDs, err = record.IDsOfColumn(rec, record.MemberIDs)
		}
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
		if l.ids {
			b, err = names(b, rootIDs.Row(f), memberIDs.Row(f), members[f*k:(f+1)*k])
			if err != nil {
				return err
			}
		} else {
			b = strconv.AppendInt(b, int64(root[f]), 10)
			b = append(b, `,"members":`...)
			b = numbers(b, members[f*k:(f+1)*k])
		}
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

// names writes the ids of a root and of the members of its field.
func names(b []byte, root, ids graph.IDs, members []int32) ([]byte, error) {
	if root.Len() != 1 || ids.Len() != len(members) {
		return b, fmt.Errorf("a field of %d members has %d ids of roots and %d of members", len(members), root.Len(), ids.Len())
	}
	b, err := appendID(b, root, 0)
	b = append(b, `,"members":[`...)
	for i, v := range members {
		if i > 0 {
			b = append(b, ',')
		}
		switch {
		case v >= 0 && err == nil:
			b, err = appendID(b, ids, int32(i))
		case ids.Kind() == graph.StringIDs:
			b = append(b, "null"...)
		default:
			b = append(b, "-1"...)
		}
	}
	return append(b, ']'), err
}

func appendID(b []byte, ids graph.IDs, at int32) ([]byte, error) {
	if ids.Kind() == graph.Int64IDs {
		return ids.Append(b, at), nil
	}
	text, err := json.Marshal(ids.Name(at))
	return append(b, text...), err
}

// numbers writes a list of integers, most of which have one digit.
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

// attributes writes the attributes of k×k edges.
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

// number writes the shortest text that reads back as x, or null for numbers that JSON lacks.
func number(b []byte, x float32) []byte {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, float64(x), 'g', -1, 32)
}

// Sink writes the output of [Lines], in order.
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
