package sources_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sources"
)

// A corpus in the manner of arrow-testing: every type of number at every depth
// of every kind of list, between columns of all the types that are left out, in
// several batches of which some are empty, as file and stream, in each
// compression.
func TestIPCCorpus(t *testing.T) {
	p := arrow.PrimitiveTypes
	left := []arrow.DataType{
		arrow.BinaryTypes.String, arrow.BinaryTypes.LargeBinary, arrow.FixedWidthTypes.Boolean, arrow.Null, arrow.FixedWidthTypes.Date32,
		arrow.FixedWidthTypes.Float16, arrow.StructOf(arrow.Field{Name: "a", Type: p.Int8}, arrow.Field{Name: "b", Type: arrow.ListOf(arrow.BinaryTypes.String)}),
		arrow.MapOf(arrow.BinaryTypes.String, p.Int32), &arrow.DictionaryType{IndexType: p.Int8, ValueType: arrow.BinaryTypes.String},
		arrow.SparseUnionOf([]arrow.Field{{Name: "a", Type: p.Int8}, {Name: "b", Type: p.Float64}}, []int8{0, 1}),
		arrow.DenseUnionOf([]arrow.Field{{Name: "a", Type: p.Int8}, {Name: "b", Type: p.Float64}}, []int8{0, 1}),
		&arrow.Decimal128Type{Precision: 9, Scale: 2}, &arrow.FixedSizeBinaryType{ByteWidth: 3}, arrow.ListOf(arrow.ListOf(arrow.ListOf(p.Int8))),
	}
	for _, number := range race.Some([]arrow.DataType{p.Int8, p.Int16, p.Int32, p.Int64, p.Uint8, p.Uint16, p.Uint32, p.Uint64, p.Float32, p.Float64}) {
		shapes := map[string]arrow.DataType{
			`[[1,2,3],[],[4]]`:                    number,
			`[[[1],[],[2,3]],[],[[]]]`:            arrow.ListOf(number),
			`[[[9],[7,8]],[],[[]]]`:               arrow.LargeListOf(number),
			`[[[1,2],[3,4]],[],[[5,6]]]`:          arrow.FixedSizeListOf(2, number),
			`[[[[1],[2,3]],[]],[],[[[]]]]`:        arrow.ListOf(arrow.ListOf(number)),
			`[[[[1],[2,3]],[]],[],[[[4]],[[5]]]]`: arrow.LargeListOf(arrow.ListOf(number)),
		}
		for text, of := range shapes {
			fields := []arrow.Field{}
			for i, l := range left {
				if i == len(left)/2 {
					fields = append(fields, arrow.Field{Name: "x", Type: of})
				}
				fields = append(fields, arrow.Field{Name: fmt.Sprint("left", i), Type: l, Nullable: true})
			}
			schema := arrow.NewSchema(fields, nil)
			var batches []json.RawMessage
			if err := json.Unmarshal([]byte(text), &batches); err != nil {
				t.Fatal(err)
			}
			var want []any
			for name, options := range map[string][]ipc.Option{"plain": nil, "lz4": {ipc.WithLZ4()}, "zstd": {ipc.WithZstd()}} {
				var file, stream bytes.Buffer
				fw, err := ipc.NewFileWriter(&seeker{Buffer: &file}, append(options, ipc.WithSchema(schema))...)
				if err != nil {
					t.Fatal(err)
				}
				sw := ipc.NewWriter(&stream, append(options, ipc.WithSchema(schema))...)
				want = nil
				for _, b := range batches {
					x, _, err := array.FromJSON(memory.DefaultAllocator, of, bytes.NewReader(b))
					if err != nil {
						t.Fatal(err)
					}
					var rows []any
					if err := json.Unmarshal(b, &rows); err != nil {
						t.Fatal(err)
					}
					want = append(want, rows...)
					cols := []arrow.Array{}
					for _, f := range fields {
						if f.Name == "x" {
							cols = append(cols, x)
							continue
						}
						b := array.NewBuilder(memory.DefaultAllocator, f.Type)
						b.AppendEmptyValues(x.Len())
						cols = append(cols, b.NewArray())
					}
					rec := array.NewRecord(schema, cols, int64(x.Len()))
					if err := fw.Write(rec); err != nil {
						t.Fatal(err)
					}
					if err := sw.Write(rec); err != nil {
						t.Fatal(err)
					}
				}
				if err := fw.Close(); err != nil {
					t.Fatal(err)
				}
				if err := sw.Close(); err != nil {
					t.Fatal(err)
				}
				for _, b := range []*bytes.Buffer{&file, &stream} {
					rows, _, err := drain(sources.IPC{Reader: bytes.NewReader(b.Bytes()), Columns: []string{"x"}}, flowtest.Mem(t))
					var got []any
					if err == nil {
						err = json.Unmarshal([]byte("["+strings.ReplaceAll(strings.Join(rows, ","), "x=", "")+"]"), &got)
					}
					if err != nil || !reflect.DeepEqual(got, want) {
						t.Errorf("%s, %s: %v, want %v; %v", of, name, got, want, err)
					}
				}
			}
		}
	}
}

// seeker is a buffer that knows where it is.
type seeker struct{ *bytes.Buffer }

func (s *seeker) Seek(int64, int) (int64, error) { return int64(s.Len()), nil }
