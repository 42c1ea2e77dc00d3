package main

import (
	"fmt"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// finish is the last step: it counts fields.
type finish struct {
	fields int64
	first  []string // members of some rows, to look at
}

func (f *finish) String() string { return "finish" }

// Open implements flow.Operator.
func (f *finish) Open(in *arrow.Schema) (flow.Stage, error) { return &finisher{f, in}, nil }

type finisher struct {
	*finish
	schema *arrow.Schema
}

func (f *finisher) Schema() *arrow.Schema { return f.schema }

func (f *finisher) Process(rec arrow.Record, out *flow.Out) error {
	roots, err := record.ListsOf[int32](rec, record.Roots)
	if err != nil {
		return err
	}
	for row := range roots.Len() {
		for _, v := range roots.Row(row) {
			if v >= 0 {
				f.fields++
			}
		}
	}
	members, width, err := record.FixedValues[int32](rec, record.Members)
	if err != nil {
		return err
	}
	for row := 0; row < roots.Len() && len(f.first) < 5; row++ {
		field := members[row*width:][:min(width, 12)]
		f.first = append(f.first, strings.Trim(fmt.Sprint(field), "[]"))
	}
	rec.Retain()
	return out.Emit(rec)
}
