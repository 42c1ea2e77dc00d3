package flow_test

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
)

// again is a source that hands out the same record n times.
type again struct {
	rec arrow.Record
	n   int
}

func (a again) Open(context.Context, memory.Allocator) (flow.Reader, error) {
	return &againReader{a}, nil
}

type againReader struct{ again }

func (r *againReader) Schema() *arrow.Schema { return r.rec.Schema() }
func (r *againReader) Close() error          { return nil }

func (r *againReader) Next(context.Context) (arrow.Record, error) {
	if r.n == 0 {
		return nil, io.EOF
	}
	r.n--
	r.rec.Retain()
	return r.rec, nil
}

// BenchmarkRecord is what flow itself costs for a record of 6 graphs with every
// column there is, on its way through stages that do nothing.
func BenchmarkRecord(b *testing.B) {
	rec := flowtest.Sample(memory.DefaultAllocator)[2]
	for _, stages := range []int{0, 1, 3, 6} {
		b.Run(fmt.Sprintf("stages=%d", stages), func(b *testing.B) {
			p := flow.From(again{rec, b.N})
			for range stages {
				p = p.Via(opFunc(func(rec arrow.Record, out *flow.Out) error {
					rec.Retain()
					return out.Emit(rec)
				}))
			}
			if err := p.With(flow.Options{Workers: 1}).Run(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkPositions counts 4096 rows in and out: as they came, in pieces, and
// in disorder.
func BenchmarkPositions(b *testing.B) {
	for _, pieces := range []int{1, 64, 4096} {
		b.Run(fmt.Sprintf("pieces=%d", pieces), func(b *testing.B) {
			cut := opFunc(func(rec arrow.Record, out *flow.Out) error {
				n := rec.NumRows() / int64(pieces)
				for from := int64(0); from < rec.NumRows(); from += n {
					if err := out.Emit(rec.NewSlice(from, from+n)); err != nil {
						return err
					}
				}
				return nil
			})
			src := numbers{Records: b.N, Rows: 4096}
			if err := flow.From(src).Via(cut).With(flow.Options{Workers: 1}).Run(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
