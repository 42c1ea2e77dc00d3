package main

import (
	"context"
	"math"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// jsonLines is the operator that makes a text of each record of fields, a line of
// JSON per field.
type jsonLines struct{}

// text is the only column of its records, bytes.
const text = "text"

func (jsonLines) Open(in *arrow.Schema) (flow.Stage, error) {
	l := &liner{schema: arrow.NewSchema([]arrow.Field{{Name: text, Type: record.ListType[uint8]()}}, nil)}
	l.cats, l.attrs = in.HasField(record.NodesCat), in.HasField(record.Nodes)
	return l, nil
}

type liner struct {
	schema      *arrow.Schema
	cats, attrs bool
	b           []byte
}

func (l *liner) Schema() *arrow.Schema { return l.schema }
func (l *liner) Fork() flow.Stage      { return &liner{schema: l.schema, cats: l.cats, attrs: l.attrs} }

func (l *liner) Process(rec arrow.Record, out *flow.Out) (err error) {
	ids, root := rec.Column(0).(*array.Int64).Int64Values(), rec.Column(1).(*array.Int32).Int32Values()
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
	if err != nil {
		return err
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
		b = append(b, "}\n"...)
	}
	l.b = b
	col := record.NewLists[uint8](out.Mem())
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

// lines is a sink that writes the texts to a file.
type lines struct{ file *cli.Stream }

func (lines) String() string { return "lines" }

func (l lines) Open(*arrow.Schema) (flow.Writer, error) { return l, nil }

func (l lines) Write(_ context.Context, rec arrow.Record) error {
	texts, err := record.ListsOf[uint8](rec, text)
	if err != nil {
		return err
	}
	for row := range texts.Len() {
		if _, err := l.file.Write(texts.Row(row)); err != nil {
			return err
		}
	}
	return nil
}

func (l lines) Close(failed error) error {
	if failed != nil {
		return nil // run removes what there is
	}
	return l.file.Finish()
}
